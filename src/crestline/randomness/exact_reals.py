"""Exact reals of scores: a rational plus logarithms of rationals (P11.1).

A `Real` can be evaluated as a double with an error bound, and as a ball of any precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb, fmpq

# Relative error of a double after the few operations below.
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class Real:
    """The number `rational + Σ coefficient · ln(argument)`."""

    rational: Fraction = Fraction(0)
    logs: tuple[tuple[Fraction, Fraction], ...] = ()

    def __add__(self, other: Real | Fraction | int) -> Real:
        term = other if isinstance(other, Real) else Real(Fraction(other))
        return Real(self.rational + term.rational, self.logs + term.logs)

    def __mul__(self, factor: Fraction | int) -> Real:
        return Real(self.rational * factor, tuple((weight * factor, argument) for weight, argument in self.logs))

    __rmul__ = __mul__

    def __neg__(self) -> Real:
        return self * -1

    def __sub__(self, other: Real | Fraction | int) -> Real:
        return self + (-other)

    @cached_property
    def approx(self) -> float:
        """The number as a double, within `error`."""
        return math.fsum(
            [float(self.rational), *(float(weight) * _log_of_fraction(argument) for weight, argument in self.logs)]
        )

    @cached_property
    def error(self) -> float:
        """Bound on the error of `approx`; the parts of an argument may have large logarithms where its own is small."""
        sizes = (abs(float(weight)) * _log_magnitude(argument) for weight, argument in self.logs)
        return _ROUNDING * (abs(float(self.rational)) + sum(sizes) * 4)

    def ball(self) -> arb:
        """A ball that contains the number, at the working precision."""
        total = rational_ball(self.rational)
        for weight, argument in self.logs:
            total += rational_ball(weight) * rational_ball(argument).log()
        return total


ZERO = Real()


def ln(argument: Fraction | int) -> Real:
    """Logarithm of a positive rational, exact."""
    return Real(logs=((Fraction(1), Fraction(argument)),))


def rational_ball(number: Fraction) -> arb:
    """The smallest ball around a rational at the working precision."""
    return arb(fmpq(number.numerator, number.denominator))


def _log_of_fraction(argument: Fraction) -> float:
    """Logarithm of a positive rational, which may be too large or small for a double."""
    return math.log(argument.numerator) - math.log(argument.denominator)


def _log_magnitude(argument: Fraction) -> float:
    """Sum of the logarithms of numerator and denominator, which bounds the rounding of `_log_of_fraction`."""
    return math.log(argument.numerator) + math.log(argument.denominator)
