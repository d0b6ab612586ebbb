"""Canonical against its vectors, its law, its neighbours, and its broken twins; listed and by multiplicities."""

from __future__ import annotations

import math
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.conformance import (
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    items_law,
    notices,
    stays_within,
)

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical import draw_subset as canonical_ranks
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.noises import NOISES
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

NAMES = [name for name in VECTORS if name.startswith(("TV-8.4", "TV-8.5", "TV-8.6", "TV-8.7"))]
GAMMAS = ("0", "0.3", "0.5", "1")
TIED = {"a": 4, "b": 4, "c": 3, "d": 1, "e": 1, "f": 1}


def from_vector(name: str, stretch: Fraction = Fraction(1)) -> tuple[Canonical, Histogram]:
    given = VECTORS[name]["params"]
    noise = "exponential" if given.get("noise") == "exp" else "gumbel"
    epsilon = Fraction(str(given["eps"])) * stretch
    mechanism = Canonical(given["k"], epsilon, str(given["gamma"]), noise, monotone=name != "TV-8.6")
    return mechanism, Histogram.over_domain(given["x"])


def as_multiplicities(counts: Counts) -> Histogram:
    return Histogram.from_multiplicities(Counter(counts.values()))


@pytest.fixture
def revealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw rows and reveal classes even where a table would be small."""
    monkeypatch.setattr(canonical_ranks, "TABLE", 0)


@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.statistics
@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str) -> None:
    mechanism, histogram = from_vector(name)
    follows_its_law(mechanism, histogram, trials=150_000)
    notices(mechanism, from_vector(name, Fraction(11, 10))[0], histogram, trials=150_000)
    notices(mechanism, from_vector(name, Fraction(9, 10))[0], histogram, trials=150_000)


@pytest.mark.statistics
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("make", [Histogram.over_domain, as_multiplicities])
def test_ties_and_multiplicities_follow_the_law(noise: str, gamma: str, make: Any) -> None:
    follows_its_law(Canonical(3, 2, gamma, noise), make(TIED), trials=20_000)


# The gate takes every noise, in turns with one quality and with the other.
REVEALED = [
    pytest.param(noise, gamma, marks=pytest.mark.full if (one + two) % 2 else ())
    for one, noise in enumerate(NOISES)
    for two, gamma in enumerate(("0.3", "0.5"))
]


@pytest.mark.statistics
@pytest.mark.slow
@pytest.mark.usefixtures("revealed")
@pytest.mark.parametrize(("noise", "gamma"), REVEALED)
def test_rows_and_revealed_classes_follow_the_law(noise: str, gamma: str) -> None:
    """The way of long lists, on a small one."""
    histogram = Histogram.over_domain({"a": 5, "b": 3, "c": 2, "d": 2, "e": 0})
    follows_its_law(Canonical(2, "1.5", gamma, noise), histogram, trials=2_000)


@pytest.mark.slow
@pytest.mark.usefixtures("revealed")
def test_a_rate_that_is_off_is_noticed_through_rows_and_revealed_classes() -> None:
    """20% off; 10% is noticed through tables of classes, which are quicker."""
    histogram = Histogram.over_domain({"a": 9, "b": 6, "c": 3})
    follows_its_law(Canonical(1, 1, "0.5"), histogram, trials=12_000)
    notices(Canonical(1, 1, "0.5"), Canonical(1, "1.2", "0.5"), histogram, trials=12_000)


@pytest.mark.statistics
@pytest.mark.usefixtures("revealed")
@pytest.mark.parametrize("noise", NOISES)
def test_rows_and_revealed_classes_follow_the_law_in_short(noise: str) -> None:
    histogram = Histogram.from_multiplicities({4: 2, 2: 2, 0: 1})
    follows_its_law(Canonical(2, 3, "0.4", noise), histogram, trials=400)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gamma", ["0.5", "1"])
def test_few_bits_at_first_give_the_same_selections(noise: str, gamma: str) -> None:
    mechanism, histogram = Canonical(3, 2, gamma, noise), as_multiplicities(TIED)
    reference = mechanism.release_many(histogram, 60, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 60, replay("bits", first_bits=bits)) == reference


@pytest.mark.usefixtures("revealed")
@pytest.mark.parametrize("noise", NOISES)
def test_few_bits_at_first_reveal_the_same_classes(noise: str) -> None:
    mechanism, histogram = Canonical(3, 2, "0.5", noise), as_multiplicities(TIED)
    reference = mechanism.release_many(histogram, 12, replay("rows"))
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 12, replay("rows", first_bits=bits)) == reference


@pytest.mark.statistics
def test_multiplicities_have_the_law_of_the_list() -> None:
    listed, grouped = Histogram.over_domain(TIED), as_multiplicities(TIED)
    names = {listed.name(rank): grouped.name(rank) for rank in range(6)}
    law, other = (Canonical(3, 1, "0.3", "laplace").law(histogram) for histogram in (listed, grouped))
    for selection, chance in law.items():
        renamed = Selection(frozenset(names[item] for item in selection.items), selection.stopped)
        assert other[renamed] == pytest.approx(chance, abs=1e-13)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("gamma", GAMMAS)
def test_neighbours_stay_within_the_promise(noise: str, gamma: str) -> None:
    pairs = (
        small_histogram_pairs()
        if noise in ("gumbel", "exponential") and gamma == "0.5"
        else small_histogram_pairs(most=2)
    )
    stays_within(Canonical(2, "0.8", gamma, noise), Histogram.over_domain, pairs=pairs)


@pytest.mark.parametrize("k", [1, 3])
def test_neighbours_stay_within_the_promise_for_other_sizes(k: int) -> None:
    stays_within(Canonical(k, "0.8", "0.6"), Histogram.over_domain)


@pytest.mark.parametrize("noise", NOISES)
def test_scores_that_move_both_ways_stay_within_the_promise(noise: str) -> None:
    from itertools import product

    pairs = [
        ({"a": 2, "b": 1, "c": n}, {"a": 2 + i, "b": 1 + j, "c": n + h})
        for n in (1, 3)
        for i, j, h in product((-1, 0, 1), repeat=3)
    ]
    for gamma in ("0.5", "1"):
        stays_within(Canonical(2, "0.8", gamma, noise, monotone=False), Histogram.over_domain, pairs=pairs)
    if noise != "logistic":  # three items do not exhaust its promise
        twin = Canonical(2, "0.8", 1, noise)
        finding = worst_pair(lambda counts: twin.law(Histogram.over_domain(counts)), pairs, 0.8)
        assert finding.delta > 0.05  # the rate for monotone counts is not enough here


class WrongCentre(Canonical):
    """E-D1 as a program: sensitivity |D2 - D1|/2 in place of (D1 + D2)/2, at gamma = 0.3."""

    def _unit_rate(self) -> Fraction:
        return self.epsilon / abs(1 - 2 * self.gamma)


def test_the_printed_sensitivity_is_caught() -> None:
    twin = WrongCentre(2, "0.8", "0.3")
    finding = worst_pair(lambda counts: twin.law(Histogram.over_domain(counts)), small_histogram_pairs(), 0.8)
    assert finding.delta > 0.01


def test_bounded_range_holds_for_gumbel() -> None:
    mechanism = Canonical(2, 1, "0.3")
    for with_user, without in small_histogram_pairs("abc"):
        first = items_law(mechanism.law(Histogram.over_domain(with_user)))
        second = items_law(mechanism.law(Histogram.over_domain(without)))
        losses = [np.log(first[items] / second[items]) for items in first]
        assert max(losses) - min(losses) <= 1 + 1e-9


def test_the_cost_is_the_table_of_accounting() -> None:
    """P10.1: ε²/8 for Gumbel noise, ε²/2 for the others."""
    for noise in NOISES:
        cost = Canonical(5, "0.5", noise=noise).cost()
        assert cost.epsilon == Fraction(1, 2)
        assert cost.rho == (Fraction(1, 32) if noise == "gumbel" else Fraction(1, 8))
        assert isinstance(cost.steps[0].step, BoundedRange) is (noise == "gumbel")


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, "1e-6"), ("0.1", "1e-9")])
def test_a_budget_is_kept_and_used(noise: str, epsilon: Any, delta: Any) -> None:
    promise = Canonical.for_budget(k=20, epsilon=epsilon, delta=delta, noise=noise).guarantee()
    assert promise.epsilon is not None
    assert Fraction(99, 100) * Fraction(str(epsilon)) <= promise.epsilon <= Fraction(str(epsilon))
    assert promise.delta <= Fraction(str(delta))


@pytest.mark.long
def test_one_draw_from_a_long_list_is_quick() -> None:
    """d = 20,000, k = 1,000: under a second of processor time, and a subset of the right size comes back."""
    counts = {n: int(10**6 / (n + 10)) for n in range(20_000)}
    for noise in NOISES:
        histogram = Histogram.over_domain(counts)
        start = time.process_time()
        selection = Canonical(1_000, "0.01", "0.5", noise).release(histogram, replay("large"))
        assert time.process_time() - start < 1
        assert len(selection.items) == 1_000
        assert not selection.stopped


def test_a_public_list_of_ten_billion_items_is_as_quick() -> None:
    histogram = Histogram.from_multiplicities({**{n * n: 2 for n in range(1, 200)}, 0: 10**10})
    for gamma in GAMMAS:
        start = time.process_time()
        selection = Canonical(50, "0.5", gamma, "exponential").release(histogram, replay("billions"))
        assert time.process_time() - start < 1
        assert len(selection.items) == 50


def test_a_clear_lead_is_found() -> None:
    counts = {n: 10_000 if n < 10 else n % 7 for n in range(500)}
    for noise in NOISES:
        for gamma in ("0.3", "0.5", "1"):  # at 0 only what is missed above the k-th count matters, and nothing is
            selection = Canonical(10, 1, gamma, noise).release(Histogram.over_domain(counts), replay("lead"))
            assert selection.items == frozenset(range(10))


@pytest.mark.statistics
def test_utility_calculators_bound_what_happens() -> None:
    """P8.2: with probability 1 - beta neither mistake is larger than stated."""
    mechanism = Canonical(3, 1, "0.4")
    counts = {n: 200 - 6 * n for n in range(30)}
    kth = counts[2]
    drawn = mechanism.release_many(Histogram.over_domain(counts), 2_000, replay("utility"))
    low = sum(min(counts[i] for i in s.items) < kth - mechanism.lowest_shortfall(30) for s in drawn)
    missed = sum(max(counts[i] for i in counts if i not in s.items) > kth + mechanism.largest_miss(30) for s in drawn)
    assert low <= 100
    assert missed <= 100
    assert Canonical(3, 1, 0).lowest_shortfall(30) == math.inf
    assert Canonical(3, 1, 1).largest_miss(30) == math.inf


@pytest.mark.parametrize("mechanism", [Canonical(3, 1), Canonical.for_budget(k=3, epsilon=1, delta=0)], ids="ab")
def test_unless_asked_both_mistakes_weigh_the_same(mechanism: Canonical) -> None:
    """Gumbel noise, counts that move one way, no slack: ε-DP, and one bounded-range step of all of ε."""
    assert mechanism.lowest_shortfall(30) == mechanism.largest_miss(30)
    assert mechanism == Canonical(3, 1, mechanism.gamma, "gumbel", monotone=True, slack=0)
    assert (mechanism.guarantee().epsilon, mechanism.guarantee().delta) == (1, 0)


def test_the_law_of_large_counts_keeps_its_digits() -> None:
    """Only differences of counts matter: 10^15 users more for every item change nothing."""
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    for gamma in GAMMAS:
        mechanism = Canonical(2, "0.7", gamma)
        small = mechanism.law(Histogram.over_domain(counts))
        large = mechanism.law(Histogram.over_domain({label: 10**15 + count for label, count in counts.items()}))
        assert large == pytest.approx(small, abs=1e-13)


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    is_equivariant(Canonical(2, 1, "0.3", "laplace"), Histogram.over_domain, counts, renaming)


def test_a_step_divides_the_rate() -> None:
    scaled = {label: 3 * count for label, count in TIED.items()}
    law = Canonical(2, 1).law(Histogram.over_domain(TIED))
    assert Canonical(2, 1).law(Histogram.over_domain(scaled, unit=3)) == pytest.approx(law, abs=1e-13)


def test_a_public_list_no_larger_than_k_is_returned_whole() -> None:
    for counts in ({}, {"a": 1}, {"a": 1, "b": 0}):
        whole = Selection(frozenset(counts), len(counts) < 2)
        assert Canonical(2, 1).release_many(Histogram.over_domain(counts), 2, replay(1)) == [whole] * 2
        assert Canonical(2, 1).law(Histogram.over_domain(counts)) == {whole: 1.0}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 1), "k must be at least 1"),
        ((1, 0), "epsilon must be larger than zero"),
        ((1, 1, "1.1"), "gamma must lie between 0 and 1"),
        ((1, 1, "0.5", "gaussian"), "noise must be one of gumbel"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        Canonical(*arguments)


def test_a_restricted_histogram_is_refused() -> None:
    with pytest.raises(HistogramError, match="whole public list"):
        Canonical(1, 1).release(Histogram.from_counts({"a": 1}, 1), replay(0))
    with pytest.raises(ParameterError, match="too many outcomes"):
        Canonical(10, 1).law(Histogram.over_domain({n: n for n in range(40)}))
