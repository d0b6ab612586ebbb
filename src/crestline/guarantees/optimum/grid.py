"""Upper bounds on a hockey-stick curve, on an even grid of thresholds.

A curve is `V(a) = max P(S) - e^a Q(S)` over events S and over the strategies of an adversary. Whatever the steps, V is
non-increasing, convex as a function of e^a, at most 1, and, when the steps may be mirrored, `V(-a) = 1 - e^-a + e^-a
V(a)`. So numbers that are not below V at the points `a = 0, h, 2h, …` bound V everywhere: by the chord in e^a between
two points, by the mirror image below zero, and by the last number beyond the last point. Proof note:
docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.guarantees.rounding import ball, decimal_above, precision

Floats: TypeAlias = NDArray[np.float64]

PAD = 1 + 2.0**-40  # more than the rounding errors of one pass over the grid, by a factor of 30
TINY = sys.float_info.min / sys.float_info.epsilon  # more than all that underflow can lose


def float_up(number: arb) -> float:
    """A float that is not below the ball."""
    return math.nextafter(float(number.upper()), math.inf)


def float_down(number: arb) -> float:
    """A float that is not above the ball."""
    return math.nextafter(float(number.lower()), -math.inf)


def floats_up(numbers: Iterable[arb]) -> Floats:
    """Floats that are not below the balls."""
    return np.array([float_up(number) for number in numbers])


@dataclass(frozen=True)
class CurveGrid:
    """Grid of the thresholds `0, h, …, top·h`; steps read up to `reach` points beyond both ends."""

    width: Fraction
    top: int
    reach: int

    def curve_of_no_step(self) -> Floats:
        """Curve of an interaction without steps: `V(a) = max(0, 1 - e^a)`, zero on the grid."""
        return np.zeros(self.top + 1)

    def extend(self, values: Floats) -> Floats:
        """Upper bounds at `-reach·h, …, (top + reach)·h`, made non-increasing."""
        shift, shrink = self._mirror_factors
        wide = np.full(self.top + 1 + 2 * self.reach, values[-1])
        # Raising a number to the largest on its right keeps it an upper bound.
        wide[self.reach : self.reach + self.top + 1] = np.maximum.accumulate(values[::-1])[::-1]
        mirrored = wide[self.reach + 1 : 2 * self.reach + 1]
        wide[: self.reach] = np.minimum(shift + shrink * mirrored, 1.0)[::-1]
        return np.maximum.accumulate(wide[::-1])[::-1]

    @cached_property
    def _mirror_factors(self) -> tuple[Floats, Floats]:
        """`1 - e^-a` and `e^-a` for the `reach` points above zero, padded by more than the rounding error of their sum.

        With a = x + y both follow from tables for x and y, by sums and products of positive numbers.
        """
        index = np.arange(1, self.reach + 1)
        block = math.isqrt(self.reach) + 1
        coarse, fine = np.divmod(index, block)
        with precision(80):  # enough bits; balls carry their own error
            width = ball(-self.width)
            big = [width * (block * number) for number in np.unique(coarse).tolist()]
            small = [width * number for number in range(block)]
            big_rest, small_rest = (floats_up(-place.expm1() for place in places) for places in (big, small))
            big_power, small_power = (floats_up(place.exp() for place in places) for places in (big, small))
        rest = big_rest[coarse] + big_power[coarse] * small_rest[fine]
        return rest * PAD, big_power[coarse] * small_power[fine] * PAD

    def chord(self, place: Fraction) -> tuple[int, float, float]:
        """Index of the point at or below `place`, and the weights, rounded up, of it and the next in a chord in e^a."""
        index = math.floor(place / self.width)
        with precision(80):  # enough bits; balls carry their own error
            whole = ball(self.width).expm1()
            part = ball(place - index * self.width).expm1()
            return index, float_up((whole - part) / whole), float_up(part / whole)

    def smallest_epsilon(self, value: Callable[[int], float], delta: Fraction) -> Fraction | None:
        """Smallest threshold at which the chords prove a curve to be at most δ; None where that is beyond the grid.

        `value(index)` is an upper bound on the curve at a grid point.
        """
        if value(self.top) > delta:  # exact: Python compares a float and a fraction without rounding
            return None
        if value(0) <= delta:
            return Fraction(0)
        above, below = 0, self.top
        while below - above > 1:
            middle = (above + below) // 2
            above, below = (above, middle) if value(middle) <= delta else (middle, below)
        high, low = Fraction(value(above)), Fraction(value(below))
        return self._chord_crossing(below, (high - delta) / (high - low))

    def _chord_crossing(self, index: int, share: Fraction) -> Fraction:
        """Where the chord from point `index - 1` to `index` has fallen by `share` of its height, rounded up."""
        with precision():
            start = ball(self.width * (index - 1))
            return decimal_above(start + (ball(share) * ball(self.width).expm1()).log1p())
