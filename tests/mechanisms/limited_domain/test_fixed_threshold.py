"""FixedThreshold against its vectors, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import (
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    notices,
    stays_within,
)

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.fixed_threshold import FixedThreshold
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.unit_points import Floats

NOISES = {"TV-7.1": "laplace", "TV-7.2": "logistic"}


def from_vector(name: str, stretch: Fraction = Fraction(1)) -> tuple[FixedThreshold, Histogram]:
    given = VECTORS[name]["params"]
    epsilon = Fraction(str(given["eps"])) * stretch
    mechanism = FixedThreshold(given["k"], epsilon, given["delta"], NOISES[name])
    return mechanism, Histogram.from_counts(given["h"], given["k"])


@pytest.mark.parametrize("name", NOISES)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.statistics
@pytest.mark.parametrize("name", NOISES)
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str) -> None:
    mechanism, histogram = from_vector(name)
    follows_its_law(mechanism, histogram, trials=600_000)
    notices(mechanism, from_vector(name, Fraction(11, 10))[0], histogram, trials=600_000)
    notices(mechanism, from_vector(name, Fraction(9, 10))[0], histogram, trials=600_000)


@pytest.mark.parametrize("name", NOISES)
def test_fewer_bits_at_first_give_the_same_selections(name: str) -> None:
    mechanism, histogram = from_vector(name)
    reference = mechanism.release_many(histogram, 300, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 300, replay("bits", first_bits=bits)) == reference


@pytest.mark.parametrize("noise", NOISES.values())
def test_permuting_labels_permutes_the_law(noise: str) -> None:
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    mechanism = FixedThreshold(3, "0.5", "0.1", noise)
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), counts, renaming)


@pytest.mark.parametrize("noise", NOISES.values())
@pytest.mark.parametrize(("k", "contribution"), [(1, None), (2, None), (3, 1), (3, 2)])
@pytest.mark.parametrize("slack", [0, "0.02"])
def test_neighbours_stay_within_the_promise(noise: str, k: int, contribution: int | None, slack: Any) -> None:
    mechanism = FixedThreshold(k, "0.7", "0.05", noise, contribution, slack=slack)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k), contribution=contribution)


@pytest.mark.parametrize("noise", NOISES.values())
def test_neighbours_in_a_public_list_stay_within_the_promise(noise: str) -> None:
    mechanism = FixedThreshold(3, "0.7", "0.05", noise)
    stays_within(mechanism, lambda counts: Histogram.over_domain(counts, 3))


class PrintedCondition(FixedThreshold):
    """E-A11 as a program: only items above the threshold itself are looked at."""

    def _chances(self, histogram: Histogram) -> Floats:
        gaps = self._gaps(histogram)
        assert gaps is not None
        return np.where(gaps > self._threshold_height.approx / float(self.epsilon), super()._chances(histogram), 0.0)


@pytest.mark.parametrize("noise", NOISES.values())
def test_the_printed_condition_is_caught(noise: str) -> None:
    twin = PrintedCondition(1, 2, "0.05", noise)
    finding = worst_pair(lambda c: twin.law(Histogram.from_counts(c, 1)), small_histogram_pairs(), 2.0)
    assert finding.delta > 0.5


class SmallThreshold(FixedThreshold):
    """A threshold for twice the δ that is claimed."""

    @property
    def _threshold_height(self) -> Any:
        return FixedThreshold(1, self.epsilon, 2 * self.delta, self.noise)._threshold_height


@pytest.mark.parametrize("noise", NOISES.values())
def test_delta_is_needed_in_full(noise: str) -> None:
    twin = SmallThreshold(1, "0.7", "0.05", noise)
    finding = worst_pair(lambda c: twin.law(Histogram.from_counts(c, 1)), small_histogram_pairs(), 0.7)
    assert finding.delta > 0.05 + 1e-2


def test_what_it_costs() -> None:
    laplace = FixedThreshold(10, "0.1", "1e-6", "laplace", 3).cost()
    logistic = FixedThreshold(10, "0.1", "1e-6", "logistic", 3).cost()
    assert (laplace.epsilon, laplace.rho, laplace.delta) == (1, Fraction(1, 20), Fraction(3, 10**6))
    assert (logistic.epsilon, logistic.rho, logistic.delta) == (1, Fraction(1, 80), Fraction(3, 10**6))
    assert FixedThreshold(10, "0.1", "1e-6").cost().delta == Fraction(1, 10**5)


@pytest.mark.parametrize("noise", NOISES.values())
@pytest.mark.parametrize("contribution", [None, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-8"), (4, "0.01")])
def test_a_budget_is_used_up_and_not_exceeded(noise: str, contribution: int | None, epsilon: Any, delta: str) -> None:
    mechanism = FixedThreshold.for_budget(
        k=9, k_bar=45, epsilon=epsilon, delta=delta, contribution=contribution, noise=noise
    )
    promise = mechanism.guarantee()
    assert mechanism.k_bar == 9
    assert promise.delta == Fraction(delta)
    assert promise.epsilon is not None
    assert Fraction(epsilon) * Fraction(99, 100) <= promise.epsilon <= Fraction(epsilon)


@pytest.mark.parametrize("noise", NOISES.values())
def test_few_rows(noise: str) -> None:
    mechanism = FixedThreshold(2, "0.5", "0.1", noise)
    assert set(mechanism.release_many(Histogram.from_counts({}, 2), 50, replay("empty"))) == {
        Selection(frozenset(), True)
    }
    histogram = Histogram.from_counts({"a": 4}, 2)
    lengths = [0.0] * 3
    for selection, chance in mechanism.law(histogram).items():
        lengths[len(selection)] += chance
    assert mechanism.length_law(histogram) == pytest.approx(lengths, abs=1e-12)
    follows_its_law(mechanism, histogram, trials=50_000)


def test_nothing_left_out_means_that_all_are_named() -> None:
    mechanism = FixedThreshold(2, 1, "0.1")
    histogram = Histogram.over_domain({"a": 2, "b": 0})
    assert mechanism.law(histogram)[Selection(frozenset("ab"), False)] == 1.0
    assert mechanism.release(histogram, replay(0)) == Selection(frozenset("ab"), False)


@pytest.mark.parametrize("noise", NOISES.values())
def test_the_margin_is_the_chance_to_be_named(noise: str) -> None:
    mechanism = FixedThreshold(1, "0.25", "0.01", noise)
    for chance in (0.2, 0.5, 0.95):
        below = mechanism.length_law(Histogram.from_counts({"a": math.floor(mechanism.margin(chance))}, 1))[1]
        above = mechanism.length_law(Histogram.from_counts({"a": math.ceil(mechanism.margin(chance))}, 1))[1]
        assert below <= chance <= above


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1, "0.1"), "k must be at least 1"),
        ((1, 0, "0.1"), "epsilon must be larger than zero"),
        ((1, 1, "0.6"), "at most one half"),
        ((3, 1, "0.4"), "below one"),
        ((2, 1, "0.5"), "below one"),
        ((1, 1, "0.1", "gumbel"), "noise must be one of laplace, logistic"),
        ((1, 1, "0.1", "laplace", 0), "contribution must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        FixedThreshold(*arguments)


def test_one_half_is_a_chance_for_one_item() -> None:
    """The largest δ: an item that gained nothing passes every other time (P7.1, P7.2)."""
    for noise in NOISES.values():
        chances = FixedThreshold(1, 1, "0.5", noise).length_law(Histogram.from_counts({"a": 3, "b": 2}, 1))
        assert chances == pytest.approx([0.5, 0.5])


def test_a_histogram_of_the_wrong_kind_is_refused() -> None:
    with pytest.raises(HistogramError, match="same k_bar"):
        FixedThreshold(1, 1, "0.1").release(Histogram.from_counts({"a": 1}, 3), replay(0))
    with pytest.raises(HistogramError, match="raw rows"):
        FixedThreshold(1, 1, "0.1").release(Histogram.from_counts({"a": 1}, 1, pad=False), replay(0))
    with pytest.raises(ParameterError, match="too many outcomes"):
        FixedThreshold(20, 1, "0.01").law(Histogram.from_counts({"a": 1}, 20))
