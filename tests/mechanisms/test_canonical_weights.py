"""Errors that are stated cover the roundings that were made, and are not so wide that everything is decided slowly."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical_classes import ClassScores, ClassSizes, RowWeights, classes_of, every_class
from crestline.mechanisms.canonical_lowest import LowestSizes
from crestline.mechanisms.canonical_reveal import Revealed
from crestline.mechanisms.canonical_weights import _neighbouring, _scattered, correlation
from crestline.mechanisms.joint_values import values_of
from crestline.mechanisms.universe import universe
from crestline.randomness.entropy import replay

ULP = 2.0**-53  # one rounding
WIDEST = 2.0**8  # a bound more than this many times the roundings would send too much to slow comparisons

CLASSES = classes_of(
    universe(Histogram.from_multiplicities({900: 2, 800: 1, 700: 3, 50: 40, 20: 1, 0: 10**6})),
    5,
    Fraction(1, 3),
    Fraction(1, 7),
)


def covered(error: float, roundings: float) -> None:
    assert roundings * ULP <= error <= WIDEST * roundings * ULP


def test_scores_of_classes() -> None:
    """The largest loss, 200 + 700 users, is rounded when it is scaled and when its two parts are added."""
    largest = (200 + 700) / 7
    covered(CLASSES.score_error, 2 * largest)
    places = every_class(CLASSES, range(CLASSES.rows))
    covered(ClassScores(CLASSES, *places).error, 4 * largest)
    covered(ClassScores(CLASSES, *places, shift=Fraction(10**6)).error, 4 * largest + 10**6)
    sizes = ClassSizes(CLASSES, *places)
    covered(sizes.error, 5 * float(sizes.approx.max()))
    covered(ClassScores(CLASSES, *places, sized=True).error, 4 * largest + 5 * float(sizes.approx.max()))


def test_weights_of_rows() -> None:
    """Terms of up to k ln(last + 1), and shifts, in sums of k terms; both ways state an error of their own."""
    shifts = np.array([0.0, -3.0, -50.0])
    a, b = np.array([0, 4, 9]), np.array([3, 8, 400])
    _, error = _scattered(a, b, shifts)
    covered(error, 3 + 3 * 3 * math.log(401) + 50)
    _, error = _neighbouring(a, b, shifts)
    covered(error, 4 * math.lgamma(405) + 2**9 + 50)
    _, wide = _scattered(a, b, 1e9 * shifts)
    covered(wide, 50e9)
    _, wide = _neighbouring(a, b, 1e9 * shifts)
    covered(wide, 2 * 50e9)
    _, far = _neighbouring(np.array([0]), np.array([200_000]), shifts)
    covered(far, 4 * math.lgamma(200_004))
    steep = replace(CLASSES, rate=Fraction(10**6))
    covered(RowWeights(steep).error, 4 * steep.score_error / 2.0**-50)
    weights = RowWeights(CLASSES)
    covered(weights.error, 4 * (200 + 700) / 7 + 5 * 5 * math.log(10**6))


def test_sizes_of_lowest_classes() -> None:
    sizes = LowestSizes(4, np.array([0, 3]), np.array([2, 500]))
    _, error = sizes._neighbouring(sizes.first, sizes.last)
    covered(error, 3 * math.lgamma(505))
    logs, error = sizes._scattered(sizes.first, sizes.last)
    covered(error, 4 * (2 + float(logs.max())))


def test_values_of_sequences() -> None:
    """Sums over as many events as there are groups within reach of each of the k places."""
    counts = {f"i{n}": 10 * n for n in range(50)}
    values = values_of(universe(Histogram.over_domain(counts)), 3, Fraction(1, 10))
    events = 3 + sum(range(47, 50))
    everything = sum(math.log(n) for n in (50, 49, 48))
    covered(values.error, events * everything + (490 + values.horizon) / 10)


def test_arrivals_within_a_row() -> None:
    row, m = every_class(CLASSES, range(CLASSES.rows))
    entropy, weights = replay("arrivals"), RowWeights(CLASSES)
    draws = Revealed(CLASSES, weights, entropy.uniforms(1, CLASSES.rows), entropy.uniforms(1, len(row)), row, m, m == 0)
    covered(
        draws._rounding - weights.error - draws._scores.error - draws._sizes.error, 8 * np.abs(weights.approx).max()
    )


@pytest.mark.parametrize(("first", "many", "k"), [(0, 1, 1), (3, 5, 2), (0, 1_500, 700), (600, 3, 1_300)])
def test_a_correlation_is_the_sum_it_stands_for(first: int, many: int, k: int) -> None:
    """Within one tile and across several, term by term in logarithms."""
    values = np.array([math.lgamma(n + 1) for n in range(first + many + k)])
    others = -np.array([math.lgamma(n + 1) for n in range(k)]) - 0.01 * np.arange(k)
    found = correlation(values, others, first, many)
    for q in {0, many // 2, many - 1}:
        plain = np.logaddexp.reduce(values[first + q : first + q + k] + others)
        assert found[q] == pytest.approx(plain, rel=1e-12)
