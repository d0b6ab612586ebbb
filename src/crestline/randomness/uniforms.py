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
# So many uniforms in several rows are not drawn before it is known which of them may matter (sparse.py).
LARGE = 1 << 14


@dataclass(frozen=True)
class SparseHits:
    """Uniforms that were looked for: all of some columns, and single ones of others, in ascending order of rows."""

    every: Indices
    full: Words
    row: Indices
    column: Indices
    word: Words

    def rows(self, first: int, last: int) -> SparseHits:
        """What was found in some rows, which are counted from the first of them."""
        one = slice(*self.row.searchsorted([first, last]))
        return SparseHits(self.every, self.full[first:last], self.row[one] - first, self.column[one], self.word[one])


class Uniforms:
    """A table of uniforms in (0, 1). Row after row, uniform `index` is `0.b₁b₂b₃…` in binary.

    words        the first 64 bits of each
    first_bits   how many bits may be used before refinement starts (64; fewer in tests)
    tail         `tail(index, bits)`: the first `bits` bits after the 64th
    """

    def __init__(self, words: Words, first_bits: int, tail: Tail) -> None:
        self._drawn = words
        self.first_bits = first_bits
        self.tail = tail

    @property
    def words(self) -> Words:
        """The first 64 bits of each."""
        return self._drawn

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self._drawn.shape
        return rows, columns

    def words_at(self, positions: Indices) -> Words:
        """The first 64 bits of some, counted row after row."""
        return self.words.ravel()[positions]

    def hits_above(self, least: Words) -> SparseHits:
        """Every uniform whose word is no less than that of its column; others may come along."""
        rows, columns = self.shape
        places = np.flatnonzero(self.words >= least)
        starts = np.arange(rows + 1) * columns
        row = np.arange(rows).repeat(np.diff(places.searchsorted(starts)))
        none = np.zeros(0, dtype=np.int64)
        return SparseHits(none, self.words[:, none], row, places - starts[row], self.words.ravel()[places])

    def prefix(self, index: int, bits: int) -> int:
        """The first `bits` bits of one uniform, as a whole number."""
        (first,) = self.prefixes([index], min(bits, WORD))
        return first if bits <= WORD else (first << (bits - WORD)) | self.tail(index, bits - WORD)

    def prefixes(self, indices: Sequence[int], bits: int) -> list[int]:
        """The first `bits` bits of several uniforms, at most 64, as whole numbers."""
        words = self.words_at(np.array(indices, dtype=np.int64))
        return [word >> (WORD - bits) for word in words.tolist()]

    def ball(self, index: int, bits: int) -> arb:
        """A ball that contains the uniform, from its first `bits` bits: midpoint of the interval, half its width."""
        middle = fmpz(2 * self.prefix(index, bits) + 1)
        return arb(middle, 1) * arb(2) ** -(bits + 1)


def select_columns(uniforms: Uniforms, columns: NDArray[np.int64]) -> Uniforms:
    """Some columns of a table, others in every row; they are the same uniforms, with the same tails."""
    width, many = uniforms.shape[1], columns.shape[1]

    def tail(index: int, bits: int) -> int:
        row, place = divmod(index, many)
        return uniforms.tail(row * width + int(columns[row, place]), bits)

    places = columns + np.arange(len(columns))[:, None] * width
    return Uniforms(uniforms.words_at(places), uniforms.first_bits, tail)


def rearrange(uniforms: Uniforms, positions: Indices) -> Uniforms:
    """Some uniforms of a table, counted row after row, in a table of another shape; the same ones, with their tails."""

    def tail(index: int, bits: int) -> int:
        return uniforms.tail(int(positions.flat[index]), bits)

    return Uniforms(uniforms.words_at(positions), uniforms.first_bits, tail)


def interleave(parts: Sequence[Uniforms], groups: int) -> Uniforms:
    """Tables with equally many columns for every group: all columns of the first group come first, and so on."""
    (rows,) = {part.shape[0] for part in parts}
    shaped = [(part, part.shape[1] // groups) for part in parts]
    depth = sum(width for _, width in shaped)
    blocks = [part.words.reshape(rows, groups, width) for part, width in shaped]

    def tail(index: int, bits: int) -> int:
        group, rank = divmod(index, depth)  # groups are counted through all rows
        for part, width in shaped:
            if rank < width:
                return part.tail(group * width + rank, bits)
            rank -= width
        raise IndexError(index)

    words = np.concatenate(blocks, axis=2).reshape(rows, groups * depth)
    return Uniforms(words, min(part.first_bits for part in parts), tail)
