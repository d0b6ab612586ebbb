"""The field: the keys that are still in the race, with rough values.

Before any logarithm is taken, most keys of a long row can be left out with certainty. Take any bar that the last
wanted key certainly reaches: a key reaches it only if its uniform exceeds `F((bar - score) / scale)`, so one comparison
of whole numbers leaves the others out. For a single row the bar comes from a pilot of its first columns; for many it is
where so many keys are expected above it that too few are hardly ever found, which is looked at afterwards. It is
quickest when scores come in descending order, as they do in a histogram; it is right for any order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.draws import Single, edge_words, rough_points
from crestline.randomness.keys import Keys
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.points import Floats
from crestline.randomness.uniforms import WORD, Uniforms

Indices = NDArray[np.int64]
Marks = NDArray[np.bool_]

_BLOCK = 128  # mutate: speed
_PILOT = 2  # mutate: a longer pilot costs time, and gives as certain a bar
_WORTH_IT = 8  # mutate: speed
# How many standard deviations more keys than wanted are expected above the bar: it is missed by one row in 10^4.
_SPARE = 4.0  # mutate: any bar is looked at afterwards: speed
_HALVINGS = 3  # mutate: speed, as above
# So many columns of a long row are looked at one by one.
_LOOKED_AT = 1 << 13  # mutate: speed
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
    if keys.shape[0] == 1:
        return _above(keys, _pilot_bar(keys, many), _BLOCK)
    wanted = many
    while True:
        bar = _expected_bar(keys, wanted + _SPARE * math.sqrt(wanted))  # mutate: any bar is looked at below: speed
        race = _above(keys, bar, 1 + keys.shape[1] // _LOOKED_AT)
        reached = np.count_nonzero((race.values >= bar + keys.margin) & ~race.edge, axis=1)
        if (reached >= many).all() or bar == -np.inf:
            return race
        wanted *= 2  # mutate: how fast a bar is lowered: speed


def _pilot_bar(keys: Keys, many: int) -> float:
    """What the wanted keys certainly reach, from the first columns of a single row."""
    pilot = _PILOT * many
    values, edge = _rough(keys, _single(keys).words.ravel()[:pilot], slice(pilot))
    if edge.any():
        values[edge] = -np.inf
    return float(np.partition(values, pilot - many)[pilot - many]) - keys.margin


def _expected_bar(keys: Keys, wanted: float) -> float:
    """A bar above which about so many keys are expected; none when that takes half of them.

    Of a long row only the first columns are looked at one by one, the others at intervals: what the bar lacks in
    precision costs time, never truth.
    """
    scores, scale = keys.scores.approx, float(keys.scale)
    if 2 * wanted > len(scores):
        return -math.inf
    head = scores[: max(_LOOKED_AT, 2 * math.ceil(wanted))]
    stride = 1 + (len(scores) - len(head)) // _LOOKED_AT
    rest = scores[len(head) :: stride]
    place = len(head) - math.ceil(wanted)
    low = high = float(np.partition(head, place)[place])

    def expected(bar: float) -> float:
        near, far = (len(part) - float(keys.law.cdf((bar - part) / scale).sum()) for part in (head, rest))
        return near + stride * far

    step = scale
    while expected(low) < wanted:
        low, high = low - step, low
        step *= 2  # mutate: how fast the bracket grows: speed
    while low == high or expected(high) >= wanted:
        low, high = high, high + step
        step *= 2  # mutate: as above
    for _ in range(_HALVINGS):
        middle = (low + high) / 2  # mutate: every bar is right, this one is close
        low, high = (middle, high) if expected(middle) >= wanted else (low, middle)
    return low


def _above(keys: Keys, bar: float, block: int) -> Field:
    """Every key that may reach the bar; columns are judged by blocks."""
    uniforms, scores = _single(keys), keys.scores.approx
    rows, columns = uniforms.shape
    ceilings = scores if block == 1 else np.maximum.reduceat(scores, np.arange(0, columns, block))
    reach = keys.law.cdf((bar - (ceilings + keys.margin)) / float(keys.scale)) * _SAFE
    least = (reach * 2.0**uniforms.head_bits).astype(uniforms.heads.dtype)
    places = np.flatnonzero(uniforms.heads >= least.repeat(block)[:columns])
    words = uniforms.words_at(places)
    if rows == 1:
        values, edge = _rough(keys, words, places)
        return Field(values[None, :], edge[None, :], places[None, :])
    starts = np.arange(rows + 1) * columns
    sizes = np.diff(places.searchsorted(starts))
    row = np.arange(rows).repeat(sizes)
    column = places - starts[row]
    return _table(sizes, row, column, *_rough(keys, words, column))


def _rough(keys: Keys, words: NDArray[np.uint64], columns: Indices | slice) -> tuple[Floats, Marks]:
    """Rough values of some keys, and which of them must not be relied on."""
    return keys.rough_of(rough_points(words), keys.scores.approx[columns]), edge_words(words)


def _table(sizes: Indices, row: Indices, column: Indices, values: Floats, edge: Marks) -> Field:
    """The keys that are left, row by row, as a table as wide as its longest row."""
    rows, width = len(sizes), int(sizes.max())
    place = np.arange(len(row)) + (np.arange(rows) * width - (np.cumsum(sizes) - sizes))[row]
    table = np.full(rows * width, -np.inf)
    edges = np.zeros(rows * width, dtype=np.bool_)
    names = np.zeros(rows * width, dtype=np.int64)
    table[place], edges[place], names[place] = values, edge, column
    shape = rows, width
    return Field(table.reshape(shape), edges.reshape(shape), names.reshape(shape), np.arange(width) < sizes[:, None])


def _single(keys: Keys) -> Uniforms:
    assert isinstance(keys.draws, Single)
    return keys.draws.uniforms
