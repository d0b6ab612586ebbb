"""OptimalThreshold against its vector, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import (
    VECTORS,
    follows_its_law,
    is_equivariant,
    items_law,
    notices,
    stays_within,
)

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GUMBEL
from crestline.randomness.unit_points import Floats

COUNTS = {"a": 5, "b": 3, "c": 3, "d": 1}


def brute_force(
    counts: list[int], k: int, k_bar_max: int, epsilon: float, delta: float, most: int
) -> dict[tuple[int, ...], float]:
    """The law of the chosen ranks by direct enumeration of P3.5 and P3.1: counts sorted, items named by rank."""
    indices = range(k, k_bar_max + 1)
    weights = {i: math.exp(-epsilon * counts[i]) / min(most, i) for i in indices}
    law: dict[tuple[int, ...], float] = {}
    for i in indices:
        chosen = weights[i] / sum(weights.values())
        bottom = min(most, i) / delta * math.exp(epsilon * (counts[i] + 1))
        for length in range(k + 1):
            for ranks in permutations(range(i), length):
                chance, mass = chosen, bottom + sum(math.exp(epsilon * counts[j]) for j in range(i))
                for j in ranks:
                    chance *= math.exp(epsilon * counts[j]) / mass
                    mass -= math.exp(epsilon * counts[j])
                law[ranks] = law.get(ranks, 0.0) + (chance if length == k else chance * bottom / mass)
    return law


def test_the_chosen_k_bar_is_the_vector() -> None:
    given = VECTORS["TV-3.7"]
    mechanism = OptimalThreshold(1, 4, "0.5", "0.1")
    found = mechanism.k_bar_law(Histogram.from_counts(COUNTS, 4))
    for k_bar, chance in found.items():
        assert chance == pytest.approx(given["probabilities"][f"(kbar={k_bar})"], abs=1e-10)


@pytest.mark.parametrize(("k", "contribution"), [(1, None), (2, None), (2, 1), (2, 3)])
def test_the_law_is_the_enumeration(k: int, contribution: int | None) -> None:
    mechanism = OptimalThreshold(k, 4, "0.5", "0.1", contribution)
    law = items_law(mechanism.law(Histogram.from_counts({**COUNTS, "e": 1}, 4)))
    wanted = brute_force([5, 3, 3, 1, 1], k, 4, 0.5, 0.1, 99 if contribution is None else contribution)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    for ranks, chance in wanted.items():
        assert law[tuple("abcd"[j] for j in ranks)] == pytest.approx(chance, abs=1e-12)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_and_the_test_has_power() -> None:
    histogram = Histogram.from_counts(COUNTS, 4)
    mechanism = OptimalThreshold(2, 4, "0.5", "0.1")
    follows_its_law(mechanism, histogram, trials=400_000)
    notices(mechanism, OptimalThreshold(2, 4, "0.55", "0.1"), histogram, trials=400_000)
    notices(mechanism, OptimalThreshold(2, 4, "0.45", "0.1"), histogram, trials=400_000)


@pytest.mark.long
def test_fewer_bits_at_first_give_the_same_selections() -> None:
    mechanism, histogram = OptimalThreshold(2, 4, "0.5", "0.4"), Histogram.from_counts(COUNTS, 4)
    reference = mechanism.release_many(histogram, 200, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 200, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(OptimalThreshold(2, 3, "0.5", "0.1"), lambda c: Histogram.from_counts(c, 3), counts, renaming)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("contribution", [None, 1])
def test_neighbours_stay_within_the_promise(k: int, contribution: int | None) -> None:
    mechanism = OptimalThreshold(k, 3, "0.7", "0.1", contribution)
    assert mechanism.guarantee().epsilon == (k + 1) * Fraction(7, 10)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3), contribution=contribution)


def chosen_loss(mechanism: OptimalThreshold, k_bar_max: int) -> float:
    """The largest log ratio of the chosen k_bar's laws over all small neighbours."""
    worst = 0.0

    @cache
    def law(counts: tuple[int, ...]) -> dict[int, float]:
        return mechanism.k_bar_law(Histogram.from_counts(dict(zip("abcd", counts, strict=True)), k_bar_max))

    for with_user, without in small_histogram_pairs():
        first, second = law(tuple(with_user.values())), law(tuple(without.values()))
        worst = max(worst, *(abs(math.log(first[i] / second[i])) for i in first))
    return worst


class Mirrored:
    """The law of minus a Gumbel noise."""

    name = "mirrored"

    def cdf(self, x: Floats) -> Floats:
        return GUMBEL.survival(-np.asarray(x))

    def survival(self, x: Floats) -> Floats:
        return GUMBEL.cdf(-np.asarray(x))

    def density(self, x: Floats) -> Floats:
        return GUMBEL.density(np.maximum(-np.asarray(x), -700.0))


class PlusGumbel(OptimalThreshold):
    """E-A7 as a program: the smallest cost *plus* Gumbel noise, as printed."""

    def k_bar_law(self, histogram: Histogram) -> dict[int, float]:
        scores = self._scores(histogram).approx
        with np.errstate(over="ignore"):
            chances = order_chances(scores, Mirrored(), np.arange(len(scores))[:, None])  # type: ignore[arg-type]
        return {self.k + place: float(chance) for place, chance in enumerate(chances)}


def test_adding_the_noise_to_the_cost_is_caught() -> None:
    assert chosen_loss(OptimalThreshold(1, 3, 1, "0.1"), 3) <= 1 + 1e-9
    assert chosen_loss(PlusGumbel(1, 3, 1, "0.1"), 3) > 1.5


class LowThreshold(OptimalThreshold):
    """A threshold that forgets where the next count is: two users below the last item seen."""

    def law(self, histogram: Histogram) -> dict[Selection, float]:
        law: dict[Selection, float] = {}
        for k_bar, chosen in self.k_bar_law(histogram).items():
            cut = histogram.cut_to(k_bar)
            lower = Histogram(cut.items, cut.array, max(0, int(cut.array[-1]) - 2), filled=cut.filled)
            for selection, chance in self._limited_domain(k_bar).law(lower).items():
                law[selection] = law.get(selection, 0.0) + chosen * chance
        return law


def test_a_threshold_below_the_next_count_is_caught() -> None:
    twin = LowThreshold(1, 3, "0.7", "0.1")
    finding = worst_pair(lambda c: twin.law(Histogram.from_counts(c, 3)), small_histogram_pairs(), 1.4)
    assert finding.delta > 0.1 + 1e-3


def test_pay_what_you_get_charges_the_choice_and_the_stop() -> None:
    mechanism = OptimalThreshold(5, 10, "0.1", "1e-6")
    assert mechanism.cost().number_of_steps == 6
    assert mechanism.settlement_cost(Selection((), True)).number_of_steps == 2
    assert mechanism.settlement_cost(Selection(("a", "b"), True)).number_of_steps == 4
    assert mechanism.settlement_cost(Selection(tuple("abcde"), False)).number_of_steps == 6
    assert mechanism.k_bar == 10


@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-8"), (4, "0.01")])
def test_a_budget_is_used_up_and_not_exceeded(epsilon: Any, delta: str) -> None:
    mechanism = OptimalThreshold.for_budget(k=9, epsilon=epsilon, delta=delta)
    promise = mechanism.guarantee()
    assert promise.delta == Fraction(delta)
    assert promise.epsilon is not None
    assert Fraction(epsilon) * Fraction(99, 100) <= promise.epsilon <= Fraction(epsilon)
    assert mechanism.k_bar == 90


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = OptimalThreshold(2, 5, 1, "1e-6")
    drawn = set(mechanism.release_many(Histogram.from_counts({}, 5), 50, replay("empty")))
    assert drawn == {Selection((), True)}


def test_only_differences_of_counts_matter() -> None:
    """A great many more users of everything is the same law, to all digits."""
    above = {label: 10**15 + count for label, count in {**COUNTS, "e": 0}.items()}
    mechanism = OptimalThreshold(1, 4, "0.5", "0.1")
    wanted = mechanism.k_bar_law(Histogram.from_counts({**COUNTS, "e": 0}, 4))
    assert mechanism.k_bar_law(Histogram.from_counts(above, 4)) == pytest.approx(wanted, abs=1e-12)


def test_a_cliff_is_found() -> None:
    """Thirty items far above the rest: k_bar is chosen where the counts fall off, and all k come back."""
    counts = {f"i{n:03}": 1000 if n < 30 else 5 for n in range(300)}
    mechanism = OptimalThreshold(20, 200, "0.2", "1e-6")
    drawn = mechanism.release_many(Histogram.from_counts(counts, 200), 20, replay("cliff"))
    assert all(len(selection) == 20 for selection in drawn)
    assert all(
        chance < 1e-9 for k_bar, chance in mechanism.k_bar_law(Histogram.from_counts(counts, 200)).items() if k_bar < 30
    )


@pytest.mark.statistics
def test_utility_is_that_of_the_most_slots() -> None:
    mechanism = OptimalThreshold(5, 50, "0.1", "1e-6")
    assert mechanism.margin(0.95) == pytest.approx(1 + (math.log(50e6) + math.log(19)) * 10)
    assert mechanism.shortfall(0.05) == pytest.approx(math.log(5 * 50 / 0.05) * 10)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, 2, 1, "0.1"), "k_bar must be at least k"),
        ((1, 2, 0, "0.1"), "epsilon must be larger than zero"),
        ((1, 2, 1, 1), "delta must be smaller than one"),
        ((1, 2, 1, "0.1", 0), "contribution must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        OptimalThreshold(*arguments)


def test_a_histogram_of_the_wrong_kind_is_refused() -> None:
    mechanism = OptimalThreshold(1, 2, 1, "0.1")
    with pytest.raises(HistogramError, match="no k_bar to choose"):
        mechanism.release(Histogram.over_domain({"a": 1, "b": 2}), replay(0))
    with pytest.raises(HistogramError, match="same k_bar"):
        mechanism.release(Histogram.from_counts({"a": 1}, 3), replay(0))
    with pytest.raises(HistogramError, match="raw rows"):
        mechanism.release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))
