"""Exact uniform sampling: an integer below n, and distinct integers below n.

A uniform integer is the whole part of `n · U`, decided with certainty: by doubles where they are far enough from a
whole number, else by more bits of the same uniform. Like every decision on keys, it does not depend on how many bits
were drawn first.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.entropy import Entropy
from crestline.randomness.uniforms import WORD, Uniforms

Indices = NDArray[np.int64]

_UNIT = 2.0**-64


def draw_ints(uniforms: Uniforms, sizes: Indices) -> Indices:
    """For each uniform an integer from 0 to its size less one; `sizes` is one row, or a table like the uniforms."""
    wide = np.broadcast_to(sizes, uniforms.shape)
    scaled = uniforms.words * _UNIT * wide
    result: Indices = np.floor(scaled).astype(np.int64)
    unsure = np.abs(scaled - np.rint(scaled)) <= wide * 2.0**-50
    if uniforms.first_bits < WORD:
        unsure[:] = True
    for index in np.flatnonzero(unsure):
        result.flat[index] = draw_int(uniforms, int(index), int(wide.flat[index]))
    return result


def draw_int(uniforms: Uniforms, index: int, size: int) -> int:
    """Whole part of `size · U` for one uniform; `size` may have thousands of digits."""
    bits = uniforms.first_bits
    while bits < size.bit_length():  # fewer cannot decide
        bits *= 2
    while True:
        prefix = uniforms.prefix(index, bits)
        low, high = (size * prefix) >> bits, (size * (prefix + 1) - 1) >> bits
        if low == high:
            return low
        bits *= 2


class LazyShuffle:
    """Fisher-Yates shuffle of 0, 1, 2, … that returns each integer at most once and stores only those it moved."""

    def __init__(self) -> None:
        self._returned = 0
        self._moved: dict[int, int] = {}

    def next(self, choice: int) -> int:
        """Integer at position `choice` among those not yet returned.

        If `choice` is uniform below the number of integers below `n` that remain, the result is uniform among them.
        """
        at = self._returned + choice
        found = self._moved.get(at, at)
        self._moved[at] = self._moved.pop(self._returned, self._returned)
        self._returned += 1
        return found


def draw_subsets(size: int, many: int, trials: int, entropy: Entropy) -> list[list[int]]:
    """For each trial `many` distinct integers below `size`, in uniformly random order."""
    if not many:
        return [[] for _ in range(trials)]
    left = np.arange(size, size - many, -1, dtype=np.int64)
    choices = draw_ints(entropy.uniforms(trials, many), left)
    return [draw_distinct_ints(row) for row in choices.tolist()]


def draw_distinct_ints(choices: Sequence[int]) -> list[int]:
    """Distinct integers, one for each choice, equal to those of `LazyShuffle` for these choices."""
    moved: dict[int, int] = {}
    result: list[int] = []
    for at, choice in enumerate(choices):  # as `LazyShuffle.next`, without the cost of a method call
        result.append(moved.get(at + choice, at + choice))
        moved[at + choice] = moved.pop(at, at)
    return result
