"""Exact reals: doubles within their error, and an error that is close to what doubles can do."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import pytest
from flint import ctx

from crestline.randomness.exact_reals import ZERO, Real, ln

HUGE = 10**300
REALS = {
    "rational": Real(Fraction(10**9, 7)),
    "logarithm": ln(Fraction(7, 2)) * Fraction(-5, 3),
    "sum": ln(3) * 10**6 + Fraction(1, 3) - ln(Fraction(1, 10**30)),
    "almost nothing": ln(Fraction(10**30 + 1, 10**30)),
    "a quotient of giants": ln(Fraction(HUGE * 102 // 100 + 1, HUGE)),
    "cancelled": ln(2) - ln(2),
}


def truth(real: Real) -> mpmath.mpf:
    logs = (
        mpmath.mpf(w.numerator) / w.denominator * mpmath.log(mpmath.mpf(a.numerator) / a.denominator)
        for w, a in real.logs
    )
    return mpmath.mpf(real.rational.numerator) / real.rational.denominator + sum(logs, mpmath.mpf(0))


def size(real: Real, roundings: int = 1) -> float:
    """Sum of the sizes of all terms, logarithms counted `roundings` times; rounding is relative to it."""
    parts = (abs(w) * (mpmath.log(a.numerator) + mpmath.log(a.denominator)) for w, a in real.logs)
    return float(abs(real.rational) + roundings * sum(parts))


@pytest.mark.parametrize("name", REALS)
def test_a_double_lies_within_its_error_and_a_ball_around_the_truth(name: str) -> None:
    real = replace(REALS[name])  # one that knows nothing yet
    with mpmath.workprec(3000), ctx.workprec(3000):
        assert abs(mpmath.mpf(real.approx) - truth(real)) <= real.error
        assert abs(mpmath.mpf(real.ball().mid().str(800, radius=False)) - truth(real)) < mpmath.mpf(10) ** -700


@pytest.mark.parametrize("name", REALS)
def test_the_error_has_room_for_each_rounding_and_little_more(name: str) -> None:
    """At most sixteen units in the last place of everything that is added up; at least one half for each rounding.

    Of a logarithm there are five: weight, two logarithms, their difference, the product; then one of the sum.
    """
    real = replace(REALS[name])  # one that knows nothing yet
    assert 2.0**-53 * (size(real) + size(real, roundings=5)) <= real.error <= 2.0**-48 * size(real)


def test_many_small_terms_beside_a_large_one_are_not_lost() -> None:
    """Each logarithm is less than half a unit of the last place of 2^53: added one by one, they would all vanish."""
    real = sum((ln(2) for _ in range(100)), Real(Fraction(2**53)))
    with mpmath.workprec(200):
        assert abs(mpmath.mpf(real.approx) - truth(real)) <= 1 <= real.error


def test_nothing_is_exact() -> None:
    assert (ln(1).approx, ln(1).error) == (0.0, 0.0)
    assert ZERO.approx == 0.0
    assert ZERO.error == 0.0


def test_sums_and_multiples_are_exact() -> None:
    assert (ln(2) + Fraction(1, 2)) - Fraction(1, 2) == ln(2)
    assert -(ln(2) * 3 + 1) == Real(Fraction(-1), ((Fraction(-3), Fraction(2)),))
    assert 3 * ln(5) == Real(Fraction(0), ((Fraction(3), Fraction(5)),))
    assert Real(Fraction(1, 2)) * 3 == Real(Fraction(3, 2))
    assert Real(Fraction(1)) - Real(Fraction(3)) == Real(Fraction(-2))
