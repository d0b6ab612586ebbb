"""Number of subsets in a class (P8.2): exactly, as whole numbers, and as logarithms in arrays.

A class keeps `k - 1 - m` of the best ranks, leaves out the next, and takes `m` of the ranks between it and its lowest
rank, `k + q`: that is `C(q + m, m)` subsets. Ranks of equal counts are one row: `q` from `a` to `b`, and by the
hockey-stick identity `C(b + m + 1, m + 1) - C(a + m, m + 1)` subsets.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

import numpy as np
from flint import fmpz

from crestline.histogram.count_levels import Indices
from crestline.randomness.sampling import draw_int
from crestline.randomness.uniforms import Uniforms
from crestline.randomness.unit_points import Floats

ROUNDING = 2.0**-50
_EXACT = 160  # smaller factorials are tabulated; from here on two terms of the Stirling series are as accurate
_KEPT = 1 << 16  # up to here they are computed once and cached
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def size(a: int, b: int, m: int) -> int:
    """Number of subsets: `Σ_{q = a}^{b} C(q + m, m)`."""
    return _binomial(b + m + 1, m + 1) - _binomial(a + m, m + 1)


def sizes(a: int, b: int, k: int) -> Iterator[int]:
    """`size(a, b, m)` for m = 0, …, k - 1, each computed from the one before."""
    upper, lower = b + 1, a
    for m in range(k):
        yield upper - lower
        upper = upper * (b + m + 2) // (m + 2)
        lower = lower * (a + m + 1) // (m + 2)


def draw_lowest_rank(a: int, b: int, m: int, uniforms: Uniforms, index: int) -> int:
    """A lowest rank `q` between `a` and `b`, with probability proportional to `C(q + m, m)`."""
    before = _binomial(a + m, m + 1)
    wanted = before + draw_int(uniforms, index, _binomial(b + m + 1, m + 1) - before)
    return _least_rank_above(wanted, a, b, m + 1)


def _least_rank_above(wanted: int, a: int, b: int, m: int) -> int:
    """The least q from `a` to `b` with `C(q + m, m) > wanted`: guessed in doubles, then found with whole numbers."""
    target, constant = math.log(max(wanted, 1)), math.lgamma(m + 1)  # a guess: whole numbers decide

    def log_rank(q: int) -> float:
        return math.lgamma(q + m + 1) - math.lgamma(q + 1) - constant  # a guess: whole numbers decide

    low = max(a, bisect_right(range(a, b), target, key=log_rank) + a - 1)
    high = min(b, low + 1)
    while low > a and _binomial(low + m, m) > wanted:  # twice as wide, until q lies between
        low = max(a, low - (high - low))
    while high < b and _binomial(high + m, m) <= wanted:
        high = min(b, high + (high - low))
    return bisect_right(range(low, high), wanted, key=lambda q: _binomial(q + m, m)) + low


def _binomial(n: int, k: int) -> int:
    """`C(n, k)` from FLINT, about a hundred times faster than the standard library for hundreds of digits."""
    return int(fmpz.bin_uiui(n, k))


def log_factorials(n: int) -> Floats:
    """`ln 0!, …, ln n!`, each accurate to a few units in the last place; read-only for the caller."""
    return _cached_log_factorials()[: n + 1] if n < len(_cached_log_factorials()) else _compute_log_factorials(n)


@cache
def _cached_log_factorials() -> Floats:
    table = _compute_log_factorials(_KEPT)
    table.setflags(write=False)
    return table


def _compute_log_factorials(n: int) -> Floats:
    numbers = np.arange(_EXACT, n + 1, dtype=np.float64)
    series = (1 / 12 - 1 / (360 * numbers * numbers)) / numbers
    large = (numbers + 0.5) * np.log(numbers) - numbers + (_HALF_LOG_TAU + series)
    small = [math.log(math.factorial(number)) for number in range(_EXACT)]
    return np.concatenate([small, large])


def log_sizes(a: Indices, b: Indices, k: int) -> Floats:
    """Logarithms of `size(a, b, m)` for each row and m = 0, …, k - 1, accurate to `k` roundings of the largest."""
    steps = np.arange(1.0, k + 1.0)
    above = np.cumsum(np.log1p(b[:, None] / steps), axis=1)  # ln C(b + m + 1, m + 1)
    with np.errstate(divide="ignore"):  # a = 0: there is no rank before, the ratio is infinite
        ratio = np.cumsum(np.log1p((b - a + 1)[:, None] / (a[:, None] + (steps - 1.0))), axis=1)
    result: Floats = above + np.log(-np.expm1(-ratio))
    return result


def log_size_of_last(a: Indices, b: Indices, k: int) -> Floats:
    """Logarithm of `size(a, b, k - 1)` for each row: the last column of `log_sizes`."""
    steps = np.arange(1.0, k + 1.0)
    above = np.log1p(b[:, None] / steps).sum(axis=1)
    with np.errstate(divide="ignore"):
        ratio = np.log1p((b - a + 1)[:, None] / (a[:, None] + (steps - 1.0))).sum(axis=1)
    result: Floats = above + np.log(-np.expm1(-ratio))
    return result


def sizes_error(logs: Floats, last: Indices, k: int) -> float:
    """Bound on the error of such logarithms: each is the difference of two that are up to `ln(last + 1)` larger."""
    return ROUNDING * k * (1.0 + float(logs.max()) + math.log1p(float(last.max())))


def log_sum(values: Floats) -> Floats:
    """`ln Σ exp` over the last axis."""
    top = values.max(axis=-1)
    result: Floats = np.log(np.exp(values - top[..., None]).sum(axis=-1)) + top
    return result


def log_sum_groups(values: Floats, starts: Indices) -> Floats:
    """`ln Σ exp` over each run that begins at one of `starts`."""
    top = np.maximum.reduceat(values, starts)
    lengths = np.diff(np.append(starts, len(values)))
    result: Floats = np.log(np.add.reduceat(np.exp(values - np.repeat(top, lengths)), starts)) + top
    return result
