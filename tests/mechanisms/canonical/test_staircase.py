"""Staircase against its law, enumeration of all subsets, its neighbours, broken twins, and its price."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from tests.mechanisms.conformance import (
    SIGNIFICANCE,
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
from crestline.mechanisms.canonical.canonical_bottom import CanonicalBottom
from crestline.mechanisms.canonical.staircase import Staircase
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

COUNTS = {"a": 14, "b": 9, "c": 2, "d": 1}
HISTOGRAM = Histogram.from_counts(COUNTS, 3)


def scores(counts: list[int], k: int, kappa: float) -> dict[tuple[int, ...], float]:
    """Every set of at most k slots and its score, word for word as P19.1 has it."""
    found: dict[tuple[int, ...], float] = {}
    for size in range(1, k + 1):
        for chosen in combinations(range(len(counts)), size):
            outside = [count for slot, count in enumerate(counts) if slot not in chosen]
            missed = max([counts[k - 1], *outside]) - counts[k - 1]
            found[chosen] = min(counts[slot] for slot in chosen) - kappa * missed
    return found


def plan(mechanism: Staircase) -> dict[int, tuple[float, float]]:
    """Rate and threshold of every size by the formulas of P19.1, in doubles."""
    k, whole = mechanism.k, float(mechanism.epsilon / (1 + mechanism.kappa))
    first = float(mechanism.share) * whole
    levels = {}
    for size in range(1, k + 1):
        rate = whole if size == k else (1 - float(mechanism.share)) * whole
        part = 1 if k == 1 else 2 if size == k else 2 * (k - 1)
        room = math.log(math.comb(mechanism.k_bar, size) * part / float(mechanism.delta))
        levels[size] = rate, (room - math.log((first + rate) / first)) / rate
    return levels


def enumerated(mechanism: Staircase, histogram: Histogram) -> dict[frozenset[str], float]:
    """The law by adding up all subsets: one integral over the uniform behind the shared noise for each size."""
    k, step = mechanism.k, histogram.unit
    assert histogram.next_count is not None
    floor = histogram.next_count + step
    first = float(mechanism.share * mechanism.epsilon / (1 + mechanism.kappa))
    levels = plan(mechanism)
    weights = {
        chosen: math.exp(levels[len(chosen)][0] * ((score - floor) / step - levels[len(chosen)][1]))
        for chosen, score in scores(list(histogram.counts), k, float(mechanism.kappa)).items()
    }
    sums = {size: math.fsum(w for chosen, w in weights.items() if len(chosen) == size) for size in range(1, k + 1)}

    def fails(size: int, uniform: float) -> float:
        """No set of this size passes, where the noise is `-ln(uniform)/first`."""
        return math.exp(-sums[size] * uniform ** (levels[size][0] / first))

    def passes(size: int) -> float:
        def inside(uniform: float) -> float:
            before = math.prod(fails(other, uniform) for other in range(size + 1, k + 1))
            return before * (1 - fails(size, uniform) if size else 1.0)

        return float(quad(inside, 0, 1, epsabs=1e-12, epsrel=1e-11, limit=500)[0])

    law: dict[frozenset[str], float] = {frozenset(): passes(0)}
    for chosen, weight in weights.items():
        items = frozenset(item for slot in chosen if isinstance(item := histogram.items[slot], str))
        law[items] = law.get(items, 0.0) + passes(len(chosen)) * weight / sums[len(chosen)]
    return law


CASES = [
    (Staircase(1, 3, 1, "0.05"), {"a": 6, "b": 5, "c": 2}),
    (Staircase(2, 3, 1, "0.05"), COUNTS),
    (Staircase(2, 4, "0.7", "0.1", kappa="0.5", share="0.4"), {"a": 9, "b": 9, "c": 4, "d": 4, "e": 1}),
    (Staircase(3, 3, "1.5", "0.05"), {"a": 7, "b": 5, "c": 5, "d": 1}),
    (Staircase(3, 5, "0.8", "0.2", kappa=0, share="0.1"), {"a": 12, "b": 8, "c": 8, "d": 3}),
    (Staircase(4, 5, "0.8", "0.2", kappa=2), {"a": 22, "b": 9, "c": 8}),
]


@pytest.mark.parametrize(("mechanism", "counts"), CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("step", [1, 3])
def test_the_law_is_an_enumeration_of_all_subsets(mechanism: Staircase, counts: dict[str, int], step: int) -> None:
    """Ties, empty slots, sums that one user moves by up to three, and all slots wanted."""
    moved = {item: step * count + count % 2 for item, count in counts.items()}
    histogram = Histogram.from_counts(moved, mechanism.k_bar, unit=step)
    law, wanted = items_law(mechanism.law(histogram)), enumerated(mechanism, histogram)
    assert math.fsum(law.values()) == pytest.approx(1, abs=1e-12)
    for items in wanted.keys() | law.keys():
        assert law.get(items, 0.0) == pytest.approx(wanted.get(items, 0.0), abs=1e-9), items


def simulated(mechanism: Staircase, counts: list[int], floor: int, trials: int) -> Counter[tuple[int, ...]]:
    """P19.1 as it is written: one noise for all thresholds, and for each subset of each size one of its own."""
    random = np.random.default_rng(19)
    levels, everything = plan(mechanism), scores(counts, mechanism.k, float(mechanism.kappa))
    first = float(mechanism.share * mechanism.epsilon / (1 + mechanism.kappa))
    shared = random.exponential(1 / first, trials)
    open_, found = np.ones(trials, dtype=bool), np.zeros(trials, dtype=np.int64)
    sets: list[tuple[int, ...]] = [()]
    for size in range(mechanism.k, 0, -1):
        own = [chosen for chosen in everything if len(chosen) == size]
        rate, threshold = levels[size]
        noisy = np.array([everything[chosen] for chosen in own]) + random.gumbel(size=(trials, len(own))) / rate
        passed = open_ & (noisy.max(axis=1) > floor + 1 + threshold + shared)
        found[passed] = len(sets) + noisy.argmax(axis=1)[passed]
        open_ &= ~passed
        sets += own
    return Counter({sets[index]: number for index, number in Counter(found.tolist()).items()})


@pytest.mark.statistics
def test_the_law_is_that_of_the_words() -> None:
    """No closed form at all: 300,000 draws with numpy's generator."""
    mechanism = Staircase(3, 4, 1, "0.2", kappa="0.3")
    histogram = Histogram.from_counts({"a": 12, "b": 8, "c": 7, "d": 5, "e": 2}, 4)
    drawn = simulated(mechanism, [12, 8, 7, 5], 2, 300_000)
    named = [frozenset("abcd"[slot] for slot in chosen) for chosen in drawn.elements()]
    assert p_value(named, items_law(mechanism.law(histogram))) > SIGNIFICANCE


@pytest.mark.statistics
@pytest.mark.parametrize(("k", "k_bar"), [(1, 4), (2, 4), (3, 4), (3, 3)])
def test_the_sampler_follows_the_law_and_the_test_has_power(k: int, k_bar: int) -> None:
    histogram = Histogram.from_counts({"a": 9, "b": 8, "c": 7, "d": 4}, k_bar)
    mechanism = Staircase(k, k_bar, "0.8", "0.2", kappa="0.2")
    follows_its_law(mechanism, histogram)
    notices(mechanism, Staircase(k, k_bar, "0.88", "0.2", kappa="0.2"), histogram)
    notices(mechanism, Staircase(k, k_bar, "0.72", "0.2", kappa="0.2"), histogram)


@pytest.mark.statistics
def test_the_sampler_follows_the_law_of_sums() -> None:
    histogram = Histogram.from_counts({"a": 95, "b": 80, "c": 77, "d": 41}, 4, unit=10)
    mechanism = Staircase(2, 4, "0.8", "0.2")
    follows_its_law(mechanism, histogram)
    notices(mechanism, Staircase(2, 4, "0.88", "0.2"), histogram)


def test_one_bit_at_first_gives_the_same_selections() -> None:
    for mechanism in (Staircase(2, 3, "0.5", "0.05"), Staircase(2, 3, "0.5", "0.05", kappa=0)):
        reference = mechanism.release_many(HISTOGRAM, 60, replay("bits"))
        for bits in (1, 7):
            assert mechanism.release_many(HISTOGRAM, 60, replay("bits", first_bits=bits)) == reference


def test_permuting_labels_permutes_the_law() -> None:
    renaming = {"a": "d", "b": "a", "c": "b", "d": "c"}
    is_equivariant(Staircase(2, 3, 1, "0.1"), lambda c: Histogram.from_counts(c, 3), COUNTS, renaming)


@pytest.mark.long
@pytest.mark.parametrize(("k", "k_bar"), [(1, 1), (1, 3), (2, 2), (2, 3), (3, 3)])
def test_neighbours_stay_within_the_promise(k: int, k_bar: int) -> None:
    stays_within(Staircase(k, k_bar, "0.7", "0.1"), lambda counts: Histogram.from_counts(counts, k_bar))


@pytest.mark.long
@pytest.mark.parametrize("k_bar", [2, 3, 4])
def test_neighbours_in_a_public_list_stay_within_the_promise(k_bar: int) -> None:
    """With four slots nothing is left out: no threshold, and always two items."""
    mechanism = Staircase(2, k_bar, "0.7", "0.1", kappa="0.5")
    stays_within(mechanism, lambda counts: Histogram.over_domain(counts, k_bar))


def needed(mechanism: Staircase, labels: str, most: int) -> float:
    """The δ that the worst of all neighbouring pairs needs at the claimed ε."""
    pairs = small_histogram_pairs(labels, most)
    law = lambda counts: mechanism.law(Histogram.from_counts(counts, mechanism.k_bar))  # noqa: E731
    return worst_pair(law, pairs, float(mechanism.epsilon)).delta


@pytest.mark.long
@pytest.mark.parametrize(
    ("mechanism", "labels", "most", "wanted"),
    [
        (Staircase(2, 3, 1, "0.05"), "abcd", 3, 0.0470),
        (Staircase(2, 2, 1, "0.02"), "abcd", 4, 0.0195),
        (Staircase(2, 2, "0.8", "0.05", share="0.4"), "abc", 8, 0.0479),
    ],
)
def test_the_thresholds_are_tight(mechanism: Staircase, labels: str, most: int, wanted: float) -> None:
    """The figures of P19.2, to their last digit."""
    found = needed(mechanism, labels, most)
    assert found <= float(mechanism.delta)
    assert found == pytest.approx(wanted, abs=1e-4)


class NoUnion(Staircase):
    """Thresholds as if one set could gain nothing, and not all of them."""

    def _number_of_sets(self, size: int) -> int:
        return 1


class FullRates(Staircase):
    """Every size at the full rate: the noise of the threshold is not paid for."""

    def level_rate(self, size: int) -> Fraction:
        return self._rate


class FreePenalty(Staircase):
    """A penalty that moves scores further, at the rate of scores that move by one."""

    @property
    def _rate(self) -> Fraction:
        return self.epsilon


@pytest.mark.long
def test_thresholds_for_one_set_are_caught() -> None:
    assert needed(NoUnion(2, 3, 1, "0.05"), "abcd", 3) == pytest.approx(0.126, abs=1e-3)  # P19.2


def slot_law(mechanism: Staircase, counts: list[int], floor: int) -> Mapping[Any, float]:
    """The law over slots, whichever way they are ranked: `s0` stays `s0` when another overtakes it (K3)."""
    order = sorted(range(len(counts)), key=lambda slot: -counts[slot])
    ranked = np.array([counts[slot] for slot in order], dtype=np.int64)
    return items_law(mechanism.law(Histogram(tuple(f"s{slot}" for slot in order), ranked, floor)))


def largest_loss(mechanism: Staircase, starts: list[list[int]]) -> float:
    """The largest `|ln P/Q|` when slots and what was left out each move up by one or stay (slot loss, P19.2)."""
    worst = 0.0
    for start in starts:
        before = slot_law(mechanism, start, 0)
        for *moves, below in product((0, 1), repeat=len(start) + 1):
            after = slot_law(mechanism, [count + move for count, move in zip(start, moves, strict=True)], below)
            for outcome, chance in before.items():
                if min(chance, after[outcome]) > 1e-11:  # doubles say little about the ratio of less
                    worst = max(worst, abs(math.log(chance / after[outcome])))
    return worst


STARTS = [[31, 25, 13], [6, 14, 14], [27, 26, 11], [40, 9, 9], [12, 12, 12], [22, 3, 18], [60, 8, 2], [35, 1, 1]]


@pytest.mark.long
def test_slots_stay_within_epsilon_and_broken_twins_do_not() -> None:
    """Pure ε between slot vectors. Histograms with labels hardly show a rate that is too high; slots do."""
    assert largest_loss(Staircase(2, 3, 1, "0.01"), STARTS) <= 1 + 1e-6
    assert 0.95 < largest_loss(Staircase(2, 3, 1, "0.01", kappa="0.5"), STARTS) <= 1 + 1e-6
    assert largest_loss(FullRates(2, 3, 1, "0.01", kappa=0), STARTS) > 1.2
    assert largest_loss(FreePenalty(2, 3, 1, "0.01", kappa="0.5"), STARTS) > 1.4


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "kappa", "share"), [(3, "0.05", "0.25"), (3, "0.5", "0.25"), (2, 3, "0.1"), (2, 1, "0.9")]
)
def test_slots_stay_within_epsilon_where_smaller_sets_pay_for_leaders(k: int, kappa: Any, share: str) -> None:
    """Four slots, all 32 moves of each; the bound is nearly reached."""
    starts = [[68, 45, 23, 8], [60, 59, 12, 11], [90, 30, 30, 2], [33, 31, 16, 0], [4, 3, 2, 1], [45, 30, 15, 0]]
    assert 0.99 < largest_loss(Staircase(k, 4, 1, "0.01", kappa, share), starts) <= 1 + 1e-6


def test_one_pure_step() -> None:
    mechanism = Staircase(3, 30, "0.4", "1e-6")
    assert mechanism.cost().rho == Fraction(4, 10) ** 2 / 2  # P19.2
    promise: Any = mechanism.guarantee()
    assert (promise.epsilon, promise.delta) == (Fraction(2, 5), Fraction(1, 10**6))


def test_parameters_are_those_of_the_note() -> None:
    mechanism = Staircase.for_budget(k=4, epsilon=1, delta="1e-6", contribution=3)
    assert mechanism == Staircase(4, 40, 1, "1e-6", Fraction(1, 20), Fraction(1, 4))
    assert Staircase.for_budget(k=4, k_bar=9, epsilon=1, delta="1e-6").k_bar == 9
    whole = 1 / Fraction("1.05")
    assert mechanism.threshold_rate == whole / 4
    assert [mechanism.level_rate(size) for size in (4, 3, 1)] == [whole, whole * 3 / 4, whole * 3 / 4]
    assert sum(mechanism.level_delta(size) for size in range(1, 5)) == mechanism.delta
    assert mechanism.level_delta(4) == mechanism.delta / 2
    assert Staircase(1, 5, 1, "1e-6").level_delta(1) == Fraction(1, 10**6)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_thresholds_are_rounded_up(k: int) -> None:
    mechanism = Staircase(k, 10 * k, "0.3", "1e-8")
    for size, (_, exact) in plan(mechanism).items():
        assert 0 <= float(mechanism.threshold(size)) - exact + 1e-12 < 1e-10


@pytest.mark.parametrize("items", [None, 1, 2, 3])
def test_the_margin_is_enough(items: int | None) -> None:
    """One set of k that leads by so much, and nothing else: the chance is nearly exact. Smaller sets may have to pay
    for the next item, which costs at most 1/20 of the lead."""
    mechanism = Staircase(3, 6, "0.5", "1e-3")
    size = 3 if items is None else items
    lead = math.ceil(mechanism.margin(0.95, items))
    law = items_law(mechanism.law(Histogram.from_counts(dict.fromkeys("abc"[:size], lead), 6)))
    short = math.fsum(chance for found, chance in law.items() if len(found) < size)
    assert (0.04 if size == 3 else 0.02) < short <= 0.05
    assert mechanism.margin(0.95) == mechanism.margin(0.95, 3) == mechanism.margin()


def test_a_penalty_that_eats_the_lead_has_no_margin_for_fewer_items() -> None:
    mechanism = Staircase(3, 6, "0.5", "1e-3", kappa=1)
    assert math.isinf(mechanism.margin(0.95, 2))
    assert math.isfinite(mechanism.margin(0.95, 3))


def test_a_clear_leader_is_never_missing_from_a_whole_set() -> None:
    """Nine near-equal items and one far above them: CanonicalBottom drops any one of them, the first too."""
    counts = {"leader": 2000, **{f"i{number:02}": 300 - number for number in range(14)}}
    histogram = Histogram.from_counts(counts, 50)
    drawn = Staircase(10, 50, 1, "1e-8").release_many(histogram, 2000, replay("leader"))
    assert all("leader" in selection.items for selection in drawn)
    assert all(len(selection) == 10 for selection in drawn)
    without = CanonicalBottom(10, 50, 1, "1e-8").release_many(histogram, 2000, replay("leader"))
    assert any("leader" not in selection.items for selection in without)


@pytest.mark.long
@pytest.mark.parametrize("others", [37, 58])
def test_a_clear_leader_is_never_missing_from_a_smaller_set(others: int) -> None:
    """One item far above three that lie about where a smaller set begins to stand: without a penalty at every size the
    leader is missing from a quarter of the answers, or from three in a thousand."""
    histogram = Histogram.from_counts({"leader": 1000, "a": others, "b": others, "c": others}, 20)
    missing = [
        math.fsum(chance for items, chance in law.items() if items and "leader" not in items)
        for kappa in ("0.05", 0)
        for law in [items_law(Staircase(5, 20, 1, "1e-8", kappa).law(histogram))]
    ]
    assert missing[0] < 1e-13
    assert missing[1] > 1e-3


def test_fewer_items_are_named_where_k_do_not_lead() -> None:
    """Three of ten stand out: three are named, and CanonicalBottom names none."""
    counts = {"a": 190, "b": 170, "c": 160, **{f"i{number:03}": 9 for number in range(200)}}
    histogram = Histogram.from_counts(counts, 100)
    drawn = Counter(Staircase(10, 100, 1, "1e-8").release_many(histogram, 500, replay("stairs")))
    assert drawn.most_common(1)[0][0] == Selection(frozenset("abc"), True)
    assert drawn[Selection(frozenset("abc"), True)] == 500
    assert not any(
        selection.items for selection in CanonicalBottom(10, 100, 1, "1e-8").release_many(histogram, 50, replay(1))
    )


def test_an_empty_histogram_is_a_stop() -> None:
    drawn = set(Staircase(2, 3, 1, "0.1").release_many(Histogram.from_counts({}, 3), 50, replay("empty")))
    assert drawn == {Selection(frozenset(), True)}


def test_a_set_of_empty_slots_only_names_nothing() -> None:
    """Levels pass now and then on empty slots alone; nothing but one outcome may tell."""
    law = Staircase(2, 3, 1, "0.5").law(Histogram.from_counts({}, 3))
    assert law == {Selection(frozenset(), True): pytest.approx(1)}


def test_a_short_list_is_named_whole() -> None:
    mechanism, short = Staircase(2, 5, 1, "0.1"), Histogram.over_domain({"a": 0})
    assert mechanism.release(short, replay(0)) == Selection(frozenset("a"), True)
    assert mechanism.law(short) == {Selection(frozenset("a"), True): 1.0}


def test_an_empty_list_is_a_stop() -> None:
    mechanism, empty = Staircase(2, 3, 1, "0.1"), Histogram.over_domain({})
    assert mechanism.release_many(empty, 2, replay(0)) == [Selection(frozenset(), True)] * 2
    assert mechanism.law(empty) == {Selection(frozenset(), True): 1.0}


@pytest.mark.statistics
def test_where_nothing_was_left_out_the_sampler_follows_the_law() -> None:
    histogram = Histogram.over_domain({"a": 5, "b": 4, "c": 1})
    mechanism = Staircase(2, 3, 1, "0.1", kappa="0.5")
    assert {len(selection) for selection in mechanism.law(histogram)} == {2}
    follows_its_law(mechanism, histogram, trials=50_000)


def test_counts_beyond_the_range_of_doubles_have_a_law() -> None:
    """Weights that no exponential function holds (warnings are errors)."""
    law = items_law(Staircase(2, 3, 50, "0.05").law(Histogram.from_counts({"a": 10**6, "b": 10**5, "c": 9}, 3)))
    assert law[frozenset("ab")] == pytest.approx(1)
    assert math.fsum(law.values()) == pytest.approx(1)
    far = Histogram.from_counts({"a": 2**62, "b": 2**61, "c": 9}, 3)
    assert Staircase(2, 3, 1, "1e-9").release(far, replay(0)).items == frozenset("ab")


def test_many_slots_do_not_overflow() -> None:
    mechanism = Staircase(100, 2000, 50, "1e-9")
    histogram = Histogram.from_counts({f"i{n:04}": 6000 - n for n in range(3000)}, 2000)
    assert len(mechanism.release(histogram, replay("wide"))) == 100
    with pytest.raises(ParameterError, match="small histograms only"):
        mechanism.law(histogram)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Staircase(3, 2, 1, "0.1"), "k_bar must be at least k"),
        (lambda: Staircase(1, 2, 0, "0.1"), "epsilon must be larger than zero"),
        (lambda: Staircase(1, 2, 1, 0), "delta must be larger than zero"),
        (lambda: Staircase(1, 2, 1, "0.1", kappa=-1), "kappa must not be negative"),
        (lambda: Staircase(1, 2, 1, "0.1", share=1), "share must be smaller than one"),
        (lambda: Staircase(2, 3, 1, "0.1").margin(items=3), "items must be at most k"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()


def test_raw_rows_are_refused() -> None:
    with pytest.raises(HistogramError, match="padding"):
        Staircase(1, 2, 1, "0.1").release(Histogram.from_counts({"a": 1}, 2, pad=False), replay(0))
