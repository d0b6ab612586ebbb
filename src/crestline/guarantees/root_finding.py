"""Searches for one number: certified ones in exact numbers, and quick ones in doubles.

largest_fitting, smallest_fitting   a decimal that was itself tried and fits, to one unit of its last digit (P10.4)
largest_within                      the largest decimal within a total that is slow to compute, guided by its values
bisect_floats                       a bracket in doubles, not certified: for numbers where any nearby one is valid
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

from crestline.guarantees.rounding import next_down, next_up, round_down, round_up

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_DOUBLINGS = 400  # after which a search gives up
_STEPS = 8  # from a guess, after which a search begins anew
_TINY = Fraction(1, 10**60)  # numbers below it are not searched


def largest_fitting(
    fits: Callable[[Fraction], bool],
    *,
    start: Fraction = Fraction(1),
    high: Fraction | None = None,
    near: Fraction | None = None,
    digits: int = 12,
) -> Fraction:
    """Largest decimal with `digits` significant digits for which `fits` holds, to one unit of the last digit.

    `fits` must hold below some number and fail above it, and must hold at zero. The search doubles from `start` until
    `fits` fails, or stops at `high` if that fits; a good guess of the result, `near`, saves most of it. The returned
    number was itself tried: the parameter charged is the parameter used. Raises ArithmeticError where 400 doublings
    fit.
    """
    found = _largest_near(fits, near, digits)
    if found is not None:
        return found
    good, bad = _bracket(fits, start if high is None else min(start, high), high)
    if bad is None:
        return good
    good = round_down(_bisect(fits, good, bad, digits), digits)
    while good > 0 and not fits(good):
        good = next_down(good, digits)
    return good


def smallest_fitting(
    fits: Callable[[Fraction], bool],
    *,
    start: Fraction = Fraction(1),
    near: Fraction | None = None,
    digits: int = 12,
) -> Fraction:
    """Smallest decimal with `digits` significant digits for which `fits` holds, to one unit of the last digit.

    `fits` must fail below some number and hold above it; `near` is a guess of the result. The returned number was
    itself tried. Raises ArithmeticError where 400 doublings do not fit.
    """
    if fits(Fraction(0)):
        return Fraction(0)

    def fails(number: Fraction) -> bool:
        return not fits(number)

    last = _largest_near(fails, near, digits)
    if last is not None:
        return next_up(last, digits)
    bad, good = _bracket(fails, start, None)
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


def _largest_near(fits: Callable[[Fraction], bool], near: Fraction | None, digits: int) -> Fraction | None:
    """The decimal that fits while the next does not, a few steps from a guess; None where it is not found."""
    number = round_down(near or Fraction(0), digits)
    for _ in range(_STEPS if number > 0 else 0):
        above = next_up(number, digits)
        if not fits(number):
            number = next_down(number, digits)
        elif fits(above):
            number = above
        else:
            return number
    return None


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


def is_rough() -> bool:
    """Whether `largest_within` is looking for its start, where a bound that is a thousandth too large is as good.

    A function that asks must return a valid bound either way; a cache of what it returns must have the answer in its
    keys (`cached_by_accuracy`).
    """
    search = _ROUGH_SEARCH.get()
    if search is not None:
        search.asked = True
    return search is not None


@contextmanager
def rough_values() -> Iterator[_RoughSearch]:
    """Bounds that are computed within may be a thousandth too large: for numbers whose use is bounded again."""
    search = _ROUGH_SEARCH.get() or _RoughSearch()
    token = _ROUGH_SEARCH.set(search)
    try:
        yield search
    finally:
        _ROUGH_SEARCH.reset(token)


def cached_by_accuracy(maxsize: int | None) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """A cache like `lru_cache`, for functions that call `largest_within` or ask `is_rough`."""

    def decorate(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @lru_cache(maxsize)
        def call_or_recall(rough: bool, *arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            return function(*arguments, **options)

        @wraps(function)
        def recall(*arguments: _Arguments.args, **options: _Arguments.kwargs) -> _Result:
            return call_or_recall(is_rough(), *arguments, **options)  # type: ignore[arg-type] # hashable

        return recall

    return decorate


def largest_within(
    total: Callable[[Fraction], Fraction], budget: Fraction, *, start: Fraction = Fraction(1), digits: int = 9
) -> Fraction:
    """Largest decimal whose `total` is at most `budget`, and short of it by less than one part in 10^digits.

    `total` must grow with its argument. It may be slow: a first search finds a good start by rough totals, where there
    are any (`is_rough`). The returned number was itself tried, with its accurate total, and fits; it is zero, or less
    close, where 100 turns do not suffice.
    """
    outer = _ROUGH_SEARCH.get()
    with rough_values() as search:
        found, slope = _search_within(total, budget, start, digits, 1.0)
    if outer is not None or not search.asked:
        return found
    return _search_within(total, budget, found or start, digits, slope)[0]


def guess_root(
    total: Callable[[Fraction], Fraction], budget: Fraction, start: Fraction, digits: int = 12
) -> Fraction | None:
    """`largest_within` for a guess, so that `total` need not be a bound; None where it cannot be computed."""
    try:
        return _search_within(total, budget, start, digits, 1.0)[0]
    except ArithmeticError:
        return None


_TURNS = 100  # after which a search returns the best number so far
_FARTHEST = 3.0  # longest step, in logarithms
_SLOPES = (0.2, 5.0)  # of logarithms; composition is nearly a straight line of slope one


@dataclass
class _RoughSearch:
    """Whether a total that was computed for a search was rough."""

    asked: bool = False


_ROUGH_SEARCH: ContextVar[_RoughSearch | None] = ContextVar("_ROUGH_SEARCH", default=None)


def _search_within(
    total: Callable[[Fraction], Fraction], budget: Fraction, start: Fraction, digits: int, slope: float
) -> tuple[Fraction, float]:
    """`largest_within` by secants in logarithms, with the last slope; halves a bracket where they do not.

    `slope` is a guess of the slope at `start`.
    """
    good, probe, tolerance = Fraction(0), round_down(start, digits + 3), 10.0**-digits
    low, high, before, slow = -math.inf, math.inf, (math.nan, math.nan), 0
    for _ in range(_TURNS):
        if not _TINY < probe < 1 / _TINY:
            break
        place, reached, width = math.log(probe), total(probe), high - low
        excess = _log_ratio(reached, budget) + tolerance / 2  # zero in the middle of the totals that are close enough
        if reached <= budget:
            good, low = max(good, probe), max(low, place)
        else:
            high = min(high, place)
        if (reached <= budget and excess >= -tolerance / 2) or high - low < tolerance:
            break
        rise = (excess - before[1]) / (place - before[0]) if place != before[0] else math.nan
        slope = min(max(rise, _SLOPES[0]), _SLOPES[1]) if math.isfinite(rise) else slope
        before = place, excess
        place -= min(max(excess / slope, -_FARTHEST), _FARTHEST)
        slow = slow + 1 if high - low > width / 2 else 0
        if math.isfinite(high - low) and (slow > 1 or not low < place < high):
            place, slow = (low + high) / 2, 0
        probe = round_down(Fraction(math.exp(place)), digits + 3)
    return good, slope


def _log_ratio(value: Fraction, budget: Fraction) -> float:
    """Logarithm of `value / budget`; minus infinity at zero."""
    if value <= 0:
        return -math.inf
    ratio = value / budget  # which may be beyond the range of a float
    return math.log(ratio.numerator) - math.log(ratio.denominator)
