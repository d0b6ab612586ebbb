"""Directed rounding: real numbers as balls, and ball ends as exact decimals.

A theorem's formula is evaluated in ball arithmetic (python-flint), so the true value is certainly inside the ball; the
end that weakens the claim is then moved, outwards, to a decimal with few digits. So ε and δ only ever grow, ρ and
per-step parameters only ever shrink, and what is printed is what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from math import ceil, floor
from threading import RLock

from flint import arb, ctx, fmpq

DIGITS = 15  # significant decimals kept: coarser than the balls, finer than anybody can use
BITS = 160  # mutate: more or fewer bits: the balls say so
_TURN = RLock()
_TINY_BITS = 4000
# What a number that is closer to zero is rounded to, away from zero: 10^-1200 is above 2^-4000.
SMALLEST = Fraction(1, 10**1200)


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Ball arithmetic with `bits` bits; a lower precision widens the balls and never makes them wrong.

    The library has one precision for the whole process, so threads take turns.
    """
    with _TURN, ctx.workprec(bits):
        yield


def ball(number: Fraction | int) -> arb:
    """The smallest ball around an exact number."""
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def upper(number: arb, digits: int = DIGITS) -> Fraction:
    """A decimal that is certainly not below the ball."""
    top = number.upper()
    if _is_tiny(top):
        return SMALLEST if top > 0 else Fraction(0)
    return round_up(_exact(top), digits)


def lower(number: arb, digits: int = DIGITS) -> Fraction:
    """A decimal that is certainly not above the ball."""
    bottom = number.lower()
    if _is_tiny(bottom):
        return -SMALLEST if bottom < 0 else Fraction(0)
    return round_down(_exact(bottom), digits)


def round_up(number: Fraction, digits: int = DIGITS) -> Fraction:
    """The smallest decimal with `digits` significant digits that is not below `number`.

    >>> round_up(Fraction(2, 3), 3)
    Fraction(667, 1000)
    """
    step = _step(number, digits)
    return ceil(number / step) * step


def round_down(number: Fraction, digits: int = DIGITS) -> Fraction:
    """The largest decimal with `digits` significant digits that is not above `number`.

    >>> round_down(Fraction(2, 3), 3)
    Fraction(333, 500)
    """
    step = _step(number, digits)
    return floor(number / step) * step


def _step(number: Fraction, digits: int) -> Fraction:
    """The place of the last digit kept."""
    if number == 0:
        return Fraction(1)
    size = abs(number)
    magnitude = len(str(size.numerator)) - len(str(size.denominator))  # floor(log10) or one more
    if size < Fraction(10) ** magnitude:
        magnitude -= 1
    return Fraction(10) ** (magnitude + 1 - digits)


def _is_tiny(point: arb) -> bool:
    """Closer to zero than `SMALLEST`: a tail of a normal law can need millions of digits, and nobody asks for them."""
    return bool(abs(point) < arb(2) ** -_TINY_BITS)


def _exact(point: arb) -> Fraction:
    """The rational behind a ball of radius zero."""
    if not point.is_finite():
        raise ArithmeticError("the bound is not finite: the parameters are out of range")
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
