"""RestrictedCanonical against its vector, enumeration, its neighbours, its broken twins and its budget."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import (
    VECTORS,
    assert_law,
    follows_its_law,
    items_law,
    notices,
    promised_epsilon,
    stays_within,
)

from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.framework.canonical import RestrictedCanonical
from crestline.mechanisms.framework.framework import SlotLaw
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, JointTest
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

TEST = ExponentialTest("0.7", "0.3", "0.05")
HISTOGRAM = Histogram.from_counts(VECTORS["TV-9.2"]["params"]["h"], 3)


def test_the_law_is_the_vector() -> None:
    assert_law(RestrictedCanonical(2, 3, "0.6", "0.5", TEST).law(HISTOGRAM), VECTORS["TV-9.2"]["probabilities"])


@pytest.mark.parametrize("gamma", ["0", "0.3", "1"])
def test_the_law_by_enumeration_of_subsets_with_the_joint_test(gamma: str) -> None:
    """P8.2's loss subset by subset, then one coin for all (P9.3), then each order alike."""
    mechanism = RestrictedCanonical(2, 4, "0.8", gamma, JointTest("0.5", "0.1"))
    histogram = Histogram.from_counts({"a": 7, "b": 5, "c": 5, "d": 2, "e": 1}, 4)
    counts, weight = histogram.counts, float(Fraction(gamma))
    scores = {}
    for subset in combinations(range(4), 2):
        lowest = min(counts[slot] for slot in subset)
        missed = max(counts[slot] for slot in range(4) if slot not in subset)
        scores[subset] = -0.8 * ((1 - weight) * max(missed, lowest) - weight * lowest)
    mass = sum(math.exp(score) for score in scores.values())
    law = items_law(mechanism.law(histogram))
    for subset, score in scores.items():
        gap = min(counts[slot] for slot in subset) - 1 - 1
        named = math.exp(score) / mass / (1 + 9 * math.exp(-0.5 * gap))
        for order in permutations(subset):
            assert law[tuple("abcd"[slot] for slot in order)] == pytest.approx(named / 2, abs=1e-12)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_and_the_test_has_power() -> None:
    mechanism = RestrictedCanonical(2, 3, "0.6", "0.5", TEST)
    follows_its_law(mechanism, HISTOGRAM, trials=150_000)
    for epsilon in ("0.66", "0.54"):
        notices(mechanism, replace(mechanism, epsilon=epsilon), HISTOGRAM, trials=150_000)
    notices(mechanism, replace(mechanism, test=ExponentialTest("0.77", "0.3", "0.05")), HISTOGRAM, trials=150_000)


def test_one_bit_at_first_gives_the_same_selections() -> None:
    mechanism = RestrictedCanonical(2, 3, "0.6", "0.5", TEST)
    reference = mechanism.release_many(HISTOGRAM, 60, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(HISTOGRAM, 60, replay("bits", first_bits=bits)) == reference


@pytest.mark.long
@pytest.mark.parametrize("test", [ExponentialTest("0.4", "0.3", "0.2"), JointTest("0.6", "0.2")], ids=repr)
@pytest.mark.parametrize("gamma", ["0.5", "1"])
def test_neighbours_stay_within_the_promise(test: GapTest, gamma: str) -> None:
    mechanism = RestrictedCanonical(2, 3, "0.6", gamma, test)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3))


class ByRank(RestrictedCanonical):
    """P1.6 e as a program: the chosen set is tested in the order of the true counts."""

    def slot_law(self, view: Histogram) -> SlotLaw:
        given = super().slot_law(view)
        return replace(given, orders=np.sort(given.orders, axis=1))


def test_the_order_of_true_counts_is_caught() -> None:
    def needed(kind: type[RestrictedCanonical]) -> float:
        mechanism = kind(2, 2, "1e-6", "0.5", LaplaceTest(1, "1e-3"))
        first, second = (mechanism.law(Histogram.from_counts({"a": 18, "b": b}, 2)) for b in (19, 18))
        epsilon = promised_epsilon(mechanism)
        return max(hockey_stick_divergence(first, second, epsilon), hockey_stick_divergence(second, first, epsilon))

    assert needed(ByRank) > 0.18
    assert needed(RestrictedCanonical) <= 1e-3


@pytest.mark.parametrize(("k", "epsilon", "delta"), [(1, "1", "1e-6"), (10, "0.2", "1e-8"), (40, "5", "1e-4")])
def test_a_total_is_kept_and_used(k: int, epsilon: str, delta: str) -> None:
    mechanism = RestrictedCanonical.for_budget(k=k, epsilon=epsilon, delta=delta)
    assert mechanism.guarantee().epsilon == Fraction(epsilon)
    assert mechanism.guarantee().delta == Fraction(delta)
    assert mechanism.k_bar == 4 * k
    inner = Canonical(k, mechanism.epsilon, mechanism.gamma)
    assert inner.lowest_shortfall(4 * k) == inner.largest_miss(4 * k)  # unless asked both mistakes weigh the same


def test_the_split_makes_the_margin_smallest() -> None:
    best = RestrictedCanonical.for_budget(k=10, epsilon=1, delta="1e-6")
    for share in (Fraction(1, 5), Fraction(2, 5), Fraction(1, 2), Fraction(4, 5)):
        other = RestrictedCanonical(10, 40, 1 - share, "0.5", JointTest(share, "1e-6"))
        assert best.margin_for_all() < other.margin_for_all()
    blind = RestrictedCanonical.for_budget(k=10, epsilon=1, delta="1e-6", gamma=0)
    assert blind.margin_for_all() == math.inf
    assert blind.guarantee().epsilon == 1


def test_the_margin_is_enough() -> None:
    mechanism = RestrictedCanonical(2, 6, "0.5", "0.5", JointTest("0.5", "1e-3"))
    lead = math.ceil(mechanism.margin_for_all(0.95))
    law = items_law(mechanism.law(Histogram.from_counts({"a": lead + 3, "b": lead}, 6)))
    assert law[("a", "b")] + law[("b", "a")] >= 0.95


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = RestrictedCanonical(2, 3, 1, "0.5", TEST)
    assert mechanism.release(Histogram.from_counts({}, 3), replay(0)) == Selection((), True)
    assert mechanism.release(Histogram.over_domain({"a": 5}), replay(0)) == Selection(("a",), True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RestrictedCanonical(3, 2, 1, 1, TEST), "k_bar must be at least k"),
        (lambda: RestrictedCanonical(1, 2, 0, 1, TEST), "epsilon must be larger than zero"),
        (lambda: RestrictedCanonical(1, 2, 1, 2, TEST), "gamma must lie between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


@pytest.mark.parametrize(("k", "gamma", "delta"), [(2, "0.5", "1e-6"), (10, "0.8", "1e-9"), (5, "0.3", "1e-3")])
def test_neither_neighbour_of_the_split_has_a_smaller_margin(k: int, gamma: str, delta: str) -> None:
    """Shares of ε two thousandths away, on either side; at γ = 0 the choice gets nine tenths."""
    best = RestrictedCanonical.for_budget(k=k, epsilon=1, delta=delta, gamma=gamma)
    share = best.test.epsilon  # type: ignore[attr-defined] # a JointTest
    assert best.epsilon + share == 1
    for other in (share - Fraction(2, 1000), share + Fraction(2, 1000)):
        away = RestrictedCanonical(k, best.k_bar, 1 - other, gamma, JointTest(other, delta))
        assert best.margin_for_all() < away.margin_for_all()
    blind = RestrictedCanonical.for_budget(k=k, epsilon=1, delta=delta, gamma=0)
    assert blind.epsilon == Fraction(9, 10)
