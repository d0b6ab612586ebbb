"""Sparse uniforms: where only the largest uniforms of a column can matter, only those are drawn.

A table holds independent bit strings. Whether a string begins with `level` ones is an event of probability `2^-level`,
independent of all that follows in it and of every other string. So one may first draw which cells of a column begin
with them, by the gaps between these cells (each gap is geometric, and decided with certainty), and then the further
bits of those cells alone. The joint law of all strings is that of fair coins. The other cells can still be read: they
are then drawn conditionally on not beginning with `level` ones.
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

_SEARCHED = (2, 4, 8, 16)  # any ascending levels would be correct
LEVELS = (0, *_SEARCHED)
# Least word that begins with `level` ones; every word reaches level 0.
_ONES = {level: np.uint64((1 << WORD) - (1 << (WORD - level))) for level in _SEARCHED}
# Number of cells whose drawing takes about as long as a search by gaps.
_FEW = 1 << 12
# Standard deviations, and gaps, drawn at a time in addition to those expected.
_SPARE = 4
# The logarithm of the first 64 bits of a word from 2^40 on has an error below 2^-39; that of a double is far smaller.
_SMALL = np.uint64(1 << 40)
_LOGARITHM = 2.0**-39


class WordSource(Protocol):
    """Source that sparse uniforms draw from."""

    def words(self, n: int) -> Words: ...

    def uniforms(self, rows: int, columns: int) -> Uniforms: ...


class SparseUniforms(Uniforms):
    """A table of uniforms that draws only what is read."""

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
        """First 64 bits of all uniforms; those not drawn before are drawn now."""
        table = self._source.words(math.prod(self._shape)).reshape(self._shape)
        if self._found is not None:
            for level, ones in _ONES.items():
                self._redraw_columns(table, np.flatnonzero(self._levels == level), ones)
            table[:, self._found.every] = self._found.full
            table[self._found.row, self._found.column] = self._found.word
        return table

    def words_at(self, positions: Indices) -> Words:
        """First 64 bits of some uniforms, from those already found where all of them were."""
        if "words" not in self.__dict__ and self._found is not None:
            known = self._known_words(positions)
            if known is not None:
                return known
        return super().words_at(positions)

    def hits_above(self, least: Words) -> SparseHits:
        """As `Uniforms.hits_above`; the first call draws only words of the levels that `least` requires."""
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
        """Words at these positions; None if some were not found."""
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
        """Positions of the single cells that were found, ascending, and their words."""
        found = self._found
        assert found is not None
        places = found.row * self._shape[1] + found.column
        order = np.argsort(places)
        return places[order], found.word[order]

    def _single_cells(self) -> tuple[Indices, Indices, Words]:
        """Row, column and word of every cell that begins with as many ones as the level of its column."""
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
        """Draw words of these columns again until none is at least `ones`."""
        while len(again := np.argwhere(table[:, columns] >= ones)):
            table[again[:, 0], columns[again[:, 1]]] = self._source.words(len(again))


def _look_up(known: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Position of each number among ascending ones, and whether it is there."""
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return at, known[at] == wanted if len(known) else np.zeros(wanted.shape, dtype=np.bool_)


def mark_cells(cells: int, level: int, source: WordSource) -> Indices:
    """Ascending indices of marked cells, when each of `cells` is marked independently with probability `2^-level`."""
    found: list[Indices] = [np.zeros(0, dtype=np.int64)]
    last = -1
    while last < cells - 1:
        mean = (cells - 1 - last) * 2.0**-level  # expected number of marked cells in the rest
        gaps = skip_lengths(source.uniforms(1, math.ceil(mean + _SPARE * math.sqrt(mean)) + _SPARE), level, cells)
        places = last + np.cumsum(gaps + 1)
        found.append(places[: np.searchsorted(places, cells)])
        last = int(places[-1])
    return np.concatenate(found)


def skip_lengths(uniforms: Uniforms, level: int, most: int) -> Indices:
    """Number of unmarked cells before a marked one: the whole part of `ln U / ln(1 - 2^-level)`, at most `most`.

    It is at least g exactly when `U ≤ (1 - 2^-level)^g`: with the probability that g cells in a row are not marked.
    """
    (words,) = uniforms.words
    with np.errstate(divide="ignore"):  # the word 0 is decided exactly below
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
    """One skip length, decided with more bits of its uniform until it is certain."""
    bits = uniforms.first_bits
    while True:
        with precision(2 * bits + WORD):  # the ball carries its own error
            length = uniforms.ball(index, bits).log() / (1 - arb(2) ** -level).log()
            whole = length.min(most).floor().unique_fmpz()
        if whole is not None:
            return int(whole)
        bits *= 2


def _merge_levels(levels: Indices, rows: int) -> Indices:
    """Levels from their indices in `LEVELS`; columns too few to be worth a search get the next lower level."""
    sizes = np.bincount(levels, minlength=len(LEVELS))
    lowered = list(range(len(LEVELS)))
    for place in range(len(LEVELS) - 1, 0, -1):
        if sizes[place] * rows * 2.0 ** -LEVELS[place - 1] < _FEW:
            sizes[place - 1] += sizes[place]
            for above in range(place, len(LEVELS)):
                if lowered[above] == place:
                    lowered[above] = place - 1
    return np.array(LEVELS)[lowered][levels]
