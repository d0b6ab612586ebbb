"""The engine against a slow reference, for every law, any number of first bits, and bits chosen to be hard."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.randomness import reference
from tests.randomness.reference import rational, uniform, value

from crestline.randomness import compare as comparison
from crestline.randomness.compare import (
    _largest_by_doubles,
    _overlapping_runs,
    exceeds_threshold,
    largest_columns,
    round_to_grid,
)
from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import ln
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws import LAWS
from crestline.randomness.scores import EqualScores, LinearScores, LogScores, RealScores, concat_scores
from crestline.randomness.shortlist import Shortlist, build_shortlists
from crestline.randomness.uniforms import Uniforms

FIRST_BITS = (1, 3, 17, 53, 64)

# Words that are hard on purpose: equal, neighbouring, at both ends, around one half.
HARD = [0, 1, 2, 2**40 - 1, 2**40, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**40, 2**64 - 2, 2**64 - 1]


def hard_uniforms(rows: int, columns: int, seed: int, first_bits: int) -> Uniforms:
    """A table full of hard words whose tails differ: only refinement can tell them apart."""
    made = random.Random(seed)
    words = [made.choice([*HARD, made.getrandbits(64)]) for _ in range(rows * columns)]
    tails = {index: made.getrandbits(4096) for index in range(rows * columns)}
    table = np.array(words, dtype=np.uint64).reshape(rows, columns)
    return Uniforms(table, first_bits, lambda index, bits: tails[index] >> (4096 - bits))


def counts_of(seed: int, columns: int) -> np.ndarray:
    return np.array([random.Random(seed + i).choice([0, 1, 2, 2, 7, 10**6]) for i in range(columns)], dtype=np.int64)


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first_bits", FIRST_BITS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([Fraction(1), Fraction(-3, 2), Fraction(1, 1000)]))
def test_largest_agrees_with_the_reference(law: str, first_bits: int, seed: int, scale: Fraction) -> None:
    columns, k = 9, 4
    uniforms = hard_uniforms(2, columns, seed, first_bits)
    counts, rate = counts_of(seed, columns - 1), Fraction(1, 3)
    scores = concat_scores(LinearScores(counts, rate), RealScores([ln(Fraction(7, 2)) + 1]))
    found = largest_columns(build_keys(scores, LAWS[law], uniforms, scale=scale), k)
    with mpmath.workprec(reference.BITS + 100):
        exact = [*(rational(rate * int(count)) for count in counts), mpmath.log(mpmath.mpf(7) / 2) + 1]
        for row in range(2):
            truth = [value(exact[c], law, uniform(uniforms, row * columns + c), scale) for c in range(columns)]
            assert found[row].tolist() == sorted(range(columns), key=lambda c: -truth[c])[:k]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first_bits", FIRST_BITS)
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_exceeding_agrees_with_the_reference(law: str, first_bits: int, seed: int) -> None:
    uniforms, bar = hard_uniforms(3, 4, seed, first_bits), hard_uniforms(3, 1, seed + 1, first_bits)
    counts = counts_of(seed, 4)
    tested = build_keys(LinearScores(counts, Fraction(1, 2)), LAWS[law], uniforms)
    threshold = build_keys(EqualScores(1, ln(3)), LAWS["laplace"], bar, scale=Fraction(2))
    found = exceeds_threshold(tested, threshold)
    with mpmath.workprec(reference.BITS + 100):
        for row in range(3):
            limit = value(mpmath.log(3), "laplace", uniform(bar, row), Fraction(2))
            for column in range(4):
                score = rational(Fraction(int(counts[column]), 2))
                assert found[row, column] == (value(score, law, uniform(uniforms, row * 4 + column)) > limit)
    chosen = np.array([[3, 1], [0, 2], [2, 3]])
    assert (exceeds_threshold(tested, threshold, chosen) == np.take_along_axis(found, chosen, axis=1)).all()


def test_exceeding_compares_column_by_column_where_there_are_as_many_thresholds() -> None:
    first = build_keys(EqualScores(3), LAWS["gumbel"], replay("first").uniforms(50, 3))
    second = build_keys(EqualScores(3), LAWS["gumbel"], replay("second").uniforms(50, 3))
    assert (exceeds_threshold(first, second) == (first.rough_values > second.rough_values)).all()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first_bits", FIRST_BITS)
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), grid=st.sampled_from([Fraction(1), Fraction(1, 8), Fraction(10)]))
def test_rounded_agrees_with_the_reference(law: str, first_bits: int, seed: int, grid: Fraction) -> None:
    uniforms = hard_uniforms(2, 3, seed, first_bits)
    found = round_to_grid(
        build_keys(LinearScores(np.array([5, 6, 7]), Fraction(1)), LAWS[law], uniforms, scale=Fraction(5)), grid
    )
    with mpmath.workprec(reference.BITS + 100):
        for row in range(2):
            for column in range(3):
                truth = value(mpmath.mpf(5 + column), law, uniform(uniforms, row * 3 + column), Fraction(5))
                assert found[row, column] == int(mpmath.floor(truth / rational(grid) + mpmath.mpf(1) / 2))


@pytest.mark.parametrize("first_bits", [3, 64])
def test_rounding_the_chosen_columns_is_rounding_all_and_choosing(first_bits: int) -> None:
    table = build_keys(
        LinearScores(np.arange(4), Fraction(7)), LAWS["laplace"], replay("r", first_bits=first_bits).uniforms(9, 4)
    )
    chosen = largest_columns(table, 2)
    everything = round_to_grid(table, Fraction(1, 4))
    assert (round_to_grid(table, Fraction(1, 4), chosen) == np.take_along_axis(everything, chosen, axis=1)).all()


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("first_bits", [2, 64])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6))
def test_the_largest_of_many_copies_agrees_with_the_reference(law: str, first_bits: int, seed: int) -> None:
    copies = (1, 2, 1000, 10**10, 10**40)
    uniforms = hard_uniforms(2, len(copies), seed, first_bits)
    table = Keys(EqualScores(len(copies)), LAWS[law], OnePerKey(uniforms, LogScores(copies)))
    found = largest_columns(table, 3)
    with mpmath.workprec(reference.BITS + 300):
        for row in range(2):
            truth = [
                value(mpmath.mpf(0), law, uniform(uniforms, row * len(copies) + c), copies=n)
                for c, n in enumerate(copies)
            ]
            assert found[row].tolist() == sorted(range(len(copies)), key=lambda c: -truth[c])[:3]


def test_equal_words_are_told_apart_by_their_tails() -> None:
    tails = {0: 1, 1: 3, 2: 2}
    table = Uniforms(np.full((1, 3), 2**63 + 5, dtype=np.uint64), 64, lambda index, bits: tails[index] << (bits - 2))
    assert largest_columns(build_keys(EqualScores(3), LAWS["gumbel"], table), 3).tolist() == [[1, 2, 0]]


def test_decisions_do_not_depend_on_the_first_bits() -> None:
    counts = np.arange(40, dtype=np.int64) // 4
    for law in LAWS.values():
        orders = [
            largest_columns(
                build_keys(LinearScores(counts, Fraction(1, 5)), law, replay("same", first_bits=bits).uniforms(5, 40)),
                7,
            ).tolist()
            for bits in (5, 30, 64)
        ]
        assert orders[0] == orders[1] == orders[2]


def test_decisions_on_long_rows_do_not_depend_on_the_first_bits() -> None:
    """Most uniforms are never drawn when 64 bits come first: the winners are the same."""
    counts = np.random.default_rng(3).permutation(np.arange(1100, dtype=np.int64) // 2)
    for law in LAWS.values():
        orders = [
            largest_columns(
                build_keys(
                    LinearScores(counts, Fraction(1, 50)), law, replay("long", first_bits=bits).uniforms(4, 1100)
                ),
                9,
            ).tolist()
            for bits in (40, 64)
        ]
        assert orders[0] == orders[1]


def test_scores_may_differ_from_row_to_row() -> None:
    counts = np.array([[0, 10**6], [10**6, 0]], dtype=np.int64)
    found = largest_columns(
        build_keys(LinearScores(counts, Fraction(1)), LAWS["gumbel"], replay("rows").uniforms(2, 2)), 1
    )
    assert found.tolist() == [[1], [0]]


def test_nothing_wanted_and_no_trials_are_legal() -> None:
    table = build_keys(EqualScores(3), LAWS["gumbel"], replay("none").uniforms(2, 3))
    assert largest_columns(table, 0).shape == (2, 0)
    assert largest_columns(build_keys(EqualScores(3), LAWS["gumbel"], replay("none").uniforms(0, 3)), 2).shape == (0, 2)
    assert largest_columns(table, 3).shape == (2, 3)


def test_where_nothing_is_wanted_no_key_is_looked_at() -> None:
    class Shape:
        shape = (3, 5)

    assert largest_columns(Shape(), 0).shape == (3, 0)  # type: ignore[arg-type] # as much of keys as may be used
    assert largest_columns(
        build_keys(EqualScores(3000), LAWS["gumbel"], replay("none").uniforms(0, 3000)), 2
    ).shape == (0, 2)
    assert largest_columns(build_keys(EqualScores(1), LAWS["gumbel"], replay("one").uniforms(1, 1)), 1).tolist() == [
        [0]
    ]


def gaps(*values: float) -> Shortlist:
    return Shortlist(np.array([values]), np.zeros((1, len(values)), dtype=np.bool_))


@pytest.mark.parametrize("filler", [0, 40])
def test_an_order_is_certain_beyond_two_margins(filler: int) -> None:
    """Two keys may each be off by a margin. Sorted whole, or partitioned first."""
    low = [-100.0 - 10 * i for i in range(filler)]
    places, sure = _largest_by_doubles(gaps(1.0, 2.05, 3.1, *low), 3, 0.5)
    assert (places.tolist(), sure.tolist()) == ([[2, 1, 0]], [True])
    assert _largest_by_doubles(gaps(1.0, 1.95, 3.0, *low), 3, 0.5)[1].tolist() == [False]
    assert _largest_by_doubles(gaps(1.0, 2.05, 3.0, *low), 3, 0.5)[1].tolist() == [False]
    assert _largest_by_doubles(gaps(1.0, 2.0, 3.5, *low), 3, 0.5)[1].tolist() == [False]


def test_a_key_that_is_certainly_among_the_largest_or_not_need_not_contend() -> None:
    """Within two margins of the k-th largest trusted value, or not to be trusted."""
    values = np.array([[9.0, 5.0, 4.05, 3.95, 4.0, -50.0, 1.0]])
    edge = np.array([[False, False, False, False, True, True, False]])
    kept = Shortlist(values, edge)
    assert kept.contenders(0, 2, 0.5) == [0, 1, 2, 4, 5]
    assert kept.contenders(0, 5, 0.5) == list(range(7))
    assert kept.contenders(0, 6, 0.5) == list(range(7))
    present = np.array([[True, True, True, True, False, True, True]])
    some = Shortlist(values, edge, np.array([[7, 6, 5, 4, 3, 2, 1]]), present)
    assert some.contenders(0, 2, 0.5) == [7, 6, 5, 2]
    assert Shortlist(np.array([[9.0, 5.0, 4.0, 3.9]]), np.zeros((1, 4), dtype=np.bool_)).contenders(0, 2, 0.5) == [
        0,
        1,
        2,
    ]
    assert Shortlist(values, np.ones((1, 7), dtype=np.bool_)).contenders(0, 2, 0.5) == list(range(7))


class Placed:
    """Keys at given places, with a given margin; which of them are decided with care is noted."""

    def __init__(self, rough: list[list[float]], error: float, edge: list[list[bool]] | None = None) -> None:
        self.rough_values, self.error = np.array(rough), error
        self.unreliable = np.zeros(self.rough_values.shape, dtype=np.bool_) if edge is None else np.array(edge)
        self.shape = self.rough_values.shape


def test_a_comparison_is_certain_beyond_both_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def careful(_: object, __: object, row: int, column: int, beside: int) -> bool:
        asked.append((row, column, beside))
        return True

    monkeypatch.setattr(comparison, "_exceeds_exactly", careful)
    tested = Placed([[10.0, 4.1, 3.9, -4.1, -4.0, -10.0]], 1.0)
    against = Placed([[0.0]], 3.0)
    found = exceeds_threshold(tested, against)  # type: ignore[arg-type] # as much of keys as is used
    assert found.tolist() == [[True, True, True, False, True, False]]
    assert asked == [(0, 2, 0), (0, 4, 0)]
    asked.clear()
    beside = Placed([[20.0, 4.1], [4.0, 4.0]], 0.5, [[False, False], [True, False]])
    found = exceeds_threshold(Placed([[10.0, 4.0], [5.0, 9.0]], 0.5), beside)  # type: ignore[arg-type] # as above
    assert found.tolist() == [[False, True], [True, True]]
    assert asked == [(0, 1, 1), (1, 0, 0)]


@pytest.mark.parametrize("step", [Fraction(1, 2**30), Fraction(1, 3), Fraction(10**6)])
def test_keys_beside_the_middle_of_two_grid_points_are_rounded_right(step: Fraction) -> None:
    """The grid is chosen so that each key lies 10^-12 (relative) above or below a middle: doubles cannot tell."""
    table = build_keys(
        LinearScores(np.array([5, -6, 7]), Fraction(3)), LAWS["laplace"], replay("middle").uniforms(20, 3)
    )
    for row in range(20):
        for column in range(3):
            exact = Fraction(str(table.ball(row, column, 256).mid().str(50, radius=False)))
            whole = exact // step
            for off in (Fraction(1, 10**12), -Fraction(1, 10**12)):
                grid = exact / (whole + Fraction(1, 2) + off) if whole + Fraction(1, 2) + off else step
                if grid <= 0:
                    continue
                chosen = np.full((20, 1), column)
                assert round_to_grid(table, grid, chosen)[row, 0] == whole + (off > 0)


@pytest.mark.parametrize("grid", [Fraction(1, 64), Fraction(1), Fraction(2**30)])
def test_rounding_needs_care_hardly_ever(monkeypatch: pytest.MonkeyPatch, grid: Fraction) -> None:
    """About `2 · margin / grid` of 20 000 keys: none is expected on any but the finest grid, and there one."""
    asked: list[int] = []
    monkeypatch.setattr(comparison, "_nearest_multiple", lambda keys, row, column, grid: asked.append(column) or 0)
    table = build_keys(LinearScores(np.arange(4), Fraction(7)), LAWS["laplace"], replay("care").uniforms(5000, 4))
    round_to_grid(table, grid)
    assert len(asked) <= 10


def test_refinement_is_rare_in_production() -> None:
    """About one row in a thousand leaves the fast path; a margin that grew would show here."""
    counts = (5000 / np.arange(1, 5001)).astype(np.int64)
    table = build_keys(LinearScores(counts, Fraction(1, 10)), LAWS["gumbel"], replay("rare").uniforms(400, 5000))
    _, sure = _largest_by_doubles(next(build_shortlists(table, 101))[1], 101, table.error)
    assert np.count_nonzero(~sure) <= 20


def test_only_keys_whose_ends_overlap_are_compared_by_balls() -> None:
    """The second key and the third overlap, the fourth reaches neither, and the last lies within the one before."""
    low = np.array([9.0, 7.0, 4.9, 3.0, 0.0, 0.5])
    high = np.array([10.0, 8.0, 7.5, 4.0, 2.0, 1.0])
    assert _overlapping_runs(low, high) == [slice(0, 1), slice(1, 3), slice(3, 4), slice(4, 6)]
    assert _overlapping_runs(low[:1], high[:1]) == [slice(0, 1)]
    assert _overlapping_runs(np.array([5.0, 3.0]), np.array([6.0, 5.0])) == [slice(0, 2)]  # ends that touch
    wide = np.array([10.0, 0.5, 0.5])  # the first reaches down to all
    assert _overlapping_runs(np.array([0.0, 0.4, 0.2]), wide) == [slice(0, 3)]
    assert _overlapping_runs(np.array([5.0, 4.0, 0.0]), np.array([6.0, 4.5, 9.0])) == [slice(0, 3)]


def test_a_number_is_certain_beyond_a_margin_from_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a grid of 4 the number 1 is a quarter of a step from the middle of two multiples: one unit."""
    asked: list[int] = []
    monkeypatch.setattr(comparison, "_nearest_multiple", lambda keys, row, column, grid: asked.append(column) or 7)
    for error, careful in ((0.75, []), (1.0, [0, 1])):
        asked.clear()
        found = round_to_grid(Placed([[1.0, -5.0]], error), Fraction(4))  # type: ignore[arg-type] # as above
        assert asked == careful
        assert found.tolist() == [[7, 7] if careful else [0, -1]]


def test_only_gaps_that_matter_must_be_certain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the keys that are not wanted, only the largest says something about those that are."""
    wanted: list[int] = []

    def listed(_: object, many: int) -> list[tuple[int, Shortlist]]:
        wanted.append(many)
        return [(0, gaps(5.0, 9.0, 5.1, 1.0, 20.0))]

    monkeypatch.setattr(comparison, "build_shortlists", listed)
    monkeypatch.setattr(comparison, "_largest_by_bounds", lambda keys, row, columns, k: [-1] * k)
    for k, found in ((1, [4]), (2, [4, 1]), (3, [-1, -1, -1]), (5, [-1] * 5)):
        assert largest_columns(Placed([[0.0] * 5], 0.5), k).tolist() == [found]  # type: ignore[arg-type] # as above
    assert wanted == [2, 3, 4, 5]


class Ends:
    """Keys between given ends, and what their balls would say."""

    class draws:
        first_bits = 64

    def __init__(self, low: list[float], high: list[float], *balls: float) -> None:
        self.low, self.high, self.balls, self.asked = np.array(low), np.array(high), balls, 0

    def key_bounds(self, row: int, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        return self.low[columns], self.high[columns]

    def ball(self, row: int, column: int, bits: int) -> arb:
        self.asked += 1
        return arb(self.balls[column])


def test_ends_that_touch_decide_nothing() -> None:
    """A key may be as high as its upper end and a threshold as low as its lower one: the balls decide."""
    for low, bottom, key, bar in ((1.0, 0.0, 0.0, 3.0), (0.0, 1.0, 3.0, 0.0)):
        tested, against = Ends([low], [low + 1], key), Ends([bottom], [bottom + 1], bar)
        assert comparison._exceeds_exactly(tested, against, 0, 0, 0) == (key > bar)  # type: ignore[arg-type] # as above
        assert tested.asked == against.asked == 1


def test_balls_that_touch_decide_nothing() -> None:
    """Two keys that may be equal are refined; so they are until one lies above the other."""
    keys, one = Ends([], []), arb(0, 1).rad()  # as a ball rounds it
    for low, high in ((-one, one), (one, -one)):
        asked: list[int] = []

        def first(bits: int, low: arb = low, asked: list[int] = asked) -> arb:
            asked.append(bits)
            return arb(low, 1) if bits == 64 else -low

        def second(bits: int, high: arb = high) -> arb:
            return arb(high, 1) if bits == 64 else -high

        assert comparison._is_less(first, second, keys) == (low > high)  # type: ignore[arg-type] # as above
        assert len(asked) == 2


def test_keys_below_the_wanted_ones_are_not_compared() -> None:
    """The two largest keys lie apart, and the two that overlap are not wanted."""
    bounds = Ends([1.0, 10.0, 2.0, 8.0], [3.0, 11.0, 4.0, 9.0], 2.0, 10.0, 3.0, 8.0)
    assert comparison._largest_by_bounds(bounds, 0, [0, 1, 2, 3], 2) == [1, 3]  # type: ignore[arg-type] # as above
    assert bounds.asked == 0
    assert comparison._largest_by_bounds(bounds, 0, [0, 1, 2, 3], 3) == [1, 3, 2]  # type: ignore[arg-type] # as above
    assert bounds.asked > 0
