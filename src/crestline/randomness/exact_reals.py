"""Exact reals that scores are made of: a rational plus logarithms of rationals (P11.1).

A `Real` is known two ways: as a double with an error bound, and as a ball of any precision.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from flint import arb, fmpq

# A double's rounding, with room for the few operations below.
_ROUNDING = 2.0**-50


@dataclass(frozen=True)
class Real:
    """`rational + Σ coefficient · ln(argument)`."""

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
        return math.fsum(
            [float(self.rational), *(float(weight) * _log_of_fraction(argument) for weight, argument in self.logs)]
        )

    @cached_property
    def error(self) -> float:
        """How far `approx` may be off; both parts of an argument may have large logarithms where its own is small."""
        sizes = (abs(float(weight)) * _log_magnitude(argument) for weight, argument in self.logs)
        return _ROUNDING * (abs(float(self.rational)) + sum(sizes) * 4)

    def ball(self) -> arb:
        """A ball that contains the real, at the working precision."""
        total = rational_ball(self.rational)
        for weight, argument in self.logs:
            total += rational_ball(weight) * rational_ball(argument).log()
        return total


ZERO = Real()


def ln(argument: Fraction | int) -> Real:
    """The logarithm of a positive rational, kept exact."""
    return Real(logs=((Fraction(1), Fraction(argument)),))


def rational_ball(number: Fraction) -> arb:
    return arb(fmpq(number.numerator, number.denominator))


def _log_of_fraction(argument: Fraction) -> float:
    return math.log(argument.numerator) - math.log(argument.denominator)


def _log_magnitude(argument: Fraction) -> float:
    return math.log(argument.numerator) + math.log(argument.denominator)
