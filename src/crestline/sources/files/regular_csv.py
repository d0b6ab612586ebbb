"""Whether all lines of a block of delimited text are regular, found without walking through the block letter by letter.

One bit stands for one byte, and 64 bytes are looked at in one step. A quote is at an odd place among the quotes of the
block where it opens a quoted field, and at an even one where it closes it; two in the middle of a quoted field close
and open it again. If each stands where it may, and no line ends within a quoted field, then every line is a whole.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.uint64]

_NEWLINE, _RETURN, _QUOTE = b"\n", b"\r", b'"'


def regular_line_ending(block: bytes, delimiter: bytes, width: int) -> str | None:
    """How the lines of a block end, if all end alike, have `width` fields and every quote where it belongs."""
    data = np.frombuffer(block, np.uint8)
    ends, marks = data == ord(_NEWLINE), data == ord(delimiter)
    newlines = _pack_bits(ends)
    structure = newlines | _pack_bits(marks)
    returns = _RETURN in block
    if returns:
        found = _pack_bits(data == ord(_RETURN))
        if not np.array_equal(_next(found), newlines):
            return None
        structure |= found
    if _QUOTE in block:
        quotes = _pack_bits(data == ord(_QUOTE))
        inside = _prefix_parity(quotes)
        if (newlines & inside).any() or not _quotes_are_regular(quotes, inside, structure | quotes):
            return None
        marks &= np.unpackbits((~inside).view(np.uint8), count=len(data), bitorder="little").view(np.bool_)
    kinds = data[np.flatnonzero(ends | marks)].tobytes()
    line = delimiter * (width - 1) + _NEWLINE
    if kinds != line * (len(kinds) // width):
        return None
    return "\r\n" if returns else "\n"


def _quotes_are_regular(quotes: Bits, inside: Bits, structure: Bits) -> bool:
    """Whether an opening quote follows, and a closing one precedes, a delimiter, a line's end or another quote."""
    opening, closing = quotes & inside, quotes & ~inside
    return not (opening & ~_next(structure, first=1)).any() and not (_next(closing) & ~structure).any()


def _pack_bits(flags: NDArray[np.bool_]) -> Bits:
    packed = np.packbits(flags, bitorder="little")
    return np.pad(packed, (0, -len(packed) % 8)).view("<u8")


def _next(bits: Bits, first: int = 0) -> Bits:
    """Every bit moved to the next place."""
    moved = bits << np.uint64(1)
    moved[1:] |= bits[:-1] >> np.uint64(63)
    moved[:1] |= np.uint64(first)
    return moved


def _prefix_parity(bits: Bits) -> Bits:
    """For every place, whether the number of bits set up to there, itself included, is odd."""
    for step in (1, 2, 4, 8, 16, 32):
        bits = bits ^ (bits << np.uint64(step))
    before = np.cumsum(bits >> np.uint64(63), dtype=np.uint64) & np.uint64(1)
    return bits ^ np.where(np.append(np.uint64(0), before[:-1]) == 1, ~np.uint64(0), np.uint64(0))
