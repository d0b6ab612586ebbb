"""The one comparison engine: exact decisions about noisy keys, at array speed (P11, D4).

    largest(keys, k)             the k largest keys of every row, in order
    exceeding(keys, thresholds)  which keys are larger than the row's threshold (or than the key beside them)
    rounded(keys, grid)          the nearest multiple of a public grid, for numbers that are printed

Doubles decide wherever two keys are further apart than their error bounds. What is left, about one release in a
thousand, is decided by balls that are refined with ever more bits of the same uniforms until they separate. So every
decision is the one that the ideal real numbers would give, for any number of bits that was drawn first.
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

# Sorting a row is quicker than partitioning it first while it is no longer than so many times what is wanted.
_SHORT = 3


# Up to here doubles tell neighbouring whole numbers apart.
_WHOLE = 2.0**52
# A multiple of the grid below this fits 64 bits together with a count, which is 2^62 at most.
_LARGE = 2**62


def largest_columns(keys: Keys, k: int) -> Indices:
    """The columns of the `k` largest keys of every row, largest first. There must be at least `k` columns; in a row
    with fewer keys, columns without a key follow them."""
    rows, columns = keys.shape
    if k == 0:
        return np.zeros((rows, k), dtype=np.int64)
    chosen, many = np.empty((rows, k), dtype=np.int64), min(k + 1, columns)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # words at the very ends: `edge` marks them
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
    """Whether each key, or each of the chosen columns of every row, is larger than the threshold of its row (one
    column) or than the key beside it (as many). A column without a key exceeds nothing."""
    columns, values, edge = _rough_values(keys, chosen)
    gap = thresholds.rough_values - values
    above = np.signbit(gap)
    unsure = ((np.abs(gap) <= keys.error + thresholds.error) | edge | thresholds.unreliable) & (values > -np.inf)
    for row, place in np.argwhere(unsure):
        beside = int(place) if thresholds.shape[1] > 1 else 0
        above[row, place] = _exceeds_exactly(keys, thresholds, int(row), int(columns[row, place]), beside)
    return above


def round_to_grid(keys: Keys, grid: Fraction, chosen: Indices | None = None) -> Indices:
    """The nearest multiple of `grid` to every key, or to the chosen columns of every row, in whole grid steps.

    They are Python integers where one of them, or the multiple itself, is too large for an array of 64-bit ones.
    """
    step = float(grid)
    columns, values, edge = _rough_values(keys, chosen)
    scaled = values / step
    nearest = np.rint(scaled)
    room = 0.5 - np.abs(scaled - nearest)
    unsure = (room <= keys.error / step) | edge  # the bound has room for the rounding of one more division
    unsure |= ~(np.abs(scaled) < _WHOLE)
    result = np.where(unsure, 0.0, nearest).astype(np.int64)  # a filler, decided below
    cells = np.argwhere(unsure).tolist()
    exact = [(row, place, _nearest_multiple(keys, row, int(columns[row, place]), grid)) for row, place in cells]
    size = max([int(np.abs(result).max(initial=0)), *(abs(number) for _, _, number in exact)])
    if grid >= _LARGE or size >= _LARGE or size * grid >= _LARGE:
        result = result.astype(object)
    for row, place, number in exact:
        result[row, place] = number
    return result


def _rough_values(keys: Keys, chosen: Indices | None) -> tuple[Indices, Floats, NDArray[np.bool_]]:
    """Columns, rough values and edges of all keys, or of the chosen columns of every row."""
    if chosen is None:
        return np.broadcast_to(np.arange(keys.shape[1]), keys.shape), keys.rough_values, keys.unreliable
    return chosen, *rough_chosen(keys, chosen)


def _largest_by_doubles(shortlist: Shortlist, many: int, error: float) -> tuple[Indices, NDArray[np.bool_]]:
    """The positions of the `many` largest rough values, in order, and in which rows that order is certain.

    With one more key than is wanted, the last gap also says that nothing outside could belong inside.
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
    with np.errstate(invalid="ignore"):  # two missing keys: -inf less -inf is no number
        apart = (values[:, :-1] - values[:, 1:] > 2 * error) | (values[:, 1:] == -np.inf)
    edge = shortlist.edge if shortlist.present is None else shortlist.edge & shortlist.present
    sure: NDArray[np.bool_] = np.logical_and(apart.all(axis=1), ~edge.any(axis=1))
    return best, sure


def _largest_by_bounds(keys: Keys, row: int, columns: list[int], k: int) -> list[int]:
    """The same for one row, with certainty: by lower and upper bounds in doubles, and by balls where these overlap."""
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
    """Runs of keys whose ends overlap; the keys come in descending order of their middles.

    A cut before position i is certain when every key before it lies above every key from i on.
    """
    floor_before = np.minimum.accumulate(low)
    ceiling_after = np.maximum.accumulate(high[::-1])[::-1]
    cuts = np.flatnonzero(floor_before[:-1] > ceiling_after[1:]) + 1
    edges = [0, *cuts.tolist(), len(low)]
    return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(frozen=True)
class _SortableKey:
    """One key of a row that can be sorted: `<` refines two keys until one is smaller. Never compare one to itself."""

    keys: Keys
    row: int
    column: int

    def ball(self, bits: int) -> arb:
        return self.keys.ball(self.row, self.column, bits)

    def __lt__(self, other: _SortableKey) -> bool:
        return _is_less(self.ball, other.ball, self.keys)


def _exceeds_exactly(keys: Keys, thresholds: Keys, row: int, column: int, beside: int) -> bool:
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
