"""Errors that are stated cover the roundings that were made, and are not so wide that everything is decided slowly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical import gamma_one as canonical_lowest
from crestline.mechanisms.canonical import row_weights as canonical_weights
from crestline.mechanisms.canonical.gamma_one import LowestSizes
from crestline.mechanisms.canonical.lazy_winner import LazyClassNoise
from crestline.mechanisms.canonical.row_weights import _dense_row_weights, _sparse_row_weights, log_correlation
from crestline.mechanisms.canonical.sizes import size
from crestline.mechanisms.canonical.subset_classes import (
    ClassScores,
    ClassSizes,
    RowWeights,
    all_classes,
    subset_classes,
)
from crestline.mechanisms.public_list.joint_values import sequence_values
from crestline.randomness.entropy import replay

ULP = 2.0**-53  # one rounding
WIDEST = 2.0**8  # a bound more than this many times the roundings would send too much to slow comparisons

CLASSES = subset_classes(
    count_levels(Histogram.from_multiplicities({900: 2, 800: 1, 700: 3, 50: 40, 20: 1, 0: 10**6})),
    5,
    Fraction(1, 3),
    Fraction(1, 7),
)


def covered(error: float, roundings: float, widest: float = WIDEST) -> None:
    assert roundings * ULP <= error <= widest * roundings * ULP


def test_scores_of_classes() -> None:
    """The largest loss, 200 + 700 users, is rounded five times: a rate, a product, a sum, one with the shift, another
    with the size. The shift is rounded in itself and in two sums."""
    largest = (200 + 700) / 7
    covered(CLASSES.score_error, 5 * largest, widest=2)
    places = all_classes(CLASSES, range(CLASSES.rows))
    covered(ClassScores(CLASSES, *places).error, 5 * largest, widest=2)
    covered(ClassScores(CLASSES, *places, shift=Fraction(10**9)).error, 5 * largest + 3 * 10**9, widest=3)
    sizes = ClassSizes(CLASSES, *places)
    covered(sizes.error, (5 + 5) * float(sizes.approx.max()), widest=8)
    sized = ClassScores(CLASSES, *places, with_sizes=True).error
    covered(sized, 5 * largest + (5 + 5) * float(sizes.approx.max()), widest=8)
    steep = ClassScores(replace(CLASSES, rate=Fraction(10**9)), *places, with_sizes=True).error
    covered(steep, 5 * 900e9, widest=2)


@pytest.mark.parametrize("rank", [1, 7, 2_992, 9_054_000, 79_400_000_000_000])
def test_a_small_class_far_down(rank: int) -> None:
    """One subset, as the quotient of two large numbers: five roundings of their logarithms remain, and five of one.

    The size of the class itself does not show them.
    """
    histogram = Histogram.from_multiplicities({9: 1, 8: rank, 7: 1, 0: 5})
    classes = subset_classes(count_levels(histogram), 1, Fraction(1, 3), Fraction(1, 7))
    sizes = ClassSizes(classes, np.array([2]), np.array([0]))
    assert classes.exact_size(2, 0) == 1
    assert abs(sizes.approx[0]) <= sizes.error
    covered(sizes.error, 5 * (1 + math.log1p(rank)), widest=2)
    lowest = LowestSizes(1, np.array([rank]), np.array([rank]))
    logs, error = lowest._sparse_log_sizes(lowest.first, lowest.last)
    assert abs(logs[0]) <= error
    covered(error, 5 * (1 + math.log1p(rank)), widest=2)


def test_weights_of_rows() -> None:
    """Terms of up to k ln(last + 1), and shifts, in sums of k terms; both ways state an error of their own."""
    shifts = np.array([0.0, -3.0, -50.0])
    a, b = np.array([0, 4, 9]), np.array([3, 8, 400])
    _, error = _sparse_row_weights(a, b, shifts)
    covered(error, 3 + (3 + 8) * 3 * math.log(401) + 3 * 50, widest=4)
    _, error = _dense_row_weights(a, b, shifts)
    covered(error, 21 * math.lgamma(405) + 2**9 + 7 * 50, widest=8)
    _, wide = _sparse_row_weights(a, b, 1e9 * shifts)
    covered(wide, 3 * 50e9, widest=3)
    _, wide = _dense_row_weights(a, b, 1e9 * shifts)
    covered(wide, 7 * 50e9, widest=5)
    _, far = _dense_row_weights(np.array([0]), np.array([200_000]), shifts)
    covered(far, 21 * math.lgamma(200_004), widest=2)
    steep = replace(CLASSES, rate=Fraction(10**9))
    covered(RowWeights(steep).error, (5 + 5) * 900e9, widest=2)
    weights = RowWeights(CLASSES)
    covered(weights.error, 5 * (200 + 700) / 7 + (5 + 8) * 5 * math.log(10**6), widest=16)


def test_weights_of_single_ranks() -> None:
    """A sum of one term is rounded as its size is; a sum of many once more for each tile."""
    one = np.array([0])
    covered(_sparse_row_weights(one, one, np.zeros(1))[1], 5, widest=2)
    covered(_sparse_row_weights(one, one + 10**9, np.zeros(1))[1], 7 * math.log(10**9), widest=2)
    covered(_dense_row_weights(one, one, np.zeros(16 << 9))[1], (20 + 16) * math.lgamma(16 << 9), widest=8)


def test_both_ways_agree_where_sums_have_many_tiles() -> None:
    """2,500 shifts: within wider tiles the terms would underflow."""
    a = np.array([0, 1, 40, 600])
    b = np.append(a[1:] - 1, 1_300)
    shifts = -0.01 * np.arange(2_500.0)
    close, error = _dense_row_weights(a, b, shifts)
    plain, other = _sparse_row_weights(a, b, shifts)
    assert np.abs(close - plain).max() <= error + other
    assert error + other < 1e-6


def test_sizes_of_lowest_classes() -> None:
    sizes = LowestSizes(4, np.array([0, 3]), np.array([2, 500]))
    _, error = sizes._dense_log_sizes(sizes.first, sizes.last)
    covered(error, 15 * math.lgamma(505), widest=2)
    logs, error = sizes._sparse_log_sizes(sizes.first, sizes.last)
    covered(error, (4 + 5) * float(logs.max()), widest=6)


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_rows_on_their_own_may_be_many(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many fit into memory at once: the same numbers, in the same order, and those of the whole numbers."""
    a = np.array([0, 5, 6, 100, 4_000])
    b = np.array([4, 5, 99, 3_999, 10**9])
    shifts = np.array([0.0, -1.0, -2.5])
    for module in (canonical_lowest, canonical_weights):
        monkeypatch.setattr(module, "_CELLS", 3 * rows)
    logs, error = LowestSizes(3, a, b)._sparse_log_sizes(a, b)
    found, wide = _sparse_row_weights(a, b, shifts)
    for row, (first, last) in enumerate(zip(a.tolist(), b.tolist(), strict=True)):
        number = [size(first, last, m) for m in range(3)]
        assert abs(logs[row] - math.log(number[2])) <= error
        assert abs(found[row] - math.log(sum(number * np.exp(shifts)))) <= wide
    assert len(logs) == len(found) == len(a)


def test_values_of_sequences() -> None:
    """Sums over as many events as there are groups within reach of each of the k places."""
    counts = {f"i{n}": 10 * n for n in range(50)}
    values = sequence_values(count_levels(Histogram.over_domain(counts)), 3, Fraction(1, 10))
    events = 3 + sum(range(47, 50))
    everything = sum(math.log(n) for n in (50, 49, 48))
    covered(values.error, events * everything + (490 + values.horizon) / 10)


def test_arrivals_within_a_row() -> None:
    row, m = all_classes(CLASSES, range(CLASSES.rows))
    entropy, weights = replay("arrivals"), RowWeights(CLASSES)
    draws = LazyClassNoise(
        CLASSES, weights, entropy.uniforms(1, CLASSES.rows), entropy.uniforms(1, len(row)), row, m, m == 0
    )
    own = draws._rounding_error - weights.error - draws._scores.error - draws._sizes.error
    covered(own, 3 * (45 + np.abs(weights.approx).max()), widest=3)
    none: Any = SimpleNamespace(approx=np.zeros(CLASSES.rows), error=0.0)
    own = replace(draws, weights=none)._rounding_error - draws._scores.error - draws._sizes.error
    covered(own, 3 * 45, widest=2)  # the largest Gumbel value of 64 bits
    wide: Any = SimpleNamespace(approx=np.array([0.0, -1e9, 3.0]), error=0.0)
    covered(replace(draws, weights=wide)._rounding_error, 3e9, widest=3)
    assert draws.error == 32 * draws._rounding_error


@pytest.mark.parametrize(("first", "many", "k"), [(0, 1, 1), (3, 5, 2), (0, 1_500, 700), (600, 3, 1_300)])
def test_a_correlation_is_the_sum_of_its_definition(first: int, many: int, k: int) -> None:
    """Within one tile and across several, term by term in logarithms."""
    values = np.array([math.lgamma(n + 1) for n in range(first + many + k)])
    others = -np.array([math.lgamma(n + 1) for n in range(k)]) - 0.01 * np.arange(k)
    found = log_correlation(values, others, first, many)
    for q in {0, many // 2, many - 1}:
        plain = np.logaddexp.reduce(values[first + q : first + q + k] + others)
        assert found[q] == pytest.approx(plain, rel=1e-12)
