"""Scores that are sums and logarithms: doubles within their error, balls around the truth."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
from flint import ctx

from crestline.randomness.scores import Linear, Logarithms, Scores, Summed

NUMBERS = np.array([1, 2, 7, 10**6, 2**62])
COUNTS = np.array([0, -3, 12, 10**9, 5])


def truth(column: int) -> mpmath.mpf:
    return mpmath.mpf(int(COUNTS[column])) / 7 - mpmath.mpf(3) / 2 * mpmath.log(int(NUMBERS[column]))


def test_a_sum_of_counts_and_logarithms() -> None:
    scores: Scores = Summed(Linear(COUNTS, Fraction(1, 7)), Logarithms(NUMBERS, Fraction(-3, 2)))
    with mpmath.workprec(300), ctx.workprec(300):
        for column in range(len(NUMBERS)):
            assert abs(mpmath.mpf(float(scores.approx[column])) - truth(column)) <= scores.error
            ball = scores.ball(0, column)
            assert abs(mpmath.mpf(ball.mid().str(80, radius=False)) - truth(column)) < mpmath.mpf(10) ** -70
    assert scores.error < 1e-5


def test_logarithms_are_plain_unless_weighted() -> None:
    assert np.allclose(Logarithms(NUMBERS).approx, np.log(NUMBERS))
