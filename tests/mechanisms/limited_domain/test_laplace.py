"""LimitedDomainLaplace against its vectors, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from tests.mechanisms.conformance import (
    SIGNIFICANCE,
    VECTORS,
    assert_law,
    follows_its_law,
    is_equivariant,
    notices,
    p_value,
    stays_within,
)
from tests.mechanisms.counted import counted_law

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.guarantees.guarantee import ApproxDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.laplace import LimitedDomainLaplace
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay


def from_vector(name: str, stretch: Fraction = Fraction(1)) -> tuple[LimitedDomainLaplace, Histogram]:
    given = VECTORS[name]["params"]
    epsilon = Fraction(str(given["eps"])) * stretch
    delta = given.get("delta_reported", given.get("delta"))
    threshold = "closed" if "delta_reported" in given else "union"
    mechanism = LimitedDomainLaplace(given["k"], given["kbar"], epsilon, delta, given["Delta"], threshold=threshold)
    return mechanism, Histogram.from_counts(given["h"], given["kbar"])


@pytest.mark.parametrize("name", ["TV-4.1", "TV-4.2"])
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert float(mechanism.bottom_height(2)) == pytest.approx(VECTORS[name]["params"]["T"], abs=1e-10)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.statistics
@pytest.mark.parametrize("name", ["TV-4.1", "TV-4.2"])
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str) -> None:
    mechanism, histogram = from_vector(name)
    follows_its_law(mechanism, histogram, trials=400_000)
    notices(mechanism, from_vector(name, Fraction(11, 10))[0], histogram, trials=400_000)
    notices(mechanism, from_vector(name, Fraction(9, 10))[0], histogram, trials=400_000)


@pytest.mark.long
def test_fewer_bits_at_first_give_the_same_selections() -> None:
    given = VECTORS["TV-4.2"]["params"]
    mechanism = LimitedDomainLaplace(2, 3, "0.5", "0.4", 2, counts=True)
    histogram = Histogram.from_counts(given["h"], 3)
    reference = mechanism.release_many(histogram, 300, replay("bits"))
    assert any(selection.counts for selection in reference)
    for bits in (1, 7):
        assert mechanism.release_many(histogram, 300, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    mechanism = LimitedDomainLaplace(2, 3, "0.5", "0.1", 2)
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), counts, renaming)


@pytest.mark.long
@pytest.mark.parametrize(("k", "contribution"), [(1, 1), (2, 2), (2, None)])
def test_neighbours_stay_within_the_promise(k: int, contribution: int | None) -> None:
    mechanism = LimitedDomainLaplace(k, 2, "0.7", "0.1", contribution)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 2), contribution=contribution)


@pytest.mark.long
@pytest.mark.parametrize(
    ("k_bar", "contribution", "threshold"), [(3, 1, "union"), (3, 2, "closed"), (3, None, "union")]
)
def test_neighbours_of_more_slots_stay_within_the_promise(k_bar: int, contribution: int | None, threshold: str) -> None:
    mechanism = LimitedDomainLaplace(2, k_bar, "0.7", "0.1", contribution, threshold=threshold)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k_bar), contribution=contribution)


def test_the_union_threshold_is_tight() -> None:
    """Some pair needs nearly the whole δ: the audit would notice a smaller T."""
    mechanism = LimitedDomainLaplace(1, 1, "0.7", "0.1", 1)
    finding = worst_pair(
        lambda c: mechanism.law(Histogram.from_counts(c, 1)), small_histogram_pairs(labels="abc", contribution=1), 0.7
    )
    assert finding.delta > 0.09


class PrintedThreshold(LimitedDomainLaplace):
    """E-A2 as a program: T = ln(Δ/ε), as printed."""

    def bottom_height(self, unstable: int) -> Fraction:
        return Fraction(max(0.0, math.log(unstable / self.epsilon)))


def test_the_printed_threshold_is_caught() -> None:
    twin = PrintedThreshold(1, 2, "0.7", "0.1", 1)
    finding = worst_pair(
        lambda c: twin.law(Histogram.from_counts(c, 2)), small_histogram_pairs(labels="abc", contribution=1), 0.7
    )
    assert finding.delta > 0.1 + 1e-2


@pytest.mark.statistics
@pytest.mark.parametrize("grid", [1, 3])
def test_published_counts_follow_their_law(grid: int) -> None:
    """Chi-square at 1e-9 against direct integration; the same test rejects noise that is 10% off."""
    mechanism = LimitedDomainLaplace(1, 1, "0.5", "0.3", 1, counts=True, grid=grid)
    counts = {"a": 7, "b": 2}
    law = counted_law(mechanism, counts, reach=40)
    for stretch, fits in (("0.5", True), ("0.55", False), ("0.45", False)):
        twin = LimitedDomainLaplace(1, 1, stretch, "0.3", 1, counts=True, grid=grid)
        drawn = twin.release_many(Histogram.from_counts(counts, 1), 40_000, replay("counts"))
        outcomes = [(s.items, int(s.counts[0]) if s.counts else None) for s in drawn]
        assert (p_value(outcomes, law) > SIGNIFICANCE) == fits


@pytest.mark.long
def test_neighbours_with_counts_stay_within_the_promise() -> None:
    mechanism = LimitedDomainLaplace(1, 1, "0.7", "0.1", 1, counts=True)
    promise = mechanism.guarantee()
    assert promise == ApproxDP("0.7", "0.1", promise.theorem)
    pairs = list(small_histogram_pairs(labels="abc", most=2, contribution=1))
    finding = worst_pair(lambda c: counted_law(mechanism, c, reach=40), pairs, 0.7)
    assert finding.delta <= 0.1 + 1e-8


@pytest.mark.parametrize("contribution", [None, 1, 8, 40])
@pytest.mark.parametrize("k_bar", [None, 30])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-6"), (1, "1e-8"), (4, "0.01")])
def test_a_budget_is_used_up_and_not_exceeded(
    contribution: int | None, k_bar: int | None, epsilon: Any, delta: str
) -> None:
    for counts in {False, contribution is not None}:
        mechanism = LimitedDomainLaplace.for_budget(
            k=10, k_bar=k_bar, epsilon=epsilon, delta=delta, contribution=contribution, counts=counts
        )
        promise = mechanism.guarantee()
        assert promise.delta == Fraction(delta)
        assert promise.epsilon is not None
        assert Fraction(epsilon) * Fraction(99, 100) <= promise.epsilon <= Fraction(epsilon)


def test_a_budget_is_composed_where_that_is_better() -> None:
    few = LimitedDomainLaplace.for_budget(k=10, k_bar=100, epsilon=1, delta="1e-8", contribution=2)
    many = LimitedDomainLaplace.for_budget(k=10, k_bar=500, epsilon=1, delta="1e-8", contribution=200)
    assert (few.slack, many.slack) == (0, Fraction(1, 2 * 10**8))


def test_bad_numbers_of_slots_are_refused() -> None:
    for k, k_bar in ((1, 0), (3, 2)):
        with pytest.raises(ParameterError, match="k_bar must be at least"):
            LimitedDomainLaplace.for_budget(k=k, k_bar=k_bar, epsilon=1, delta="1e-6")


def test_what_it_costs() -> None:
    with_counts = LimitedDomainLaplace(2, 9, "0.1", "1e-6", 3, counts=True)
    assert (with_counts.cost().epsilon, with_counts.cost().rho) == (Fraction(3, 10), Fraction(3, 200))
    assert with_counts.guarantee().epsilon == Fraction(3, 10)
    unknown = LimitedDomainLaplace(2, 10, "0.1", "1e-6", None)  # 11 numbers: 5 ε pure, 11 ε²/8
    assert unknown.guarantee().epsilon == Fraction(1, 2)
    assert unknown.cost().rho == Fraction(11, 800)
    assert unknown.cost().delta == Fraction(1, 10**6)
    few = LimitedDomainLaplace(2, 100, "0.1", "1e-6", 2)
    assert (few.guarantee().epsilon, few.cost().rho) == (Fraction(1, 5), Fraction(1, 100))


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = LimitedDomainLaplace(2, 3, 1, "1e-6", 2, counts=True)
    drawn = set(mechanism.release_many(Histogram.from_counts({}, 3), 50, replay("empty")))
    assert drawn == {Selection((), True, ())}


def test_nothing_left_out_means_no_stop() -> None:
    mechanism = LimitedDomainLaplace(2, 2, 1, "0.1", 1)
    histogram = Histogram.over_domain({"a": 2, "b": 0})
    assert mechanism.length_law(histogram) == [0.0, 0.0, 1.0]
    assert sum(mechanism.law(histogram).values()) == pytest.approx(1, abs=1e-12)
    assert all(len(s) == 2 for s in mechanism.release_many(histogram, 20, replay("all")))


@pytest.mark.parametrize("rows", [{"a": 5, "b": 3, "c": 3, "d": 1}, {"a": 3}])
def test_length_law_agrees_with_the_law(rows: dict[str, int]) -> None:
    mechanism, histogram = LimitedDomainLaplace(2, 3, "0.5", "0.1", 2), Histogram.from_counts(rows, 3)
    lengths = [0.0] * 3
    for selection, chance in mechanism.law(histogram).items():
        lengths[len(selection)] += chance
    assert mechanism.length_law(histogram) == pytest.approx(lengths, abs=1e-10)


def test_the_margin_is_the_chance_to_beat_the_stop() -> None:
    mechanism = LimitedDomainLaplace(1, 1, "0.25", "0.01", 1)
    for chance in (0.2, 0.5, 0.95):
        below = mechanism.length_law(Histogram.from_counts({"a": math.floor(mechanism.margin(chance))}, 1))[1]
        above = mechanism.length_law(Histogram.from_counts({"a": math.ceil(mechanism.margin(chance))}, 1))[1]
        assert below <= chance <= above
    assert mechanism.spread(0.95) == pytest.approx(4 * math.log(20))


def test_at_the_margin_for_all_all_are_returned() -> None:
    mechanism = LimitedDomainLaplace(3, 3, "0.25", "0.01", 1)
    lead = math.ceil(mechanism.margin_for_all(0.95))
    lengths = mechanism.length_law(Histogram.from_counts({"a": lead + 4, "b": lead + 4, "c": lead + 4, "d": 4}, 3))
    assert 0.95 <= lengths[3] < 0.99


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((3, 2, 1, "0.1", 1), {}, "k_bar must be at least k"),
        ((1, 2, 0, "0.1", 1), {}, "epsilon must be larger than zero"),
        ((1, 2, 1, 1, 1), {}, "delta must be smaller than one"),
        ((1, 2, 1, "0.1", 0), {}, "contribution must be at least 1"),
        ((1, 2, 1, "0.1", None), {"counts": True}, "needs a contribution bound"),
        ((1, 2, 1, "0.1", 1), {"threshold": "exact"}, "threshold must be"),
        ((1, 2, 1, "0.1", 1), {"grid": 0}, "grid must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, options: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LimitedDomainLaplace(*arguments, **options)


def test_a_histogram_of_the_wrong_kind_is_refused() -> None:
    mechanism = LimitedDomainLaplace(1, 2, 1, "0.1", 1)
    with pytest.raises(HistogramError, match="raw rows"):
        mechanism.release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))
    with pytest.raises(HistogramError, match="distinct users"):
        mechanism.release(Histogram.from_counts({"a": 1}, 2, unit=5), replay(0))
    with pytest.raises(ParameterError, match="without counts"):
        LimitedDomainLaplace(1, 2, 1, "0.1", 1, counts=True).law(Histogram.from_counts({"a": 1}, 2))
    with pytest.raises(ParameterError, match="too many outcomes"):
        LimitedDomainLaplace(9, 9, 1, "0.1", 1).law(Histogram.from_counts({"a": 1}, 9))
