"""Exact decisions about noisy keys, at array speed (P11, D4).

    largest_columns(keys, k)             the k largest keys of every row, in order
    exceeds_threshold(keys, thresholds)  which keys are larger than the row's threshold (or than the key beside them)
    round_to_grid(keys, grid)            the nearest multiple of a public grid, for numbers that are printed

Doubles decide wherever two keys are further apart than their error bounds. What remains, about one release in a
thousand, is decided by balls that are refined with more bits of the same uniforms until they separate. So every
decision is that of the ideal real numbers, for any number of bits that was drawn first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.precision import precision
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.keys import Keys
from crestline.randomness.shortlist import Shortlist, build_shortlists, rough_chosen
from crestline.randomness.unit_points import Floats

Indices = NDArray[np.int64]
Ball = Callable[[int], Any]

# A row is sorted whole if it has at most this many times the wanted keys; partitioning first is slower there.
_SHORT = 3

# Below it doubles distinguish neighbouring whole numbers.
_WHOLE = 2.0**52
# The sum of a multiple of the grid below it and of a count, which is at most 2^62, fits 64 bits.
_LARGE = 2**62


def largest_columns(keys: Keys, k: int) -> Indices:
    """Columns of the `k` largest keys of every row, largest first.

    There must be at least `k` columns; in a row with fewer keys, columns without a key follow them.
    """
    rows, columns = keys.shape
    if k == 0:
        return np.zeros((rows, k), dtype=np.int64)
    chosen, many = np.empty((rows, k), dtype=np.int64), min(k + 1, columns)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # the words that cause these are in `edge`
        for first, shortlist in build_shortlists(keys, many):
            places, sure = _largest_by_doubles(shortlist, many, keys.error)
            part = chosen[first : first + len(places)]
            part[:] = shortlist.original_columns(places[:, :k])
            for row in np.flatnonzero(~sure):
                contenders = shortlist.contenders(int(row), k, keys.error)
                found = _largest_by_bounds(keys, first + int(row), contenders, k)
                part[row] = found + shortlist.absent_columns(int(row))[: k - len(found)]
    return chosen


def exceeds_threshold(keys: Keys, thresholds: Keys, chosen: Indices | None = None) -> NDArray[np.bool_]:
    """Whether each key, or each of the `chosen` columns of every row, exceeds a threshold; a missing key does not.

    `thresholds` has one column, the threshold of each row, or one for each of these keys.
    """
    columns, values, edge = _rough_values(keys, chosen)
    gap = thresholds.rough_values - values
    above = np.signbit(gap)
    unsure = ((np.abs(gap) <= keys.error + thresholds.error) | edge | thresholds.unreliable) & (values > -np.inf)
    for row, place in np.argwhere(unsure):
        beside = int(place) if thresholds.shape[1] > 1 else 0
        above[row, place] = _exceeds_exactly(keys, thresholds, int(row), int(columns[row, place]), beside)
    return above


def round_to_grid(keys: Keys, grid: Fraction, chosen: Indices | None = None) -> Indices:
    """Nearest multiple of `grid` to every key, or to the `chosen` columns of every row, in whole grid steps.

    The array holds Python integers where one of them, or the multiple itself, is too large for 64 bits.
    """
    step = float(grid)
    columns, values, edge = _rough_values(keys, chosen)
    scaled = values / step
    nearest = np.rint(scaled)
    room = 0.5 - np.abs(scaled - nearest)
    unsure = (room <= keys.error / step) | edge  # the error bound covers the rounding of one more division
    unsure |= ~(np.abs(scaled) < _WHOLE)
    result = np.where(unsure, 0.0, nearest).astype(np.int64)  # zero where the exact multiple is computed below
    cells = np.argwhere(unsure).tolist()
    exact = [(row, place, _nearest_multiple(keys, row, int(columns[row, place]), grid)) for row, place in cells]
    size = max([int(np.abs(result).max(initial=0)), *(abs(number) for _, _, number in exact)])
    if grid >= _LARGE or size >= _LARGE or size * grid >= _LARGE:
        result = result.astype(object)
    for row, place, number in exact:
        result[row, place] = number
    return result


def _rough_values(keys: Keys, chosen: Indices | None) -> tuple[Indices, Floats, NDArray[np.bool_]]:
    """Columns, rough values and unreliable cells of all keys, or of the chosen columns of every row."""
    if chosen is None:
        return np.broadcast_to(np.arange(keys.shape[1]), keys.shape), keys.rough_values, keys.unreliable
    return chosen, *rough_chosen(keys, chosen)


def _largest_by_doubles(shortlist: Shortlist, many: int, error: float) -> tuple[Indices, NDArray[np.bool_]]:
    """Positions of the `many` largest rough values, in order, and in which rows that order is certain.

    With one more key than is wanted, the last gap also proves that no key outside belongs inside.
    """
    rough = shortlist.values
    width = rough.shape[1]
    rows = np.arange(len(rough))[:, None]
    if width <= _SHORT * many:
        best = (-rough).argsort(axis=1)[:, :many]
    else:
        best = rough.argpartition(width - many, axis=1)[:, width - many :]
        best = best[rows, (-rough[rows, best]).argsort(axis=1)]
    values = rough[rows, best]
    with np.errstate(invalid="ignore"):  # the difference of two missing keys, -inf and -inf, is NaN
        apart = (values[:, :-1] - values[:, 1:] > 2 * error) | (values[:, 1:] == -np.inf)
    edge = shortlist.edge if shortlist.present is None else shortlist.edge & shortlist.present
    sure: NDArray[np.bool_] = np.logical_and(apart.all(axis=1), ~edge.any(axis=1))
    return best, sure


def _largest_by_bounds(keys: Keys, row: int, columns: list[int], k: int) -> list[int]:
    """Columns of the `k` largest keys of one row, with certainty: by bounds in doubles, where they overlap by balls."""
    low, high = keys.key_bounds(row, columns)
    order = np.argsort(-(np.nan_to_num(low) + np.nan_to_num(high)), kind="stable")
    result: list[int] = []
    for cluster in _overlapping_runs(low[order], high[order]):
        members = [_SortableKey(keys, row, columns[i]) for i in order[cluster]]
        result += [member.column for member in sorted(members, reverse=True)]
        if len(result) >= k:
            break
    return result[:k]


def _overlapping_runs(low: Floats, high: Floats) -> Sequence[slice]:
    """Runs of keys whose bounds overlap; the keys come in descending order of their midpoints.

    A cut before position i is certain when every key before it lies above every key from i on.
    """
    floor_before = np.minimum.accumulate(low)
    ceiling_after = np.maximum.accumulate(high[::-1])[::-1]
    cuts = np.flatnonzero(floor_before[:-1] > ceiling_after[1:]) + 1
    edges = [0, *cuts.tolist(), len(low)]
    return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(frozen=True)
class _SortableKey:
    """One key of a row for sorting: `<` refines two keys until one is smaller. It must not be compared to itself."""

    keys: Keys
    row: int
    column: int

    def ball(self, bits: int) -> arb:
        """A ball that contains the key, from the first `bits` bits."""
        return self.keys.ball(self.row, self.column, bits)

    def __lt__(self, other: _SortableKey) -> bool:
        return _is_less(self.ball, other.ball, self.keys)


def _exceeds_exactly(keys: Keys, thresholds: Keys, row: int, column: int, beside: int) -> bool:
    """Whether a key exceeds the threshold in column `beside`, with certainty."""
    (low,), (high,) = keys.key_bounds(row, [column])
    (bottom,), (top,) = thresholds.key_bounds(row, [beside])
    if low > top:
        return True
    if high < bottom:
        return False
    return _is_less(_SortableKey(thresholds, row, beside).ball, _SortableKey(keys, row, column).ball, keys)


def _is_less(first: Ball, second: Ball, keys: Keys) -> bool:
    """Refine two keys until they separate; two different keys do so with probability one."""
    bits = keys.draws.first_bits
    while True:
        left, right = first(bits), second(bits)
        if left < right:
            return True
        if left > right:
            return False
        bits *= 2


def _nearest_multiple(keys: Keys, row: int, column: int, grid: Fraction) -> int:
    """Refine one key until only one multiple of the grid can be the nearest."""
    bits = keys.draws.first_bits
    while True:
        with precision(2 * bits + 64):  # the ball carries its own error
            place = (keys.ball(row, column, bits) / rational_ball(grid) + rational_ball(Fraction(1, 2))).floor()
            number = place.unique_fmpz()
        if number is not None:
            return int(number)
        bits *= 2
