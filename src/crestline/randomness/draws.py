"""Draws: the random part of a table of keys, as arrival times `E = -ln U` that can be refined without end.

Single     one uniform for each key; with `copies`, the largest of so many independent noises in one draw
Nothing    no randomness: keys that are their scores
Ordered    the largest, second largest, … of groups of equal scores (DESIGN D9), from one uniform each
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.randomness.points import Floats, GumbelPoints, Points, RoughPoints
from crestline.randomness.uniforms import WORD, Uniforms

# Words below this, or as close to the top, are outside what `RoughPoints` promises.
_EDGE = np.uint64(1 << 40)
_INNER = np.uint64((1 << 64) - (1 << 41))
_UNIT = 2.0**-64


class Draws(Protocol):
    """The random part of a table of keys."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def first_bits(self) -> int: ...

    def rough(self) -> Points:
        """All points at full speed; meaningless where `edge` is true."""
        ...

    def edge(self) -> NDArray[np.bool_]:
        """Where the rough value must not be relied on."""
        ...

    def missing(self) -> NDArray[np.bool_] | None:
        """Columns that hold no key at all, if there are any."""
        ...

    def ends(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        """Careful lower and upper ends of some keys of one row, from the first bits."""
        ...

    def arrival(self, row: int, column: int, bits: int) -> Any:
        """A ball that contains one arrival time, from the first `bits` bits."""
        ...


@dataclass(frozen=True)
class Single:
    """One uniform for each key; with `copies[column]` copies, the largest of so many. `absent` keys do not exist."""

    uniforms: Uniforms
    copies: Sequence[int] | None = None
    absent: NDArray[np.bool_] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.uniforms.shape

    @property
    def first_bits(self) -> int:
        return self.uniforms.first_bits

    def rough(self) -> Points:
        points = RoughPoints(np.multiply(self.uniforms.words, _UNIT, dtype=np.float64))
        return points if self.copies is None else GumbelPoints(points.gumbel + _logs(self.copies))

    def edge(self) -> NDArray[np.bool_]:
        return _edge(self.uniforms.words)

    def missing(self) -> NDArray[np.bool_] | None:
        return self.absent

    def ends(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        start = row * self.shape[1]
        low, high = _ends(self.uniforms, [start + column for column in columns])
        if self.copies is None:
            return low, high
        logs = _logs([self.copies[column] for column in columns])
        return GumbelPoints(low.gumbel + logs), GumbelPoints(high.gumbel + logs)

    def arrival(self, row: int, column: int, bits: int) -> Any:
        time = -self.uniforms.ball(row * self.shape[1] + column, bits).log()
        return time if self.copies is None else time / self.copies[column]


@dataclass(frozen=True)
class Nothing:
    """No randomness: for keys whose law is constant."""

    shape: tuple[int, int]
    first_bits: int = WORD

    def rough(self) -> Points:
        return RoughPoints(np.full(self.shape, 0.5))

    def edge(self) -> NDArray[np.bool_]:
        return np.zeros(self.shape, dtype=np.bool_)

    def missing(self) -> None:
        return None

    def ends(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        point = RoughPoints(np.full(len(columns), 0.5))
        return point, point

    def arrival(self, row: int, column: int, bits: int) -> Any:
        return arb(1)


@dataclass(frozen=True)
class Ordered:
    """Order statistics: column `group * depth + rank` is the `rank`-th largest (from 0) noise of that group.

    `sizes[row][group]` says how many noises the group has; ranks beyond it do not exist. The arrival time of rank r is
    `Σ_{i ≤ r} E_i / (size - i)` (Rényi's representation); it grows with r, so the keys of one group descend.
    """

    uniforms: Uniforms
    sizes: Sequence[Sequence[int]]
    depth: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.uniforms.shape

    @property
    def first_bits(self) -> int:
        return self.uniforms.first_bits

    def rough(self) -> Points:
        rows, columns = self.shape
        sizes = np.array([[float(size) for size in row] for row in self.sizes])[:, :, None]
        left = np.maximum(sizes - np.arange(self.depth), 1.0)  # ranks that do not exist are masked by `missing`
        times = -np.log(self.uniforms.words * _UNIT).reshape(rows, -1, self.depth) / left
        return GumbelPoints(-np.log(np.cumsum(times, axis=2)).reshape(rows, columns))

    def edge(self) -> NDArray[np.bool_]:
        table = _edge(self.uniforms.words).reshape(self.shape[0], -1, self.depth)
        return np.logical_or.accumulate(table, axis=2).reshape(self.shape)

    def missing(self) -> NDArray[np.bool_]:
        ranks = np.arange(self.depth)
        counts = np.array([[min(size, self.depth) for size in row] for row in self.sizes])
        return (ranks >= counts[:, :, None]).reshape(self.shape)

    def ends(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        pairs = [self._ends_of(row, column) for column in columns]
        low = np.array([pair[0] for pair in pairs])
        high = np.array([pair[1] for pair in pairs])
        return GumbelPoints(low), GumbelPoints(high)

    def _ends_of(self, row: int, column: int) -> tuple[float, float]:
        parts = self._parts(row, column)
        low, high = _ends(self.uniforms, [index for index, _ in parts])
        sizes = np.array([float(size) for _, size in parts])
        with np.errstate(divide="ignore", over="ignore"):
            bottom = -np.log(np.sum(np.exp(-low.gumbel) / sizes))
            top = -np.log(np.sum(np.exp(-high.gumbel) / sizes))
        return float(bottom), float(top)

    def arrival(self, row: int, column: int, bits: int) -> Any:
        return sum(-self.uniforms.ball(index, bits).log() / size for index, size in self._parts(row, column))

    def _parts(self, row: int, column: int) -> list[tuple[int, int]]:
        """The uniforms behind one key, and what each is divided by."""
        group, rank = divmod(column, self.depth)
        base = row * self.shape[1] + group * self.depth
        return [(base + i, self.sizes[row][group] - i) for i in range(rank + 1)]


def _edge(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    return (words - _EDGE) >= _INNER  # one comparison for both ends: the subtraction wraps below the edge


def _logs(copies: Sequence[int]) -> Floats:
    return np.array([math.log(n) for n in copies])


def _ends(uniforms: Uniforms, indices: Sequence[int]) -> tuple[Points, Points]:
    """Careful ends from the first bits: `[p, p + 1] · 2^-bits`, and the same for `1 - U`, rounded only once each."""
    bits = min(uniforms.first_bits, WORD)
    prefixes = [uniforms.prefix(index, bits) for index in indices]
    top, unit = 1 << bits, 2.0**-bits

    def scaled(numbers: list[int]) -> Floats:
        return np.array([float(number) for number in numbers]) * unit

    low = Points(scaled(prefixes), scaled([top - p for p in prefixes]))
    high = Points(scaled([p + 1 for p in prefixes]), scaled([top - p - 1 for p in prefixes]))
    return low, high
