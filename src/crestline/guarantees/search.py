"""The largest parameter that still fits a budget (P10.4)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from crestline.guarantees.rounding import round_down

_DOUBLINGS = 200


def largest(
    fits: Callable[[Fraction], bool], *, start: Fraction = Fraction(1), high: Fraction | None = None, digits: int = 12
) -> Fraction:
    """The largest decimal with `digits` significant digits for which `fits` holds, to one unit of the last digit.

    `fits` must hold below some number and fail above it, and must hold at zero. The search goes up from `start` by
    doubling until it fails, or stops at `high` if that fits. What is returned was itself tried and fits: the parameter
    charged is the parameter used.
    """
    low, bad = _bracket(fits, start if high is None else min(start, high), high)
    if bad is None:
        return low
    while bad - low > bad / 10**digits and bad > _TINY:
        middle = round_down((low + bad) / 2, digits + 2)
        if not low < middle < bad:
            break
        low, bad = (middle, bad) if fits(middle) else (low, middle)
    return _settle(fits, low, digits)


_TINY = Fraction(1, 10**60)


def _bracket(
    fits: Callable[[Fraction], bool], start: Fraction, high: Fraction | None
) -> tuple[Fraction, Fraction | None]:
    """A number that fits and one that does not; None for the latter when all numbers up to `high` fit."""
    low, probe = Fraction(0), start
    for _ in range(_DOUBLINGS):
        if not fits(probe):
            return low, probe
        low = probe
        if high is not None and probe >= high:
            return probe, None
        probe = 2 * probe if high is None else min(2 * probe, high)
    raise ArithmeticError("the budget fits every parameter tried: give an upper end")


def _settle(fits: Callable[[Fraction], bool], low: Fraction, digits: int) -> Fraction:
    """The bracket's lower end on the decimal grid, tried once more."""
    candidate = round_down(low, digits)
    while candidate > 0 and not fits(candidate):
        candidate = round_down(candidate * (1 - Fraction(1, 10 ** (digits - 1))), digits)
    return candidate
