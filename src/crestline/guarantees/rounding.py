"""Directed rounding: real numbers as balls, and ends of balls as exact decimals.

A theorem's formula is evaluated in ball arithmetic (python-flint), so the ball contains the true value; the end that
weakens the claim is then rounded outwards to a decimal with few digits. So ε and δ are only rounded up, ρ and per-step
parameters only down, and the printed number is the exact one.
"""

from __future__ import annotations

import sys
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from flint import arb, fmpq

from crestline.precision import BITS, precision

__all__ = [
    "BITS",
    "DIGITS",
    "SMALLEST",
    "ball",
    "decimal_above",
    "decimal_below",
    "precision",
    "round_down",
    "round_up",
]

DIGITS = sys.float_info.dig  # significant digits of a decimal that a float keeps; fewer than the balls have
# A number closer to zero is rounded away from zero to this one.
SMALLEST = Fraction(1, 10**1200)


def ball(number: Fraction | int) -> arb:
    """The smallest ball around an exact number."""
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def decimal_above(number: arb, digits: int = DIGITS) -> Fraction:
    """A decimal with `digits` significant digits that is not below the ball."""
    top = number.upper()
    if _is_tiny(top):
        return SMALLEST if top > 0 else Fraction(0)
    return round_up(_exact_rational(top), digits)


def decimal_below(number: arb, digits: int = DIGITS) -> Fraction:
    """A decimal with `digits` significant digits that is not above the ball."""
    bottom = number.lower()
    if _is_tiny(bottom):
        return -SMALLEST if bottom < 0 else Fraction(0)
    return round_down(_exact_rational(bottom), digits)


def round_up(number: Fraction, digits: int = DIGITS) -> Fraction:
    """Smallest decimal with `digits` significant digits that is not below `number`.

    >>> round_up(Fraction(2, 3), 3)
    Fraction(667, 1000)
    """
    return Fraction(_rounded_decimal(number, Context(prec=digits, rounding=ROUND_CEILING, traps=[])))


def round_down(number: Fraction, digits: int = DIGITS) -> Fraction:
    """Largest decimal with `digits` significant digits that is not above `number`.

    >>> round_down(Fraction(2, 3), 3)
    Fraction(333, 500)
    """
    return Fraction(_rounded_decimal(number, Context(prec=digits, rounding=ROUND_FLOOR, traps=[])))


def next_up(number: Fraction, digits: int = DIGITS) -> Fraction:
    """Smallest decimal with `digits` significant digits above `number`, which has no more digits."""
    context = Context(prec=digits, traps=[])
    return Fraction(context.next_plus(_rounded_decimal(number, context)))


def next_down(number: Fraction, digits: int = DIGITS) -> Fraction:
    """Largest decimal with `digits` significant digits below `number`, which has no more digits."""
    context = Context(prec=digits, traps=[])
    return Fraction(context.next_minus(_rounded_decimal(number, context)))


def _rounded_decimal(number: Fraction, context: Context) -> Decimal:
    """The number as a decimal, rounded once, as the context prescribes."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def _is_tiny(point: arb) -> bool:
    """Whether a point is closer to zero than `SMALLEST`: a tail of a normal law can need millions of digits."""
    return bool(abs(point) < ball(SMALLEST))


def _exact_rational(point: arb) -> Fraction:
    """The rational value of a ball of radius zero; raises ArithmeticError where it is not finite."""
    if not point.is_finite():
        raise ArithmeticError("the bound is not finite: the parameters are out of range")
    mantissa, exponent = point.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
