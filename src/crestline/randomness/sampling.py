"""Exact uniform choices: a place among n, and places that are never taken twice.

A place is the whole part of `n · U`, decided with certainty: doubles where they are far enough from a whole number,
more bits of the same uniform where they are not. Like every decision of the engine, it does not depend on how many
bits were drawn first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.entropy import Entropy
from crestline.randomness.uniforms import WORD, Uniforms

Indices = NDArray[np.int64]

_UNIT = 2.0**-64


def places(uniforms: Uniforms, sizes: Indices) -> Indices:
    """For each uniform a place from 0 up to its size, less one. `sizes` is one row, or a table like the uniforms."""
    wide = np.broadcast_to(sizes, uniforms.shape)
    scaled = uniforms.words * _UNIT * wide
    result: Indices = np.floor(scaled).astype(np.int64)
    unsure = np.abs(scaled - np.rint(scaled)) <= wide * 2.0**-50
    if uniforms.first_bits < WORD:
        unsure[:] = True
    for index in np.flatnonzero(unsure):
        result.flat[index] = place(uniforms, int(index), int(wide.flat[index]))
    return result


def place(uniforms: Uniforms, index: int, size: int) -> int:
    """The whole part of `size · U` for one uniform; `size` may have thousands of digits."""
    bits = uniforms.first_bits
    while bits < size.bit_length():  # fewer cannot tell
        bits *= 2
    while True:
        prefix = uniforms.prefix(index, bits)
        low, high = (size * prefix) >> bits, (size * (prefix + 1) - 1) >> bits
        if low == high:
            return low
        bits *= 2


class Deck:
    """Places 0, 1, 2, … of which each is dealt at most once: a shuffle that remembers only what it moved."""

    def __init__(self) -> None:
        self._dealt = 0
        self._moved: dict[int, int] = {}

    def deal(self, choice: int) -> int:
        """The place that lies at `choice` among those not yet dealt.

        When `choice` is uniform among the first `n` left, so is the place among all of the first `n` not yet dealt.
        """
        at = self._dealt + choice
        found = self._moved.get(at, at)
        self._moved[at] = self._moved.pop(self._dealt, self._dealt)
        self._dealt += 1
        return found


def subsets(size: int, many: int, trials: int, entropy: Entropy) -> list[list[int]]:
    """For each trial `many` different places below `size`, in uniformly random order."""
    if not many:
        return [[] for _ in range(trials)]
    left = np.arange(size, size - many, -1, dtype=np.int64)
    choices = places(entropy.uniforms(trials, many), left)
    return [dealt(row) for row in choices.tolist()]


def dealt(choices: Sequence[int]) -> list[int]:
    """Different places from one choice for each, as `Deck` deals them."""
    moved: dict[int, int] = {}
    result: list[int] = []
    for at, choice in enumerate(choices):  # a deck dealt in one go
        result.append(moved.get(at + choice, at + choice))
        moved[at + choice] = moved.pop(at, at)
    return result
