"""CanonicalBottom against its vector, its law, enumeration of all subsets, its neighbours, and its price."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest
from tests.mechanisms.conformance import VECTORS, follows_its_law, is_equivariant, items_law, notices, stays_within

from crestline.audit.neighbours import small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import Real

COUNTS = {"a": 14, "b": 9, "c": 2, "d": 1}
HISTOGRAM = Histogram.from_counts(COUNTS, 3)


def test_the_law_is_the_vector() -> None:
    wanted = VECTORS["TV-9.1"]["probabilities"]
    law = items_law(CanonicalBottom(2, 3, 1, "0.05").law(HISTOGRAM))
    assert law[frozenset()] == pytest.approx(wanted["(_)"], abs=1e-10)
    for pair in ("ab", "ac", "bc"):
        assert law[frozenset(pair)] == pytest.approx(wanted[f"{{{pair[0]},{pair[1]}}}"], abs=1e-10)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_classes_are_an_exponential_mechanism_over_all_subsets(k: int) -> None:
    """Enumeration, with ties and an empty slot: weights exp(ε (min - b - 1)), and C(k_bar, k)(1-δ)/δ for ⊥."""
    counts = {"a": 5, "b": 4, "c": 4, "d": 1}
    histogram = Histogram.from_counts(counts, 5)
    weights: dict[frozenset[str], float] = {}
    for subset in combinations(range(5), k):
        gap = min(histogram.counts[slot] for slot in subset) - 0 - 1
        items = frozenset(item for slot in subset if isinstance(item := histogram.items[slot], str))
        weights[items] = weights.get(items, 0.0) + math.exp(0.7 * gap)
    weights[frozenset()] = weights.get(frozenset(), 0.0) + math.comb(5, k) * 9
    law = items_law(CanonicalBottom(k, 5, "0.7", "0.1").law(histogram))
    for items, weight in weights.items():
        assert law[items] == pytest.approx(weight / sum(weights.values()), abs=1e-12)


@pytest.mark.statistics
@pytest.mark.parametrize("k", [1, 2])
def test_the_sampler_follows_the_law_and_the_test_has_power(k: int) -> None:
    histogram = Histogram.from_counts({"a": 6, "b": 5, "c": 4, "d": 3}, 4)
    mechanism = CanonicalBottom(k, 4, "0.8", "0.2")
    follows_its_law(mechanism, histogram)
    notices(mechanism, CanonicalBottom(k, 4, "0.88", "0.2"), histogram)
    notices(mechanism, CanonicalBottom(k, 4, "0.72", "0.2"), histogram)


def test_one_bit_at_first_gives_the_same_selections() -> None:
    mechanism = CanonicalBottom(2, 3, "0.5", "0.05")
    reference = mechanism.release_many(HISTOGRAM, 100, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(HISTOGRAM, 100, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(CanonicalBottom(2, 3, 1, "0.1"), lambda c: Histogram.from_counts(c, 3), COUNTS, renaming)


@pytest.mark.parametrize(("k", "k_bar"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_neighbours_stay_within_the_promise(k: int, k_bar: int) -> None:
    mechanism = CanonicalBottom(k, k_bar, "0.7", "0.1")
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, k_bar))


@pytest.mark.parametrize("k_bar", [3, 4])
def test_neighbours_in_a_public_list_stay_within_the_promise(k_bar: int) -> None:
    mechanism = CanonicalBottom(2, k_bar, "0.7", "0.1")
    stays_within(mechanism, lambda counts: Histogram.over_domain(counts, k_bar))


class LightBottom(CanonicalBottom):
    """The weight of ⊥ without the number of subsets."""

    def _log_bottom_weight(self, sets: int) -> Real:
        return super()._log_bottom_weight(1)


def test_a_lighter_bottom_is_caught_and_the_weight_is_tight() -> None:
    def needed(kind: type[CanonicalBottom]) -> float:
        mechanism = kind(2, 3, "0.7", "0.1")
        return worst_pair(lambda c: mechanism.law(Histogram.from_counts(c, 3)), small_histogram_pairs(), 0.7).delta

    assert needed(LightBottom) > 0.2
    assert 0.06 < needed(CanonicalBottom) <= 0.1 + 1e-12


def test_one_bounded_range_step() -> None:
    mechanism = CanonicalBottom(3, 30, "0.4", "1e-6")
    assert mechanism.cost().rho == Fraction(4, 10) ** 2 / 8  # P10.1
    assert (mechanism.guarantee().epsilon, mechanism.cost().delta) == (Fraction(2, 5), Fraction(1, 10**6))


def test_the_margin_is_enough() -> None:
    mechanism = CanonicalBottom(2, 6, "0.5", "1e-3")
    lead = math.ceil(mechanism.margin_for_all(0.95))
    law = items_law(mechanism.law(Histogram.from_counts({"a": lead + 3, "b": lead}, 6)))
    assert law[frozenset()] <= 0.05
    assert mechanism.margin(0.95) == mechanism.margin_for_all(0.95)


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = CanonicalBottom(2, 3, 1, "0.1")
    drawn = set(mechanism.release_many(Histogram.from_counts({}, 3), 50, replay("empty")))
    assert drawn == {Selection(frozenset(), True)}


def test_a_short_list_is_named_whole() -> None:
    mechanism = CanonicalBottom(2, 5, 1, "0.1")
    assert mechanism.release(Histogram.over_domain({"a": 0}), replay(0)) == Selection(frozenset("a"), True)


def test_many_slots_do_not_overflow() -> None:
    mechanism = CanonicalBottom(100, 5000, 50, "1e-9")
    counts = {f"i{n:04}": 6000 - n for n in range(5000)}
    selection = mechanism.release(Histogram.from_counts(counts, 5000), replay("wide"))
    assert len(selection) == 100
    with pytest.raises(ParameterError, match="small histograms only"):
        mechanism.law(Histogram.from_counts(counts, 5000))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CanonicalBottom(3, 2, 1, "0.1"), "k_bar must be at least k"),
        (lambda: CanonicalBottom(1, 2, 0, "0.1"), "epsilon must be larger than zero"),
        (lambda: CanonicalBottom(1, 2, 1, 0), "delta must be larger than zero"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_raw_rows_are_refused() -> None:
    with pytest.raises(HistogramError, match="padding"):
        CanonicalBottom(1, 2, 1, "0.1").release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))


def test_an_empty_list_is_a_stop() -> None:
    mechanism, empty = CanonicalBottom(2, 3, 1, "0.1"), Histogram.over_domain({})
    assert mechanism.release_many(empty, 2, replay(0)) == [Selection(frozenset(), True)] * 2
    assert mechanism.law(empty) == {Selection(frozenset(), True): 1.0}


@pytest.mark.parametrize("k", [1, 2, 3])
def test_without_a_stop_the_sets_share_everything(k: int) -> None:
    """P0.8: nothing was left out, so there is no ⊥; all counts far below nought's exponential."""
    law = CanonicalBottom(k, 3, 1, "0.1").law(Histogram.over_domain({"a": 3, "b": 2, "c": 0}))
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    assert {len(selection) for selection in law} == {k}


def test_the_law_of_large_counts_is_a_law() -> None:
    """Scores that no exponential function holds: the leader wins, and nothing overflows (warnings are errors)."""
    law = items_law(CanonicalBottom(1, 3, 1, "0.05").law(Histogram.from_counts({"a": 10**6, "b": 10**5, "c": 9}, 3)))
    assert math.fsum(law.values()) == pytest.approx(1)
    assert law[frozenset("a")] == pytest.approx(1)


def test_a_lead_beyond_the_range_of_doubles_has_a_law() -> None:
    """Weights are taken relative to the largest: e^10000 is never computed."""
    law = items_law(CanonicalBottom(1, 2, 1, "0.1").law(Histogram.from_counts({"a": 10_000, "b": 3, "c": 1}, 2)))
    assert law[frozenset("a")] == pytest.approx(1)
    assert sum(law.values()) == pytest.approx(1)
