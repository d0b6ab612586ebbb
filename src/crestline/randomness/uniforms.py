"""Uniforms: infinite bit strings of which the first bits are known and the rest waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

Words = NDArray[np.unsignedinteger[Any]]
Tail = Callable[[int, int], int]
Complete = Callable[[NDArray[np.int64] | None], NDArray[np.uint64]]  # None: all of them

WORD = 64
# Several rows at least this long are drawn by heads of 16 bits first; a single one is sooner drawn than judged.
LONG = 1024  # mutate: which way is quicker


class Uniforms:
    """A table of uniforms in (0, 1). Row after row, uniform `index` is `0.b₁b₂b₃…` in binary.

    heads        the first bits of each, as whole numbers: all 64 of a word, or fewer where the rest can wait
    first_bits   how many bits may be used before refinement starts (64; fewer in tests)
    tail         `tail(index, bits)`: the first `bits` bits after the 64th
    complete     the first 64 bits of the uniforms at these places; needed only where heads are shorter
    """

    def __init__(self, heads: Words, first_bits: int, tail: Tail, complete: Complete | None = None) -> None:
        self.heads = heads
        self.head_bits = 8 * heads.itemsize
        self.first_bits = first_bits
        self.tail = tail
        self._complete = complete

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.heads.shape
        return rows, columns

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """The first 64 bits of each."""
        if self._complete is None:
            return self.heads.astype(np.uint64, copy=False)  # mutate: a copy costs time alone
        return self._complete(None).reshape(self.shape)

    def words_at(self, places: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The first 64 bits of some, counted row after row."""
        if self._complete is None or "words" in self.__dict__:
            return self.words.ravel()[places]
        return self._complete(places)

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


def picked(uniforms: Uniforms, columns: NDArray[np.int64]) -> Uniforms:
    """Some columns of a table, others in every row; they are the same uniforms, with the same tails."""
    width, many = uniforms.shape[1], columns.shape[1]

    def tail(index: int, bits: int) -> int:
        row, place = divmod(index, many)
        return uniforms.tail(row * width + int(columns[row, place]), bits)

    places = columns + np.arange(len(columns))[:, None] * width
    return Uniforms(uniforms.words_at(places), uniforms.first_bits, tail)


def interleaved(parts: Sequence[Uniforms], groups: int) -> Uniforms:
    """Tables with equally many columns for every group: all columns of the first group come first, and so on."""
    rows = parts[0].shape[0]
    widths = [part.shape[1] // groups for part in parts]
    depth = sum(widths)
    blocks = [part.words.reshape(rows, groups, width) for part, width in zip(parts, widths, strict=True)]

    def tail(index: int, bits: int) -> int:
        group, rank = divmod(index, depth)  # groups are counted through all rows
        for part, width in zip(parts, widths, strict=True):
            if rank < width:
                return part.tail(group * width + rank, bits)
            rank -= width
        raise IndexError(index)

    words = np.concatenate(blocks, axis=2).reshape(rows, groups * depth)
    return Uniforms(words, parts[0].first_bits, tail)
