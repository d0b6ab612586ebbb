"""Lipschitz against its vectors, its law, its neighbours, and its broken twins; listed and by multiplicities."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import (
    SIGNIFICANCE,
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    items_law,
    notices,
    p_value,
    stays_within,
)

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.public_list.noises import NOISES
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

SPELLED = {"exp": "exponential", "halflogistic": "half-logistic"}
NAMES = [name for name in VECTORS if name.startswith(("TV-8.1", "TV-8.2", "TV-8.3"))]

TIED = {"a": 4, "b": 4, "c": 2, "d": 2, "e": 2, "f": 0}
TIED_MULTIPLICITIES = {4: 2, 2: 3, 0: 1}


def from_vector(name: str, stretch: Fraction = Fraction(1)) -> tuple[Lipschitz, Histogram]:
    given = VECTORS[name]["params"]
    noise = SPELLED.get(given["noise"], given["noise"])
    epsilon = Fraction(str(given["eps"])) * stretch
    ordered = name.startswith("TV-8.2")
    return Lipschitz(given["kappa"], epsilon, noise, ordered), Histogram.over_domain(given["x"])


def as_multiplicities(counts: Counts) -> Histogram:
    return Histogram.from_multiplicities(Counter(counts.values()))


@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.statistics
@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str) -> None:
    mechanism, histogram = from_vector(name)
    follows_its_law(mechanism, histogram)
    notices(mechanism, from_vector(name, Fraction(11, 10))[0], histogram)
    notices(mechanism, from_vector(name, Fraction(9, 10))[0], histogram)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", NOISES)
def test_multiplicities_follow_the_law(noise: str) -> None:
    """Groups of equal counts are drawn as groups: fewer of them than k, and more."""
    histogram = Histogram.from_multiplicities(TIED_MULTIPLICITIES)
    follows_its_law(Lipschitz(4, 3, noise, ordered=False), histogram, trials=40_000)
    follows_its_law(Lipschitz(2, 3, noise), histogram, trials=60_000)
    notices(Lipschitz(2, 3, noise), Lipschitz(2, "3.4", noise), histogram, trials=60_000)


@pytest.mark.statistics
def test_ties_in_a_list_follow_the_law() -> None:
    follows_its_law(Lipschitz(3, 3, "laplace"), Histogram.over_domain(TIED), trials=40_000)


@pytest.mark.statistics
def test_multiplicities_have_the_law_of_the_list() -> None:
    listed, grouped = Histogram.over_domain(TIED), Histogram.from_multiplicities(TIED_MULTIPLICITIES)
    names = {listed.name(rank): grouped.name(rank) for rank in range(6)}
    mechanism = Lipschitz(3, 2, "laplace")
    law, other = mechanism.law(listed), mechanism.law(grouped)
    assert len(law) == len(other)
    for selection, chance in law.items():
        renamed = Selection(tuple(names[item] for item in selection.items), selection.stopped)
        assert other[renamed] == pytest.approx(chance, abs=1e-14)


def test_deep_groups_are_followed_to_their_end() -> None:
    """One count is so far ahead that its group gives all of the answer, deeper than what is drawn at first."""
    histogram = Histogram.from_multiplicities({1000: 30, 0: 10**10, **dict.fromkeys(range(1, 25), 1)})
    for selection in Lipschitz(20, 400).release_many(histogram, 30, replay("deep")):
        assert {item[0] for item in selection.items} == {1000}
        assert len(set(selection.items)) == 20
    everything = Lipschitz(30, 400, ordered=False).release(histogram, replay("deep"))
    assert everything.items == {(1000, index) for index in range(30)}


@pytest.mark.long
def test_members_of_a_deep_group_are_uniform() -> None:
    """Chi-square, significance 1e-9: each of 5 equal items comes up alike at each of 5 places."""
    drawn = Lipschitz(5, 1).release_many(Histogram.from_multiplicities({3: 5}), 40_000, replay("members"))
    for place in range(5):
        seen = (selection.items[place] for selection in drawn)  # type: ignore[index] # ordered
        assert p_value(seen, {(3, index): 0.2 for index in range(5)}) > SIGNIFICANCE


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("make", [Histogram.over_domain, as_multiplicities])
def test_few_bits_at_first_give_the_same_selections(noise: str, make: Any) -> None:
    mechanism, histogram = Lipschitz(3, 2, noise), make(TIED)
    reference = mechanism.release_many(histogram, 60, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 60, replay("bits", first_bits=bits)) == reference


def test_gumbel_noise_is_sequential_peeling() -> None:
    """P2.1: the k largest Gumbel keys, in order, are k draws without replacement."""
    counts = {"a": 4, "b": 3, "c": 1, "d": 0}
    law = items_law(Lipschitz(3, 2).law(Histogram.over_domain(counts)))
    once = Lipschitz(1, Fraction(2, 3))
    peeled: dict[tuple[str, ...], float] = {(): 1.0}
    for _ in range(3):
        peeled = {
            (*drawn, item): chance * share
            for drawn, chance in peeled.items()
            for (item,), share in items_law(
                once.law(Histogram.over_domain({i: n for i, n in counts.items() if i not in drawn}))
            ).items()
        }
    assert law.keys() == peeled.keys()
    for items, chance in law.items():
        assert chance == pytest.approx(peeled[items], abs=1e-13)


def test_exponential_noise_is_permute_and_flip() -> None:
    """The other way round: walk through a random order, stop with probability exp(-rate · (best - count))."""
    from itertools import permutations
    from math import exp, factorial

    counts = {"a": 3, "b": 2, "c": 2, "d": 0}
    flips = dict.fromkeys(counts, 0.0)
    for order in permutations(counts):
        left = 1.0
        for item in order:
            stop = exp(-0.7 * (3 - counts[item]))
            flips[item] += left * stop / factorial(4)
            left *= 1 - stop
    law = items_law(Lipschitz(1, "0.7", "exponential").law(Histogram.over_domain(counts)))
    for item, chance in flips.items():
        assert law[(item,)] == pytest.approx(chance, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_neighbours_stay_within_the_promise(noise: str, k: int) -> None:
    pairs = small_histogram_pairs(most=2) if k == 3 else small_histogram_pairs()
    stays_within(Lipschitz(k, "0.8", noise), Histogram.over_domain, pairs=pairs)


@pytest.mark.parametrize("noise", NOISES)
def test_scores_that_move_both_ways_stay_within_the_promise(noise: str) -> None:
    """Each of three scores moves by at most one, in any direction."""
    from itertools import product

    pairs = [
        ({"a": 1, "b": n, "c": m}, {"a": 1 + i, "b": n + j, "c": m + h})
        for n in (1, 2)
        for m in (1, 3)
        for i, j, h in product((-1, 0, 1), repeat=3)
    ]
    stays_within(Lipschitz(2, "0.8", noise, monotone=False), Histogram.over_domain, pairs=pairs)


def test_the_monotone_rate_is_caught_where_scores_move_both_ways() -> None:
    mechanism = Lipschitz(1, "0.8")
    pairs = [({"a": 2, "b": 0}, {"a": 1, "b": 1})]
    finding = worst_pair(lambda counts: mechanism.law(Histogram.over_domain(counts)), pairs, 0.8)
    assert finding.delta > 0.01


class OneRateForAll(Lipschitz):
    """The noise of one item spent on each of k: the k-fold loss of [SL]'s Algorithm 2 read carelessly."""

    def _unit_rate(self) -> Fraction:
        return self.epsilon


@pytest.mark.long
@pytest.mark.parametrize("noise", NOISES)
def test_noise_that_does_not_grow_with_k_is_caught(noise: str) -> None:
    twin = OneRateForAll(2, "0.8", noise)
    finding = worst_pair(lambda counts: twin.law(Histogram.over_domain(counts)), small_histogram_pairs(), 0.8)
    assert finding.delta > 1e-3


def test_bounded_range_holds_for_gumbel_and_fails_for_exponential_noise() -> None:
    """P8.1's last column: why only Gumbel noise is charged as bounded range."""

    def widest(noise: str) -> float:
        mechanism, ranges = Lipschitz(1, 1, noise), []
        for with_user, without in small_histogram_pairs("abc", 2):
            first = items_law(mechanism.law(Histogram.over_domain(with_user)))
            second = items_law(mechanism.law(Histogram.over_domain(without)))
            losses = [np.log(first[items] / second[items]) for items in first]
            ranges.append(max(losses) - min(losses))
        return max(ranges)

    assert widest("gumbel") <= 1 + 1e-9
    assert widest("exponential") > 1.2
    assert isinstance(Lipschitz(1, 1).cost().steps[0].step, BoundedRange)
    assert not isinstance(Lipschitz(1, 1, "exponential").cost().steps[0].step, BoundedRange)


def test_the_cost_is_the_table_of_accounting() -> None:
    """P10.1: ε²/(8k) for Gumbel noise, ε²/2 for the others; pure ε for all."""
    for noise in NOISES:
        cost = Lipschitz(5, "0.5", noise).cost()
        assert cost.epsilon == Fraction(1, 2)
        assert cost.rho == (Fraction(1, 160) if noise == "gumbel" else Fraction(1, 8))
        assert cost.delta == 0
        assert Lipschitz(5, "0.5", noise).guarantee().epsilon == Fraction(1, 2)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, "1e-6"), ("0.1", "1e-9")])
def test_a_budget_is_kept_and_used(noise: str, epsilon: Any, delta: Any) -> None:
    mechanism = Lipschitz.for_budget(k=20, epsilon=epsilon, delta=delta, noise=noise)
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert Fraction(99, 100) * Fraction(str(epsilon)) <= promise.epsilon <= Fraction(str(epsilon))
    assert promise.delta <= Fraction(str(delta))
    if noise == "gumbel" and delta:
        assert mechanism.epsilon > Fraction(3, 2) * Fraction(str(epsilon))  # composition beats plain addition


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    is_equivariant(Lipschitz(2, 1, "laplace"), Histogram.over_domain, counts, renaming)


def test_a_step_divides_the_rate() -> None:
    scaled = {label: 3 * count for label, count in TIED.items()}
    law = Lipschitz(2, 1).law(Histogram.over_domain(TIED))
    assert Lipschitz(2, 1).law(Histogram.over_domain(scaled, unit=3)) == pytest.approx(law, abs=1e-13)


@pytest.mark.parametrize("noise", NOISES)
def test_only_differences_of_counts_matter(noise: str) -> None:
    """A billion more of everything is the same law, to all digits."""
    above = {label: 10**9 + count for label, count in TIED.items()}
    law = Lipschitz(2, 1, noise).law(Histogram.over_domain(TIED))
    assert Lipschitz(2, 1, noise).law(Histogram.over_domain(above)) == pytest.approx(law, abs=1e-13)


def test_a_public_list_smaller_than_k_is_returned_whole() -> None:
    mechanism = Lipschitz(3, 1)
    selection = mechanism.release(Histogram.over_domain({"a": 1, "b": 5}), replay(1))
    assert selection.stopped
    assert set(selection.items) == {"a", "b"}
    assert sum(mechanism.law(Histogram.over_domain({"a": 1, "b": 5})).values()) == pytest.approx(1)
    assert mechanism.release(Histogram.over_domain({}), replay(1)) == Selection((), True)
    assert mechanism.law(Histogram.over_domain({})) == {Selection((), True): 1.0}


@pytest.mark.statistics
def test_utility_calculators_bound_what_happens() -> None:
    mechanism = Lipschitz(1, 1, "laplace")
    gap = round(mechanism.margin(0.95))
    won = items_law(mechanism.law(Histogram.over_domain({"a": gap, "b": 0})))[("a",)]
    assert won == pytest.approx(0.95, abs=0.02)
    many = Lipschitz(2, 1, "exponential")
    bar = many.shortfall(20, 0.05)
    counts = {f"i{n:02}": 60 - n * 2 for n in range(20)}
    drawn = many.release_many(Histogram.over_domain(counts), 4_000, replay("q1"))
    assert sum(any(counts[i] < 58 - bar for i in s.items) for s in drawn) <= 4_000 * 0.05


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1), "k must be at least 1"),
        ((1, 0), "epsilon must be larger than zero"),
        ((1, 1, "gaussian"), "noise must be one of gumbel"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Lipschitz(*arguments)


def test_a_chance_below_one_half_is_refused() -> None:
    with pytest.raises(ParameterError, match="at least one half"):
        Lipschitz(1, 1).margin(0.4)


@pytest.mark.parametrize(
    "histogram", [Histogram.from_counts({"a": 1}, 1), Histogram.over_domain({"a": 1, "b": 2, "c": 3}, 2)]
)
def test_a_restricted_histogram_is_refused(histogram: Histogram) -> None:
    with pytest.raises(HistogramError, match="whole public list"):
        Lipschitz(1, 1).release(histogram, replay(0))


def test_a_public_list_beyond_ranking_is_refused() -> None:
    with pytest.raises(HistogramError, match="too long"):
        Lipschitz(1, 1).release(Histogram.from_multiplicities({0: 2**62}), replay(0))
    with pytest.raises(ParameterError, match="too many items to write out"):
        Lipschitz(1, 1).law(Histogram.from_multiplicities({0: 2**40}))
