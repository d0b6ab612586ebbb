"""Sparse uniforms: where only the largest uniforms of a column can matter, only those are ever drawn.

A table holds independent bit strings. Whether a string begins with `level` ones is an event of probability
`2^-level`, independent of all that follows in it and of every other string. So one may first draw which cells of a
column begin so, by the gaps between them (each gap is geometric, and decided with certainty), and then the further
bits of those alone. The joint law of all strings is that of fair coins. What was passed over can still be asked for:
it is drawn on the condition that it does not begin with so many ones.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.precision import precision
from crestline.randomness.uniforms import WORD, SparseHits, Tail, Uniforms

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]

_SEARCHED = (2, 4, 8, 16)  # any ascending levels would do
LEVELS = (0, *_SEARCHED)
# The least word that begins with so many ones; every word reaches the level 0.
_ONES = {level: np.uint64((1 << WORD) - (1 << (WORD - level))) for level in _SEARCHED}
# Looking for cells by their gaps costs about as much as drawing so many.
_FEW = 1 << 12
# How many standard deviations and gaps more than expected are drawn at a time.
_SPARE = 4
# From here on the first 64 bits give a logarithm to 2^-39: a word says no less, and a double rounds by far less.
_SMALL = np.uint64(1 << 40)
_LOGARITHM = 2.0**-39


class WordSource(Protocol):
    """What sparse uniforms draw from."""

    def words(self, n: int) -> Words: ...

    def uniforms(self, rows: int, columns: int) -> Uniforms: ...


class SparseUniforms(Uniforms):
    """A table of uniforms of which nothing is drawn before it is asked for."""

    def __init__(self, shape: tuple[int, int], first_bits: int, tail: Tail, source: WordSource) -> None:
        self._shape = shape
        self._source = source
        self._found: SparseHits | None = None
        self.first_bits = first_bits
        self.tail = tail

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @cached_property
    def words(self) -> Words:
        table = self._source.words(math.prod(self._shape)).reshape(self._shape)
        if self._found is not None:
            for level, ones in _ONES.items():
                self._redraw_columns(table, np.flatnonzero(self._levels == level), ones)
            table[:, self._found.every] = self._found.full
            table[self._found.row, self._found.column] = self._found.word
        return table

    def words_at(self, positions: Indices) -> Words:
        if "words" not in self.__dict__ and self._found is not None:
            known = self._known_words(positions)
            if known is not None:
                return known
        return super().words_at(positions)

    def hits_above(self, least: Words) -> SparseHits:
        if self._found is not None or "words" in self.__dict__:
            return super().hits_above(least)
        rows, _ = self._shape
        self._levels = _merge_levels(np.searchsorted(list(_ONES.values()), least, side="right"), rows)
        every = np.flatnonzero(self._levels == 0)
        full = self._source.words(rows * len(every)).reshape(rows, len(every))
        row, column, word = self._single_cells()
        self._found = SparseHits(every, full, row, column, word)
        kept = np.flatnonzero(word >= least[column])
        kept = kept[np.argsort(row[kept], kind="stable")]
        return SparseHits(every, full, row[kept], column[kept], word[kept])

    def _known_words(self, positions: Indices) -> Words | None:
        """The words at these places when all of them were found."""
        found = self._found
        assert found is not None
        row, column = np.divmod(positions, self._shape[1])
        result = np.empty(positions.shape, dtype=np.uint64)
        at, whole = _look_up(found.every, column)
        result[whole] = found.full[row[whole], at[whole]]
        at, single = _look_up(self._single_places[0], positions[~whole])
        if not single.all():
            return None
        result[~whole] = self._single_places[1][at]
        return result

    @cached_property
    def _single_places(self) -> tuple[Indices, Words]:
        """The places of single cells that were found, in ascending order, and their words."""
        found = self._found
        assert found is not None
        places = found.row * self._shape[1] + found.column
        order = np.argsort(places)
        return places[order], found.word[order]

    def _single_cells(self) -> tuple[Indices, Indices, Words]:
        """Row, column and word of every cell that begins with as many ones as its column asks for."""
        rows: list[Indices] = [np.zeros(0, dtype=np.int64)]
        columns, words = rows.copy(), [np.zeros(0, dtype=np.uint64)]
        for level, ones in _ONES.items():
            group = np.flatnonzero(self._levels == level)
            found = mark_cells(self._shape[0] * len(group), level, self._source)
            row, place = np.divmod(found, len(group))
            rows.append(row)
            columns.append(group[place])
            words.append((self._source.words(len(found)) >> np.uint64(level)) | ones)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(words)

    def _redraw_columns(self, table: Words, columns: Indices, ones: np.uint64) -> None:
        """Draw words of these columns anew until none begins with so many ones."""
        while len(again := np.argwhere(table[:, columns] >= ones)):
            table[again[:, 0], columns[again[:, 1]]] = self._source.words(len(again))


def _look_up(known: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Where each number stands among ascending ones, or where it would; and whether it is there."""
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return at, known[at] == wanted if len(known) else np.zeros(wanted.shape, dtype=np.bool_)


def mark_cells(cells: int, level: int, source: WordSource) -> Indices:
    """Which of so many cells are marked, when each is by itself with probability `2^-level`; in ascending order."""
    found: list[Indices] = [np.zeros(0, dtype=np.int64)]
    last = -1
    while last < cells - 1:
        mean = (cells - 1 - last) * 2.0**-level  # an estimate: how many gaps are drawn at a time
        gaps = skip_lengths(source.uniforms(1, math.ceil(mean + _SPARE * math.sqrt(mean)) + _SPARE), level, cells)
        places = last + np.cumsum(gaps + 1)
        found.append(places[: np.searchsorted(places, cells)])
        last = int(places[-1])
    return np.concatenate(found)


def skip_lengths(uniforms: Uniforms, level: int, most: int) -> Indices:
    """How many cells are passed over before a marked one: the whole part of `ln U / ln(1 - 2^-level)`, or `most`.

    It is at least g exactly when `U ≤ (1 - 2^-level)^g`: with the probability that g cells in a row are not marked.
    """
    (words,) = uniforms.words
    with np.errstate(divide="ignore"):  # the word 0: looked at again below
        lengths = np.log(words * 2.0**-WORD) / math.log1p(-(2.0**-level))
    lengths = np.minimum(lengths, most + 0.5)
    result: Indices = np.floor(lengths).astype(np.int64)
    unsure = np.abs(lengths - np.rint(lengths)) <= _LOGARITHM * 2.0**level  # no length is above 45 · 2^level
    unsure |= words < _SMALL
    if uniforms.first_bits < WORD:
        unsure[:] = True
    for index in np.flatnonzero(unsure):
        result[index] = _skip_length_exactly(uniforms, int(index), level, most)
    return result


def _skip_length_exactly(uniforms: Uniforms, index: int, level: int, most: int) -> int:
    bits = uniforms.first_bits
    while True:
        with precision(2 * bits + WORD):  # the ball carries its own error
            length = uniforms.ball(index, bits).log() / (1 - arb(2) ** -level).log()
            whole = length.min(most).floor().unique_fmpz()
        if whole is not None:
            return int(whole)
        bits *= 2


def _merge_levels(levels: Indices, rows: int) -> Indices:
    """Levels by their place in `LEVELS`, as levels; columns too few to be worth a search go to the next lower one."""
    sizes = np.bincount(levels, minlength=len(LEVELS))
    lowered = list(range(len(LEVELS)))
    for place in range(len(LEVELS) - 1, 0, -1):
        if sizes[place] * rows * 2.0 ** -LEVELS[place - 1] < _FEW:
            sizes[place - 1] += sizes[place]
            for above in range(place, len(LEVELS)):
                if lowered[above] == place:
                    lowered[above] = place - 1
    return np.array(LEVELS)[lowered][levels]
