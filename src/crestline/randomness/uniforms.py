"""Uniforms: infinite bit strings of which the first bits are known and the rest waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

Tail = Callable[[int, int], int]

WORD = 64


@dataclass(frozen=True)
class Uniforms:
    """A table of uniforms in (0, 1). Row after row, uniform `index` is `0.b₁b₂b₃…` in binary.

    words        the first 64 bits of each, as whole numbers
    first_bits   how many of those may be used before refinement starts (64; fewer in tests)
    tail         `tail(index, bits)`: the first `bits` bits after the 64th
    """

    words: NDArray[np.uint64]
    first_bits: int
    tail: Tail

    @property
    def shape(self) -> tuple[int, int]:
        rows, columns = self.words.shape
        return rows, columns

    def prefix(self, index: int, bits: int) -> int:
        """The first `bits` bits of one uniform, as a whole number."""
        word = int(self.words.flat[index])
        if bits <= WORD:
            return word >> (WORD - bits)
        return (word << (bits - WORD)) | self.tail(index, bits - WORD)

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

    return Uniforms(np.take_along_axis(uniforms.words, columns, axis=1), uniforms.first_bits, tail)


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
