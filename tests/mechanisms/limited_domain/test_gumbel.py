"""LimitedDomain against its vectors, its law, its neighbours, and its broken twins."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
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

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import Real

SETTINGS: dict[str, dict[str, Any]] = {
    "TV-3.1": {},
    "TV-3.2": {"contribution": 1},
    "TV-3.3": {},
    "TV-3.4": {},
    "TV-3.5": {"sharp": True},
    "TV-3.6": {"strict": True},
}


def from_vector(name: str, stretch: Fraction = Fraction(1)) -> tuple[LimitedDomain, Histogram]:
    given = VECTORS[name]["params"]
    epsilon = Fraction(str(given["eps"])) * stretch
    mechanism = LimitedDomain(given["k"], given["kbar"], epsilon, given["delta"], **SETTINGS[name])
    return mechanism, Histogram.from_counts(given["h"], given["kbar"], pad=given.get("pad", True))


@pytest.mark.parametrize("name", SETTINGS)
def test_the_law_is_the_vector(name: str) -> None:
    mechanism, histogram = from_vector(name)
    assert_law(mechanism.law(histogram), VECTORS[name]["probabilities"])


@pytest.mark.statistics
@pytest.mark.parametrize("name", SETTINGS)
def test_the_sampler_follows_the_law_and_the_test_has_power(name: str) -> None:
    mechanism, histogram = from_vector(name)
    follows_its_law(mechanism, histogram, trials=600_000)
    notices(mechanism, from_vector(name, Fraction(11, 10))[0], histogram, trials=600_000)
    notices(mechanism, from_vector(name, Fraction(9, 10))[0], histogram, trials=600_000)


@pytest.mark.long
@pytest.mark.parametrize("name", ["TV-3.1", "TV-3.6"])
def test_one_bit_at_first_gives_the_same_selections(name: str) -> None:
    mechanism, histogram = from_vector(name)
    reference = mechanism.release_many(histogram, 300, replay("bits"))
    for bits in (1, 2, 13, 63):
        assert mechanism.release_many(histogram, 300, replay("bits", first_bits=bits)) == reference


@pytest.mark.statistics
def test_one_bit_at_first_follows_the_law() -> None:
    mechanism, histogram = from_vector("TV-3.1")
    drawn = mechanism.release_many(histogram, 4_000, replay("one bit", first_bits=1))
    law = items_law(mechanism.law(histogram))
    assert p_value((selection.items for selection in drawn), law) > SIGNIFICANCE


@pytest.mark.statistics
def test_long_rows_follow_the_law_and_the_test_has_power() -> None:
    """1200 slots, of which most are never drawn: the first item has chance ∝ e^(ε count), and so has ⊥ (P3.1).

    Chi-square over the 40 largest, the other slots in tens, and the stop, at significance 1e-9; ε 10% off is rejected.
    """
    counts = [600 - rank // 3 for rank in range(1200)]
    histogram = Histogram.from_counts({f"{rank:04}": count for rank, count in enumerate(counts)}, 1199)
    places = {f"{rank:04}": rank if rank < 40 else 36 + rank // 10 for rank in range(1200)}

    def drawn(epsilon: str) -> np.ndarray:
        mechanism = LimitedDomain(1, 1199, epsilon, "0.4", strict=False)
        found = Counter(mechanism.release_many(histogram, 60_000, replay("long rows")))
        seen = np.zeros(157)
        for selection, times in found.items():
            seen[places[str(next(iter(selection.items)))] if selection.items else -1] += times
        return seen

    scores = LimitedDomain(1, 1199, "0.02", "0.4")._scores(histogram)[0].approx
    chances = np.exp(scores - np.logaddexp.reduce(scores))
    expected = np.zeros(157)
    np.add.at(expected, [*(places[f"{rank:04}"] for rank in range(1199)), 156], 60_000 * chances)
    kept = expected > 5

    def p_value(seen: np.ndarray) -> float:
        parts = [*zip(seen[kept], expected[kept], strict=True), (seen[~kept].sum(), expected[~kept].sum())]
        return float(chi2.sf(sum((a - b) ** 2 / b for a, b in parts if b), len(parts) - 1))

    assert p_value(drawn("0.02")) > 1e-9
    assert p_value(drawn("0.022")) < 1e-9
    assert p_value(drawn("0.018")) < 1e-9


def test_permuting_labels_permutes_the_law() -> None:
    mechanism = LimitedDomain(2, 3, "0.5", "0.1")
    counts = {"a": 7, "b": 5, "c": 3, "d": 1}
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(mechanism, lambda c: Histogram.from_counts(c, 3), counts, renaming)


def test_permuting_labels_permutes_the_drawn_frequencies() -> None:
    """The sampler, not only the law: drawn under new names, it fits the renamed law."""
    mechanism = LimitedDomain(2, 3, "0.5", "0.1")
    law = items_law(mechanism.law(Histogram.from_counts({"a": 7, "b": 5, "c": 3, "d": 1}, 3)))
    back = {"d": "a", "a": "b", "b": "c", "c": "d"}
    drawn = mechanism.release_many(Histogram.from_counts({"d": 7, "a": 5, "b": 3, "c": 1}, 3), 100_000, replay("names"))
    assert p_value((tuple(back[i] for i in selection.items) for selection in drawn), law) > SIGNIFICANCE


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("contribution", [None, 1, 2])
@pytest.mark.parametrize("sharp", [False, True])
def test_neighbours_stay_within_the_promise(k: int, contribution: int | None, sharp: bool) -> None:
    mechanism = LimitedDomain(k, 3, "0.7", "0.1", contribution, sharp=sharp)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3), contribution=contribution)


@pytest.mark.parametrize("k_bar", [2, 3])
def test_neighbours_of_the_strict_variant_stay_within_the_promise(k_bar: int) -> None:
    mechanism = LimitedDomain(2, k_bar, "0.7", "0.1", strict=True)
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k_bar))


def test_neighbours_on_raw_rows_stay_within_the_promise() -> None:
    mechanism = LimitedDomain(2, 3, "0.7", "0.1")
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3, pad=False))


@pytest.mark.parametrize("k_bar", [2, 4])
def test_neighbours_in_a_public_list_stay_within_the_promise(k_bar: int) -> None:
    mechanism = LimitedDomain(2, k_bar, "0.7", "0.1")
    stays_within(mechanism, lambda counts: Histogram.over_domain(counts, k_bar))


def test_the_sharp_weight_is_tight() -> None:
    """Some pair needs the whole δ: the audit would notice a smaller ⊥."""
    mechanism = LimitedDomain(1, 3, "0.7", "0.1", sharp=True)
    finding = worst_pair(lambda c: mechanism.law(Histogram.from_counts(c, 3)), small_histogram_pairs(), 0.7)
    assert finding.delta > 0.099


def test_the_strict_domain_has_only_items_above_the_next_count() -> None:
    """P3.4: with b, c and d level, and d left out, b and c are not seen either."""
    histogram = Histogram.from_counts({"a": 5, "b": 3, "c": 3, "d": 3}, 3)
    law = LimitedDomain(2, 3, 1, "0.1", strict=True).law(histogram)
    assert {selection.items for selection in law} == {(), ("a",)}


def test_nothing_left_out_means_no_stop_whatever_comes_next() -> None:
    """P0.8: m = 0 means no ⊥ at all, also where a next count was written down."""
    histogram = Histogram(("a", "b"), np.array([3, 1]), 0, domain_size=2)
    law = LimitedDomain(2, 2, 1, "0.1").law(histogram)
    assert law.keys() == {Selection(("a", "b"), False), Selection(("b", "a"), False)}


class StrictWithContribution(LimitedDomain):
    """P1.6 d as a program: the strict domain with ln(Δ/δ), Δ = 1."""

    def _bottom_weight(self, unstable: int) -> Real:
        return super()._bottom_weight(1)


def test_a_strict_domain_with_a_contribution_bound_is_caught() -> None:
    twin = StrictWithContribution(1, 3, "0.7", "0.1", strict=True)
    finding = worst_pair(lambda c: twin.law(Histogram.from_counts(c, 3)), small_histogram_pairs(contribution=1), 0.7)
    assert finding.delta > 0.1 + 1e-3


def test_pay_what_you_get_charges_the_stop() -> None:
    mechanism = LimitedDomain(5, 10, "0.1", "1e-6")
    assert mechanism.cost().number_of_steps == 5
    assert mechanism.settlement_cost(Selection((), True)).number_of_steps == 1
    assert mechanism.settlement_cost(Selection(("a", "b"), True)).number_of_steps == 3
    assert mechanism.settlement_cost(Selection(tuple("abcde"), False)).number_of_steps == 5
    assert mechanism.settlement_cost(Selection((), True)).delta == mechanism.delta


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = LimitedDomain(2, 3, 1, "1e-6")
    drawn = set(mechanism.release_many(Histogram.from_counts({}, 3), 50, replay("empty")))
    assert drawn == {Selection((), True)}


@pytest.mark.parametrize("name", ["TV-3.1", "TV-3.3", "TV-3.4", "TV-3.6"])
def test_length_law_agrees_with_the_law(name: str) -> None:
    mechanism, histogram = from_vector(name)
    lengths = [0.0] * 3
    for selection, chance in mechanism.law(histogram).items():
        lengths[len(selection)] += chance
    assert mechanism.length_law(histogram) == pytest.approx(lengths, abs=1e-10)
    domain = Histogram.over_domain({"a": 2, "b": 1})
    assert LimitedDomain(2, 2, 1, "0.1").length_law(domain) == [0.0, 0.0, 1.0]


def test_the_margin_is_the_chance_to_beat_the_stop() -> None:
    """At exactly the margin an item that stands alone is named with the stated chance."""
    mechanism = LimitedDomain(1, 1, "0.5", "0.01")
    gap = round(mechanism.margin(0.95))
    named = mechanism.length_law(Histogram.from_counts({"a": gap}, 1))[1]
    assert named == pytest.approx(0.95, abs=0.02)
    assert mechanism.margin_for_all(0.95) >= mechanism.margin(0.9)


def test_the_shortfall_bounds_what_is_returned() -> None:
    """Q1: returned items are rarely `shortfall` below the k-th count."""
    mechanism = LimitedDomain(2, 20, "0.5", "0.1")
    counts = {f"i{n:02}": 60 - n for n in range(20)}
    bar = 59 - mechanism.shortfall(0.05)
    drawn = mechanism.release_many(Histogram.from_counts(counts, 20), 2_000, replay("q1"))
    below = sum(any(counts[item] < bar for item in selection.items) for selection in drawn)
    assert below <= 2_000 * 0.05


def test_the_calculators_by_hand() -> None:
    """P3.6 in plain arithmetic, defaults included."""
    mechanism = LimitedDomain(2, 20, "0.5", "0.1")
    assert mechanism.shortfall() == pytest.approx(math.log(2 * 20 / 0.05) / 0.5)
    assert mechanism.margin() == pytest.approx(1 + (math.log(20 / 0.1) + math.log(0.95 / 0.05)) / 0.5)
    assert mechanism.margin_for_all() == pytest.approx(1 + (math.log(20 / 0.1) + math.log(2 / 0.05)) / 0.5)
    bounded = LimitedDomain(2, 20, "0.5", "0.1", 3)
    assert bounded.margin() == pytest.approx(1 + (math.log(3 / 0.1) + math.log(0.95 / 0.05)) / 0.5)
    assert bounded.margin_for_all() == pytest.approx(1 + (math.log(3 / 0.1) + math.log(2 / 0.05)) / 0.5)
    strict = LimitedDomain(2, 20, "0.5", "0.1", 3, strict=True)
    assert strict.margin() == mechanism.margin()
    assert strict.margin_for_all() == mechanism.margin_for_all()


def test_a_budget_is_kept_and_used() -> None:
    mechanism = LimitedDomain.for_budget(k=3, epsilon=1, delta="1e-6")
    assert (mechanism.k, mechanism.k_bar) == (3, 15)
    assert mechanism.delta == mechanism.slack == Fraction(1, 2_000_000)
    promise = mechanism.guarantee()
    assert promise.epsilon is not None
    assert Fraction(99, 100) < promise.epsilon <= 1
    assert LimitedDomain.for_budget(k=3, k_bar=4, epsilon=1, delta="1e-6", contribution=2) == LimitedDomain(
        3, 4, mechanism.epsilon, mechanism.delta, 2, slack=mechanism.slack
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3, 2, 1, "0.1"), "k_bar must be at least k"),
        ((0, 2, 1, "0.1"), "k must be at least 1"),
        ((1, 2, 0, "0.1"), "epsilon must be larger than zero"),
        ((1, 2, 1, 1), "delta must be smaller than one"),
        ((1, 2, 1, 0), "delta must be larger than zero"),
        ((1, 2, float("nan"), "0.1"), "epsilon must be finite"),
        ((1, 2, True, "0.1"), "epsilon must be a number"),
        ((1, 2, 1, "0.1", 0), "contribution must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        LimitedDomain(*arguments)


def test_a_histogram_of_the_wrong_shape_is_refused() -> None:
    mechanism = LimitedDomain(1, 2, 1, "0.1")
    with pytest.raises(HistogramError, match="same k_bar"):
        mechanism.release(Histogram.from_counts({"a": 1}, 3), replay(0))
    with pytest.raises(HistogramError, match="by rank"):
        mechanism.release(Histogram.from_multiplicities({1: 2}), replay(0))


def test_long_rows_are_cut_where_single_releases_are_cut() -> None:
    """Rows of more than 32 items are named all at once; ⊥ and empty slots end them all the same."""
    counts = {f"{i:02}": 60 - i for i in range(45)}
    histogram = Histogram.from_counts(counts, 50)
    mechanism = LimitedDomain(40, 50, 2, "1e-16")
    many = mechanism.release_many(histogram, 200, replay("cut"))
    lengths = {len(selection) for selection in many}
    assert len(lengths) > 2
    assert 40 in lengths
    for selection in many:
        assert selection.stopped == (len(selection) < 40)
        assert set(selection.items) <= set(counts)
        assert len(set(selection.items)) == len(selection)
