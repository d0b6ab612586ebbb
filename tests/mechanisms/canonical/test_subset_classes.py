"""The classes of the canonical mechanism: sizes as whole numbers, weights in logarithms, against plain counting."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from flint import ctx
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.gamma_one import lowest_classes
from crestline.mechanisms.canonical.row_weights import _dense_row_weights, _sparse_row_weights, row_weights
from crestline.mechanisms.canonical.sizes import (
    _least_rank_above,
    draw_lowest_rank,
    log_factorials,
    log_sizes,
    log_sum,
    size,
    sizes,
)
from crestline.mechanisms.canonical.subset_classes import (
    ClassScores,
    ClassSizes,
    RowWeights,
    all_classes,
    subset_classes,
)
from crestline.randomness.entropy import replay
from crestline.randomness.uniforms import Uniforms


@pytest.mark.parametrize("gamma", [Fraction(0), Fraction(3, 10)])
def test_the_classes_are_the_subsets_counted_one_by_one(gamma: Fraction) -> None:
    counts = {"a": 5, "b": 5, "c": 3, "d": 2, "e": 2, "f": 2, "g": 0}
    histogram, k = Histogram.over_domain(counts), 3
    classes = subset_classes(count_levels(histogram), k, gamma, Fraction(1))
    ranked = histogram.counts
    plain: Counter[Fraction] = Counter()
    for subset in combinations(range(7), k):
        inside = min(ranked[i] for i in subset)
        outside = max(ranked[i] for i in range(7) if i not in subset)
        loss = (1 - gamma) * max(outside, inside) - gamma * inside
        plain[-loss + (1 - 2 * gamma) * ranked[k - 1]] += 1
    found: Counter[Fraction] = Counter()
    for row in range(classes.rows):
        for m in range(k if row else 1):
            found[classes.exact_score(row, m)] += classes.exact_size(row, m)
    assert found == plain
    places = all_classes(classes, range(classes.rows))
    exact = [classes.exact_score(row, m) for row, m in zip(*(part.tolist() for part in places), strict=True)]
    assert ClassScores(classes, *places).approx == pytest.approx([float(score) for score in exact], rel=1e-15)
    assert classes.rows == (2 if gamma == 0 else 3)  # the lowest rank does not matter at 0


@given(a=st.integers(0, 40), length=st.integers(0, 30), k=st.integers(1, 12))
def test_sizes_add_up_binomials(a: int, length: int, k: int) -> None:
    b = a + length
    plain = [sum(math.comb(q + m, m) for q in range(a, b + 1)) for m in range(k)]
    assert list(sizes(a, b, k)) == [size(a, b, m) for m in range(k)] == plain
    logs = log_sizes(np.array([a]), np.array([b]), k)[0]
    assert logs == pytest.approx(np.log(plain), abs=1e-12)


def test_log_factorials_are_good_to_the_last_bits() -> None:
    table = log_factorials(30_000)
    for n in [*range(60), 1_000, 30_000]:
        with ctx.workprec(200):
            from flint import arb, fmpz

            exact = float(arb(fmpz(math.factorial(n))).log().mid())
        assert abs(table[n] - exact) <= 2.0**-50 * (1 + exact)


@pytest.mark.parametrize("spread", [0.0, 3.0, 1e3, 1e6])
@pytest.mark.parametrize(("first", "length", "k"), [(0, 1, 1), (0, 700, 3), (5, 1200, 700), (40, 30, 1500)])
def test_both_ways_to_weigh_rows_agree(spread: float, first: int, length: int, k: int) -> None:
    """All ranks at once, by correlation, against row by row; runs of ranks of different lengths."""
    starts = np.unique(np.concatenate([[0], np.random.default_rng(1).integers(0, length, length // 3)]))
    a, b = first + starts, first + np.append(starts[1:], length) - 1
    shifts = -np.sort(np.random.default_rng(2).random(k)) * spread
    close, error = _dense_row_weights(a, b, shifts)
    plain, other = _sparse_row_weights(a, b, shifts)
    assert np.abs(close - plain).max() <= error + other
    assert error < 1e-8 + spread * 1e-14
    assert other < 1e-6


def test_class_sizes_add_up_to_all_subsets_of_a_long_list() -> None:
    """d = 20,000, k = 1,000: C(d, k) has 1,723 digits; its logarithm comes out, and probabilities add up to one."""
    histogram = Histogram.over_domain({n: 10**6 // (n + 1) for n in range(20_000)})
    flat = RowWeights(subset_classes(count_levels(histogram), 1_000, Fraction(1, 2), Fraction(1, 10**12)))
    assert log_sum(flat.approx) == pytest.approx(math.log(math.comb(20_000, 1_000)), abs=1e-4)
    every = row_weights(np.arange(19_000), np.arange(19_000), np.zeros(1_000))[0]
    assert log_sum(np.append(every, 0.0)) == pytest.approx(math.log(math.comb(20_000, 1_000)), abs=1e-8)
    for gamma in (Fraction(0), Fraction(1, 3), Fraction(1, 2)):
        weights = RowWeights(subset_classes(count_levels(histogram), 1_000, gamma, Fraction(1, 10))).approx
        assert np.isfinite(weights).all()
        probabilities = np.exp(weights - log_sum(weights))
        assert probabilities.sum() == pytest.approx(1, abs=1e-9)
    lowest_only = lowest_classes(count_levels(histogram), 1_000, Fraction(1, 10))
    assert log_sum(lowest_only.sizes.approx) == pytest.approx(math.log(math.comb(20_000, 1_000)), abs=1e-8)


def test_row_weights_lie_within_their_balls() -> None:
    histogram = Histogram.from_multiplicities({90: 2, 80: 1, 70: 3, 5: 40, 2: 1, 0: 10**9})
    weights = RowWeights(subset_classes(count_levels(histogram), 5, Fraction(1, 3), Fraction(1, 7)))
    for row in range(weights.classes.rows):
        with ctx.workprec(200):
            assert abs(float(weights.ball(0, row).mid()) - weights.approx[row]) <= weights.error


def test_class_scores_and_sizes_lie_within_their_balls() -> None:
    histogram = Histogram.from_multiplicities({90: 2, 80: 1, 70: 3, 5: 40, 2: 1, 0: 10**9})
    classes = subset_classes(count_levels(histogram), 5, Fraction(1, 3), Fraction(1, 7))
    places = all_classes(classes, range(classes.rows))
    assert len(places[0]) == 1 + 5 * (classes.rows - 1)
    for scores in (ClassSizes(classes, *places), ClassScores(classes, *places), ClassScores(classes, *places, True)):
        for column in range(len(places[0])):
            with ctx.workprec(200):
                assert abs(float(scores.ball(0, column).mid()) - scores.approx[column]) <= scores.error


def test_scores_of_lowest_classes_are_relative_to_the_best_k() -> None:
    """However large the counts: what is left of them keeps its digits."""
    counts = {10**15 + 9: 2, 10**15 + 7: 3, 10**15 + 5: 1, 10**15: 4}
    scores = lowest_classes(count_levels(Histogram.from_multiplicities(counts)), 4, Fraction(1, 2)).scores
    assert scores.approx.tolist() == [0.0, -1.0, -3.5]
    assert scores.error < 1e-14


def test_sizes_of_lowest_classes_lie_within_their_balls() -> None:
    for how_many in ({9: 2, 7: 3, 5: 1, 1: 4}, {9: 2, 7: 3, 5: 1, 0: 10**12}):
        sizes_of = lowest_classes(count_levels(Histogram.from_multiplicities(how_many)), 4, Fraction(1)).sizes
        for column in range(len(sizes_of.approx)):
            with ctx.workprec(200):
                assert abs(float(sizes_of.ball(0, column).mid()) - sizes_of.approx[column]) <= sizes_of.error


def test_the_lowest_rank_is_drawn_by_its_number_of_subsets() -> None:
    """Chi-square, significance 1e-9; and the ends of the range are reached at the ends of the uniform."""
    uniforms = replay("lowest").uniforms(20_000, 1)
    drawn = Counter(draw_lowest_rank(2, 6, 3, uniforms, index) for index in range(20_000))
    weights = np.array([math.comb(q + 3, 3) for q in range(2, 7)], dtype=float)
    expected = weights / weights.sum() * 20_000
    assert chisquare([drawn[q] for q in range(2, 7)], expected).pvalue > 1e-9
    assert chisquare([drawn[q] for q in range(2, 7)], np.full(5, 4_000.0)).pvalue < 1e-9
    for q in (0, 10**9, 10**10):  # rounding of doubles is far larger than one rank here
        number = math.comb(q + 1_000, 1_000)
        assert _least_rank_above(number - 1, 0, 10**10, 1_000) == q
        assert _least_rank_above(number, 0, 10**10, 1_000) == min(q + 1, 10**10)
    ends = Uniforms(np.array([[0], [2**64 - 1]], dtype=np.uint64), 64, lambda index, bits: index * (2**bits - 1))
    assert draw_lowest_rank(2, 6, 3, ends, 0) == 2
    assert draw_lowest_rank(2, 6, 3, ends, 1) == 6
