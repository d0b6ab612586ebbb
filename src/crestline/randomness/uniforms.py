"""Uniforms in (0, 1) as infinite bit strings: 64 bits are drawn first, more where a decision needs them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Indices = NDArray[np.int64]
Tail = Callable[[int, int], int]

WORD = 64
# Tables of several rows with this many uniforms or more draw only those that may matter (sparse_uniforms.py).
LARGE = 1 << 14


@dataclass(frozen=True)
class SparseHits:
    """Uniforms found by a search: all rows of some columns, and single cells of others, in ascending order of rows.

    Attributes:
        every: Columns found in all rows.
        full: Their words, a row for each row of the table.
        row: Row of each single cell.
        column: Column of each single cell.
        word: Word of each single cell.
    """

    every: Indices
    full: Words
    row: Indices
    column: Indices
    word: Words

    def rows(self, first: int, last: int) -> SparseHits:
        """Those in rows `first` to `last`, without the last; rows are counted from `first`."""
        one = slice(*self.row.searchsorted([first, last]))
        return SparseHits(self.every, self.full[first:last], self.row[one] - first, self.column[one], self.word[one])


class Uniforms:
    """A table of uniforms in (0, 1). Row after row, uniform `index` is `0.b₁b₂b₃…` in binary.

    Attributes:
        words: First 64 bits of each.
        first_bits: Bits that may be used before refinement starts (64; fewer in tests).
        tail: `tail(index, bits)` returns the first `bits` bits after the 64th.
    """

    def __init__(self, words: Words, first_bits: int, tail: Tail) -> None:
        self._drawn = words
        self.first_bits = first_bits
        self.tail = tail

    @property
    def words(self) -> Words:
        """First 64 bits of each uniform."""
        return self._drawn

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self._drawn.shape
        return rows, columns

    def words_at(self, positions: Indices) -> Words:
        """First 64 bits of some uniforms, whose indices count row after row."""
        return self.words.ravel()[positions]

    def hits_above(self, least: Words) -> SparseHits:
        """All uniforms with a word of at least `least[column]`; a subclass may include others."""
        rows, columns = self.shape
        places = np.flatnonzero(self.words >= least)
        starts = np.arange(rows + 1) * columns
        row = np.arange(rows).repeat(np.diff(places.searchsorted(starts)))
        none = np.zeros(0, dtype=np.int64)
        return SparseHits(none, self.words[:, none], row, places - starts[row], self.words.ravel()[places])

    def prefix(self, index: int, bits: int) -> int:
        """First `bits` bits of one uniform, as an integer."""
        (first,) = self.prefixes([index], min(bits, WORD))
        return first if bits <= WORD else (first << (bits - WORD)) | self.tail(index, bits - WORD)

    def prefixes(self, indices: Sequence[int], bits: int) -> list[int]:
        """First `bits` bits of several uniforms, at most 64, as integers."""
        words = self.words_at(np.array(indices, dtype=np.int64))
        return [word >> (WORD - bits) for word in words.tolist()]

    def ball(self, index: int, bits: int) -> arb:
        """A ball that contains the uniform: the interval of all numbers with its first `bits` bits."""
        middle = fmpz(2 * self.prefix(index, bits) + 1)
        return arb(middle, 1) * arb(2) ** -(bits + 1)


def select_columns(uniforms: Uniforms, columns: NDArray[np.int64]) -> Uniforms:
    """Some columns of a table, different ones in every row; the uniforms and their tails are the same."""
    width, many = uniforms.shape[1], columns.shape[1]

    def tail(index: int, bits: int) -> int:
        row, place = divmod(index, many)
        return uniforms.tail(row * width + int(columns[row, place]), bits)

    places = columns + np.arange(len(columns))[:, None] * width
    return Uniforms(uniforms.words_at(places), uniforms.first_bits, tail)


def rearrange(uniforms: Uniforms, positions: Indices) -> Uniforms:
    """Some uniforms of a table, by indices that count row after row, with their tails, as a table of another shape."""

    def tail(index: int, bits: int) -> int:
        return uniforms.tail(int(positions.flat[index]), bits)

    return Uniforms(uniforms.words_at(positions), uniforms.first_bits, tail)


def interleave(parts: Sequence[Uniforms], groups: int) -> Uniforms:
    """Join tables with equally many columns for every group: all columns of the first group come first, and so on."""
    (rows,) = {part.shape[0] for part in parts}
    shaped = [(part, part.shape[1] // groups) for part in parts]
    depth = sum(width for _, width in shaped)
    blocks = [part.words.reshape(rows, groups, width) for part, width in shaped]

    def tail(index: int, bits: int) -> int:
        group, rank = divmod(index, depth)  # the number of the group counts through all rows
        for part, width in shaped:
            if rank < width:
                return part.tail(group * width + rank, bits)
            rank -= width
        raise IndexError(index)

    words = np.concatenate(blocks, axis=2).reshape(rows, groups * depth)
    return Uniforms(words, min(part.first_bits for part in parts), tail)
