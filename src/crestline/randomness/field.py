"""The field: the keys that are still in the race, with rough values.

Before any logarithm is taken, most keys of a long row can be left out with certainty. A pilot of columns gives a bar
that the last wanted key certainly reaches; a key reaches it only if its uniform exceeds `F((bar - score) / scale)`,
and the largest score of a block of columns bounds that from below. One comparison of whole numbers does the rest. It is
quickest when scores come in descending order, as they do in a histogram; it is right for any order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.draws import Single, edge_words, rough_points
from crestline.randomness.keys import Keys
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.points import Floats
from crestline.randomness.uniforms import WORD

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]

_BLOCK = 128
_PILOT = 2
_WORTH_IT = 8
# The doubles of a distribution function are right to far more than this relative error.
_SAFE = 1.0 - 2.0**-20


@dataclass(frozen=True)
class Field:
    """Rough values of the keys in the race; row by row, `columns` says which they are (None: all of them, in order).

    `edge` marks values that must not be relied on; `present` is false where there is no key.
    """

    values: Floats
    edge: Marks
    columns: Indices | None = None
    present: Marks | None = None

    def names(self, places: Indices) -> Indices:
        """The columns behind places of the field."""
        return places if self.columns is None else self.columns[np.arange(len(places))[:, None], places]

    def contenders(self, row: int, k: int, margin: float) -> list[int]:
        """Every column of a row that could be among its `k` largest."""
        present = np.ones(self.values.shape[1], dtype=np.bool_) if self.present is None else self.present[row]
        values, edge = self.values[row], self.edge[row]
        trusted = values[present & ~edge]
        if len(trusted) > k:
            bar = np.partition(trusted, len(trusted) - k)[len(trusted) - k]
            present = present & (edge | (values >= bar - 2 * margin))
        columns = np.flatnonzero(present) if self.columns is None else self.columns[row][present]
        return [int(column) for column in columns]


def field(keys: Keys, many: int) -> Field:
    """The keys that may be among the `many` largest of their rows."""
    if _worth_thinning(keys, many):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # words at the very ends: `edge` marks them
            return _thinned(keys, many)
    missing = keys.draws.missing()
    return Field(keys.rough, keys.edge, None, None if missing is None else ~missing)


def _worth_thinning(keys: Keys, many: int) -> bool:
    draws = keys.draws
    if not isinstance(draws, Single) or draws.copies is not None:
        return False
    plain = draws.first_bits == WORD and keys.scale > 0 and keys.law is not CONSTANT
    return plain and keys.scores.approx.ndim == 1 and keys.shape[1] >= max(_WORTH_IT * many, _WORTH_IT * _BLOCK)


def _thinned(keys: Keys, many: int) -> Field:
    assert isinstance(keys.draws, Single)
    words, scores = keys.draws.uniforms.words, keys.scores.approx
    pilot = _PILOT * many
    head = _Stretch(keys, words[:, :pilot], scores[:pilot])
    sure = np.where(head.edge, -np.inf, head.values) if head.edge.any() else head.values
    bar = np.partition(sure, pilot - many, axis=1)[:, pilot - many, None]
    alive = words[:, pilot:] >= _least(keys, bar, scores[pilot:])
    places = np.flatnonzero(alive)
    if not len(places):
        return Field(head.values, head.edge)  # the pilot is all that is left, and it stands in order
    row, column = np.divmod(places, alive.shape[1])
    column += pilot
    tail = _Stretch(keys, words[row, column], scores[column])
    return _one_row(head, tail, column) if len(words) == 1 else _rows(head, tail, row, column)


class _Stretch:
    """Some keys: their rough values, and which of them must not be relied on."""

    def __init__(self, keys: Keys, words: NDArray[np.uint64], scores: Floats) -> None:
        self.values = keys.rough_of(rough_points(words), scores)
        self.edge = edge_words(words)


def _least(keys: Keys, bar: Floats, scores: Floats) -> NDArray[np.uint64]:
    """For every row and column a word below which the key certainly stays under the bar of its row."""
    ceilings = np.maximum.reduceat(scores, np.arange(0, len(scores), _BLOCK))
    reach = keys.law.cdf((bar - (ceilings + 2 * keys.margin)) / float(keys.scale))
    least = (reach * (_SAFE * 2.0**WORD)).astype(np.uint64)
    return least.repeat(_BLOCK, axis=1)[:, : len(scores)]


def _one_row(head: _Stretch, tail: _Stretch, column: Indices) -> Field:
    pilot = np.arange(head.values.shape[1])
    return Field(
        np.concatenate((head.values[0], tail.values))[None, :],
        np.concatenate((head.edge[0], tail.edge))[None, :],
        np.concatenate((pilot, column))[None, :],
    )


def _rows(head: _Stretch, tail: _Stretch, row: Indices, column: Indices) -> Field:
    """The pilot, and behind it, row by row, the keys beyond the pilot that are still in the race."""
    rows, pilot = head.values.shape
    sizes = np.bincount(row, minlength=rows)
    width = pilot + int(sizes.max())
    rank = pilot + np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values, edge = np.full((rows, width), -np.inf), np.zeros((rows, width), dtype=np.bool_)
    names = np.zeros((rows, width), dtype=np.int64)
    values[:, :pilot], edge[:, :pilot], names[:, :pilot] = head.values, head.edge, np.arange(pilot)
    values[row, rank], edge[row, rank], names[row, rank] = tail.values, tail.edge, column
    return Field(values, edge, names, np.arange(width) < pilot + sizes[:, None])
