"""Searches for one number: certified ones in exact numbers, and quick ones in doubles.

largest_fitting, smallest_fitting   a decimal that was itself tried and fits, to one unit of its last digit (P10.4)
largest_within                      the largest decimal within a total that is slow to compute, guided by its values
bisect_floats                       a bracket in doubles, not certified: for numbers where any nearby one is valid
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from crestline.guarantees.rounding import next_down, next_up, round_down, round_up

_DOUBLINGS = 400  # after which a search gives up
_TINY = Fraction(1, 10**60)  # numbers below it are not searched


def largest_fitting(
    fits: Callable[[Fraction], bool], *, start: Fraction = Fraction(1), high: Fraction | None = None, digits: int = 12
) -> Fraction:
    """Largest decimal with `digits` significant digits for which `fits` holds, to one unit of the last digit.

    `fits` must hold below some number and fail above it, and must hold at zero. The search doubles from `start` until
    `fits` fails, or stops at `high` if that fits. The returned number was itself tried: the parameter charged is the
    parameter used. Raises ArithmeticError where 400 doublings fit.
    """
    good, bad = _bracket(fits, start if high is None else min(start, high), high)
    if bad is None:
        return good
    good = round_down(_bisect(fits, good, bad, digits), digits)
    while good > 0 and not fits(good):
        good = next_down(good, digits)
    return good


def smallest_fitting(fits: Callable[[Fraction], bool], *, start: Fraction = Fraction(1), digits: int = 12) -> Fraction:
    """Smallest decimal with `digits` significant digits for which `fits` holds, to one unit of the last digit.

    `fits` must fail below some number and hold above it. The returned number was itself tried. Raises ArithmeticError
    where 400 doublings do not fit.
    """
    if fits(Fraction(0)):
        return Fraction(0)
    bad, good = _bracket(lambda number: not fits(number), start, None)
    assert good is not None  # without an upper end `_bracket` returns both, or raises
    good = round_up(_bisect(fits, good, bad, digits), digits)
    while not fits(good):
        good = next_up(good, digits)
    return good


def _bisect(fits: Callable[[Fraction], bool], good: Fraction, bad: Fraction, digits: int) -> Fraction:
    """The last number that fits, once the two ends agree to `digits` digits."""
    while (size := max(good, bad)) > _TINY and abs(good - bad) > size / 10**digits:
        middle = round_down((good + bad) / 2, digits + 3)  # any number between is valid: the result was tried
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _bracket(
    fits: Callable[[Fraction], bool], start: Fraction, high: Fraction | None
) -> tuple[Fraction, Fraction | None]:
    """A number that fits and one that does not; None for the latter when all numbers up to `high` fit."""
    good, probe = Fraction(0), start
    for _ in range(_DOUBLINGS):
        if not fits(probe):
            return good, probe
        if high is not None and probe >= high:
            return probe, None
        good, probe = probe, 2 * probe if high is None else min(2 * probe, high)
    raise ArithmeticError("the budget fits every parameter tried: give an upper end")


def bisect_floats(holds: Callable[[float], bool], low: float, high: float, *, turns: int = 60) -> tuple[float, float]:
    """Bracket after `turns` halvings, for a `holds` that is false below some number and true above it.

    Sixty halvings of a bracket around one reach the last bit. `holds` is not called on the two ends.
    """
    for _ in range(turns):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def largest_within(
    total: Callable[[Fraction], Fraction], budget: Fraction, *, start: Fraction = Fraction(1), digits: int = 9
) -> Fraction:
    """Largest decimal whose `total` is at most `budget`, and short of it by less than one part in 10^digits.

    `total` must grow with its argument. It may be slow, so its values, not only their order, guide the search: false
    position on logarithms, where composition is nearly a straight line. The returned number was itself tried and fits;
    it is zero, or less close, where 100 turns do not suffice.
    """
    ends, tolerance = _SearchBracket(), 10.0**-digits
    probe = round_down(start, digits + 3)
    for turn in range(_TURNS):
        place, reached = math.log(probe), total(probe)
        excess = _log_ratio(reached, budget) + tolerance / 2  # zero in the middle of the totals that are close enough
        ends.move_end(probe, place, excess, fits=reached <= budget)
        if (reached <= budget and excess >= -tolerance / 2) or ends.width < tolerance:
            break
        probe = round_down(Fraction(math.exp(ends.next_probe(place, excess, turn))), digits + 3)
    return ends.good


_TURNS = 100  # after which a search returns the best number so far
_FARTHEST = 3.0  # longest step before there are two ends, in logarithms


class _SearchBracket:
    """The best number that fits, the smallest that does not, and the logarithms by which each misses the budget."""

    def __init__(self) -> None:
        self.good = Fraction(0)
        self._low: tuple[float, float] | None = None
        self._high: tuple[float, float] | None = None
        self._kept = 0

    @property
    def width(self) -> float:
        """Width of the bracket in logarithms; infinite while an end is missing."""
        if self._low is None or self._high is None:
            return math.inf
        (low, _), (high, _) = self._low, self._high
        return high - low

    def move_end(self, probe: Fraction, place: float, excess: float, fits: bool) -> None:
        """Move one end; the excess of an end that has stayed for two turns is halved (the Illinois rule)."""
        if fits:
            self.good, self._low = max(self.good, probe), (place, min(excess, 0.0))
            self._kept = max(self._kept, 0) + 1
            if self._kept > 1 and self._high is not None:
                self._high = self._high[0], self._high[1] / 2
        else:
            self._high = (place, excess)
            self._kept = min(self._kept, 0) - 1
            if self._kept < -1 and self._low is not None:
                self._low = self._low[0], self._low[1] / 2

    def next_probe(self, place: float, excess: float, turn: int) -> float:
        """Logarithm of the next number to try."""
        if self._low is None or self._high is None:
            # Totals grow at least like the parameter itself, so a step of the whole excess crosses the budget.
            step = 1.01 * excess + math.copysign(1e-3, excess)
            return place - max(-_FARTHEST, min(_FARTHEST, step))
        (low, at_low), (high, at_high) = self._low, self._high
        if turn % 8 == 7 or not math.isfinite(at_low):  # occasional halving bounds the number of turns
            return (low + high) / 2
        return high - at_high * (high - low) / (at_high - at_low)


def _log_ratio(value: Fraction, budget: Fraction) -> float:
    """Logarithm of `value / budget`; minus infinity at zero."""
    return math.log(value / budget) if value > 0 else -math.inf
