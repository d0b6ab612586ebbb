"""Shortlist: the keys that can still be among the k largest of their row, with approximate values.

Before any logarithm is computed, most keys of a long row can be left out with certainty. For any bar that the last
wanted key certainly reaches, a key reaches it only if its uniform exceeds `F((bar - score) / scale)`, so one integer
comparison leaves the others out. For a single row the bar is computed from its first columns. For many rows it is set
where enough keys are expected above it that too few are rarely found, which is checked afterwards; then the uniforms
below need not be drawn (sparse_uniforms.py). It is fastest when scores descend, as they do in a histogram; it is
correct for any order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.draws import OnePerKey, rough_points, unreliable_words
from crestline.randomness.keys import Keys
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.uniforms import LARGE, WORD, SparseHits, Uniforms
from crestline.randomness.unit_points import Floats

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]

# These sizes determine the speed of the search; its result does not depend on them.
_BLOCK = 128
_CELLS = 1 << 14  # cells of a table of shortlists that fits the cache
_PREFIX = 2  # columns for the bar of a single row, as a multiple of `many`
_WORTH_IT = 8
# Standard deviations, and keys, expected above the bar in addition to those wanted: one row in 10^5 has too few.
_SPARE, _SPARE_AT_LEAST = 5.0, 3.0
# The search for a bar ends with this surplus of keys, as a part of `many`, or after this many halvings.
_CLOSE, _HALVINGS = 1 / 32, 6
# Least number of first columns of a long row that are evaluated one by one, and rough number of later ones.
_LOOKED_AT = 1 << 8
# Approximate number of blocks of columns with a least word of their own.
_JUDGED = 1 << 10
# The relative error of a distribution function in doubles is far below one in a million.
_SAFE = 0.999999


@dataclass(frozen=True)
class Shortlist:
    """Approximate values of the keys that remain in each row.

    Attributes:
        values: Keys in doubles, a row for each trial.
        edge: Values that are unreliable.
        columns: Column of each key in the table of all keys; None if all are here, in order.
        present: False where a cell holds no key; None if all do.
    """

    values: Floats
    edge: Marks
    columns: Indices | None = None
    present: Marks | None = None

    def original_columns(self, positions: Indices) -> Indices:
        """Columns of the table of keys at these positions of the shortlist."""
        return positions if self.columns is None else self.columns[np.arange(len(positions))[:, None], positions]

    def rows(self, first: int, last: int) -> Shortlist:
        """Shortlists of rows `first` to `last`, without the last."""
        columns = None if self.columns is None else self.columns[first:last]
        present = None if self.present is None else self.present[first:last]
        return Shortlist(self.values[first:last], self.edge[first:last], columns, present)

    def contenders(self, row: int, k: int, error: float) -> list[int]:
        """Every column of a row that could be among its `k` largest."""
        present = np.ones(self.values.shape[1], dtype=np.bool_) if self.present is None else self.present[row]
        values, edge = self.values[row], self.edge[row]
        bar = np.sort(values[present & ~edge])[-k:].min(initial=np.inf)  # the k-th largest, or the least of fewer
        near = present & (edge | (values >= bar - 2 * error))
        columns = np.flatnonzero(near) if self.columns is None else self.columns[row][near]
        return [int(column) for column in columns]

    def absent_columns(self, row: int) -> list[int]:
        """Columns of a row that hold no key; called only where no key was left out."""
        found: list[int] = [] if self.present is None else np.flatnonzero(~self.present[row]).tolist()
        return found


def build_shortlists(keys: Keys, many: int) -> Iterator[tuple[int, Shortlist]]:
    """Yield shortlists of the `many` largest keys of some rows at a time, each with the number of its first row.

    The caller silences warnings about words close to 0 or 1, and about probabilities too small for a double.
    """
    if not _is_worth_thinning(keys, many):
        missing = keys.draws.missing_columns()
        yield 0, Shortlist(keys.rough_values, keys.unreliable, None, None if missing is None else ~missing)
    elif keys.shape[0] == 1:
        yield 0, _keys_above(keys, _bar_from_prefix(keys, many))
    else:
        yield from _thin_by_rows(keys, many)


def _is_worth_thinning(keys: Keys, many: int) -> bool:
    """Whether the table is large enough, and of a kind, for which leaving keys out saves time."""
    draws = keys.draws
    if not isinstance(draws, OnePerKey) or draws.copies is not None:
        return False
    plain = keys.scale > 0 and keys.law is not CONSTANT
    rows, columns = keys.shape
    large = columns >= _WORTH_IT * _BLOCK if rows == 1 else rows * columns >= LARGE
    return plain and keys.scores.approx.ndim == 1 and large and columns >= _WORTH_IT * many


def _thin_by_rows(keys: Keys, many: int) -> Iterator[tuple[int, Shortlist]]:
    """Shortlists of many rows, as many rows at a time as fit the cache."""
    bar = _expected_bar(keys, many)
    found = _uniforms_above(keys, bar)
    width = 1 + found.full.shape[1] + len(found.row) // keys.shape[0]
    size = max(1, _CELLS // width)
    for first in range(0, keys.shape[0], size):
        shortlist = _shortlist_table(keys, found.rows(first, first + size))
        if not _all_rows_reach(shortlist, bar + keys.error, many):
            shortlist = _with_lowered_bar(keys, many).rows(first, first + size)
        yield first, shortlist


def _with_lowered_bar(keys: Keys, many: int) -> Shortlist:
    """Shortlists of all rows, with a bar low enough for every row."""
    wanted = many
    while True:
        wanted *= 2
        bar = _expected_bar(keys, wanted)
        shortlist = _shortlist_table(keys, _uniforms_above(keys, bar))
        if bar == -np.inf or _all_rows_reach(shortlist, bar + keys.error, many):
            return shortlist


def _all_rows_reach(shortlist: Shortlist, bar: float, many: int) -> bool:
    """Whether at least `many` keys of every row certainly reach the bar."""
    return bool((np.count_nonzero((shortlist.values >= bar) & ~shortlist.edge, axis=1) >= many).all())


def _bar_from_prefix(keys: Keys, many: int) -> float:
    """A value that at least `many` keys certainly reach, computed from the first columns of a single row."""
    prefix = _PREFIX * many
    (words,) = _single_uniforms(keys).words
    values, edge = _rough_keys(keys, words[:prefix], slice(prefix))
    if edge.any():
        values[edge] = -np.inf
    return float(np.partition(values, prefix - many)[prefix - many]) - keys.error


def _expected_bar(keys: Keys, many: int) -> float:
    """A value that at least `many` keys of almost every row exceed; -inf if half of the keys are needed.

    Only the first columns are evaluated one by one, the others at intervals: an inexact bar costs time, and gives the
    same result.
    """
    scores, scale = keys.scores.approx, float(keys.scale)
    if 2 * (many + _SPARE * math.sqrt(many)) > len(scores):
        return -math.inf
    first = min(len(scores), max(_LOOKED_AT, 2 * many))
    stride = 1 + (len(scores) - first) // _LOOKED_AT
    looked_at = np.concatenate([scores[:first], scores[first::stride]])
    weight = np.ones(len(looked_at))
    weight[first:] = stride

    def expected_surplus(bar: float) -> float:
        below = keys.law.cdf((bar - looked_at) / scale)
        deviation = math.sqrt(weight @ (below * (1 - below)))
        return float(weight.sum() - weight @ below - many - _SPARE * deviation - _SPARE_AT_LEAST)

    low = high = float(np.partition(scores[:first], first - many)[first - many])
    step, spare = scale, expected_surplus(low)
    while spare < 0:
        low, high = low - step, low
        step *= 2
        spare = expected_surplus(low)
    while low == high:
        high = low + step
        if (above := expected_surplus(high)) >= 0:
            low, spare = high, above
            step *= 2
    for _ in range(_HALVINGS):
        if spare < _CLOSE * many:  # a higher bar would save little
            break
        middle = (low + high) / 2
        if (between := expected_surplus(middle)) >= 0:
            low, spare = middle, between
        else:
            high = middle
    return low


def _keys_above(keys: Keys, bar: float) -> Shortlist:
    """Every key of a single row that may reach the bar."""
    (words,) = _single_uniforms(keys).words
    places = np.flatnonzero(words >= _least_words(keys, bar, _BLOCK))
    values, edge = _rough_keys(keys, words[places], places)
    return Shortlist(values[None, :], edge[None, :], places[None, :])


def _uniforms_above(keys: Keys, bar: float) -> SparseHits:
    """Uniforms of several rows with which a key may reach the bar."""
    return _single_uniforms(keys).hits_above(_least_words(keys, bar, 1 + keys.shape[1] // _JUDGED))


def _least_words(keys: Keys, bar: float, block: int) -> NDArray[np.uint64]:
    """For each column, the least word with which a key may reach the bar; one for each block of columns."""
    scores = keys.scores.approx
    ceilings = np.maximum.reduceat(scores, np.arange(0, len(scores), block))
    reach = keys.law.cdf(((bar - keys.error) - ceilings) / float(keys.scale))
    return (reach * (_SAFE * 2.0**WORD)).astype(np.uint64).repeat(block)[: len(scores)]


def rough_chosen(keys: Keys, chosen: Indices) -> tuple[Floats, Marks]:
    """Rough values of the chosen columns of every row, and which of them are unreliable."""
    draws = keys.draws
    if not isinstance(draws, OnePerKey) or draws.copies is not None or keys.scores.approx.ndim > 1:
        return np.take_along_axis(keys.rough_values, chosen, axis=1), np.take_along_axis(
            keys.unreliable, chosen, axis=1
        )
    starts = np.arange(keys.shape[0])[:, None] * keys.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):  # the words that cause these are in `edge`
        values, edge = _rough_keys(keys, draws.uniforms.words_at(starts + chosen), chosen)
    values[edge] = 0.0  # any finite number: they are recomputed exactly
    return values, edge


def _rough_keys(keys: Keys, words: NDArray[np.uint64], columns: Indices | slice) -> tuple[Floats, Marks]:
    """Rough values of some keys, and which of them are unreliable."""
    values = keys.rough_keys(rough_points(words), keys.scores.approx[columns])
    return values, unreliable_words(words) if keys.draws.first_bits == WORD else np.ones(words.shape, dtype=np.bool_)


def _shortlist_table(keys: Keys, found: SparseHits) -> Shortlist:
    """Table of the keys that remain, as wide as its longest row: columns found in all rows first."""
    rows, whole = found.full.shape
    sizes = np.bincount(found.row, minlength=rows)
    shape = rows, whole + int(sizes.max())
    values, edge, names = np.full(shape, -np.inf), np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
    values[:, :whole], edge[:, :whole] = _rough_keys(keys, found.full, found.every)
    names[:, :whole] = found.every
    place = whole + np.arange(len(found.row)) - (np.cumsum(sizes) - sizes)[found.row]
    values[found.row, place], edge[found.row, place] = _rough_keys(keys, found.word, found.column)
    names[found.row, place] = found.column
    return Shortlist(values, edge, names, np.arange(shape[1]) < whole + sizes[:, None])


def _single_uniforms(keys: Keys) -> Uniforms:
    """Uniforms of keys with one uniform each."""
    assert isinstance(keys.draws, OnePerKey)
    return keys.draws.uniforms
