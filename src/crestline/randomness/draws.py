"""Draws: the random part of a table of keys, as arrival times `E = -ln U` that can be refined without end.

OnePerKey        one uniform for each key; with `copies`, the largest of several independent noises in one draw
NoNoise          no randomness: keys that equal their scores
OrderStatistics  the largest, second largest, … of groups of equal scores (D9), from one uniform each
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.randomness.scores import Scores
from crestline.randomness.uniforms import WORD, Uniforms
from crestline.randomness.unit_points import Floats, GumbelPoints, Points, RoughPoints

# The error bound of `RoughPoints` does not hold for words below this, or as close to the top.
_EDGE = np.uint64(1 << 40)
_INNER = np.uint64((1 << 64) - (1 << 41))
_UNIT = 2.0**-64
# Bound on the derivative of a quantile with respect to the Gumbel value of its point: at most E, away from the edges
# below 17.
STEEPEST = 32.0


class Draws(Protocol):
    """Random part of a table of keys."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def first_bits(self) -> int: ...

    @property
    def error(self) -> float:
        """Bound on the additional error of a noise from rough points over that of one uniform, for every law."""
        ...

    def rough_points(self) -> Points:
        """All points in doubles, from the first bits; invalid where `unreliable` is true."""
        ...

    def unreliable(self) -> NDArray[np.bool_]:
        """Cells whose rough point is invalid."""
        ...

    def missing_columns(self) -> NDArray[np.bool_] | None:
        """Cells that hold no key; None if all do."""
        ...

    def point_bounds(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        """Points below and above those of some keys of one row, with certainty, from their first bits."""
        ...

    def arrival_ball(self, row: int, column: int, bits: int) -> arb:
        """A ball that contains one arrival time, from the first `bits` bits."""
        ...


class UniformDraws:
    """Base of draws made of a table of uniforms, one for each key unless `missing_columns` marks it."""

    uniforms: Uniforms

    @property
    def shape(self) -> tuple[int, int]:
        return self.uniforms.shape

    @property
    def first_bits(self) -> int:
        return self.uniforms.first_bits

    def missing_columns(self) -> NDArray[np.bool_] | None:
        return None


@dataclass(frozen=True)
class OnePerKey(UniformDraws):
    """One uniform for each key.

    `copies` are logarithms of numbers of independent noises; the noise of a key is then the largest of them.
    """

    uniforms: Uniforms
    copies: Scores | None = None

    @property
    def error(self) -> float:
        return 0.0 if self.copies is None else self.copies.error * STEEPEST

    def rough_points(self) -> Points:
        points = rough_points(self.uniforms.words)
        return points if self.copies is None else GumbelPoints(points.gumbel + self.copies.approx)

    def unreliable(self) -> NDArray[np.bool_]:
        return unreliable_words(self.uniforms.words)

    def point_bounds(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        start = row * self.shape[1]
        low, high = _uniform_bounds(self.uniforms, [start + column for column in columns])
        if self.copies is None:
            return low, high
        table = self.copies.approx
        logs = (table if table.ndim == 1 else table[row])[list(columns)]
        error = self.copies.error
        return GumbelPoints(low.gumbel + (logs - error)), GumbelPoints(high.gumbel + (logs + error))

    def arrival_ball(self, row: int, column: int, bits: int) -> arb:
        time = -self.uniforms.ball(row * self.shape[1] + column, bits).log()
        return time if self.copies is None else time / self.copies.ball(row, column).exp()


@dataclass(frozen=True)
class NoNoise:
    """No randomness, for keys whose law is constant."""

    shape: tuple[int, int]
    first_bits: int = WORD
    error: float = 0.0

    def rough_points(self) -> Points:
        return RoughPoints(np.full(self.shape, 0.5))  # any point gives the same quantile

    def unreliable(self) -> NDArray[np.bool_]:
        return np.zeros(self.shape, dtype=np.bool_)

    def missing_columns(self) -> None:
        return None

    def point_bounds(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        point = RoughPoints(np.full(len(columns), 0.5))
        return point, point

    def arrival_ball(self, row: int, column: int, bits: int) -> arb:
        return arb(1)


@dataclass(frozen=True)
class OrderStatistics(UniformDraws):
    """Order statistics: column `group * depth + rank` is the `rank`-th largest (from 0) noise of that group.

    `sizes[row, group]` is the number of noises of the group; higher ranks do not exist. The arrival time of rank r is
    `Σ_{i ≤ r} E_i / (size - i)` (Rényi's representation); it grows with r, so the keys of one group descend.
    """

    uniforms: Uniforms
    sizes: NDArray[np.int64]
    depth: int

    @property
    def error(self) -> float:
        return self._rounding_error * STEEPEST

    @property
    def _rounding_error(self) -> float:
        """Bound on the error of the logarithm of a sum of `depth` terms."""
        return self.depth * 2.0**-50

    @cached_property
    def _noises_left(self) -> NDArray[np.int64]:
        """Number of noises of its group that are at most each: `size - rank`, not positive where there is none."""
        left: NDArray[np.int64] = (self.sizes[:, :, None] - np.arange(self.depth)).reshape(self.shape)
        return left

    def rough_points(self) -> Points:
        times = -np.log(self.uniforms.words * _UNIT) / self._noises_left  # meaningless where a key is missing
        sums = np.cumsum(times.reshape(*self.sizes.shape, self.depth), axis=2)
        return GumbelPoints(-np.log(sums).reshape(self.shape))

    def unreliable(self) -> NDArray[np.bool_]:
        table = unreliable_words(self.uniforms.words).reshape(*self.sizes.shape, self.depth)
        return np.logical_or.accumulate(table, axis=2).reshape(self.shape)

    def missing_columns(self) -> NDArray[np.bool_]:
        return self._noises_left <= 0

    def point_bounds(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        """Bounds of some ranks; those of all ranks of their groups are computed in one pass."""
        groups = sorted({column // self.depth for column in columns})
        every = [group * self.depth + rank for group in groups for rank in range(self.depth)]
        left = self._noises_left[row, every]
        start = row * self.shape[1]
        place = {group * self.depth: at * self.depth for at, group in enumerate(groups)}
        wanted = [place[column - column % self.depth] + column % self.depth for column in columns]

        def gumbel(points: Points) -> Floats:
            times = (np.exp(-points.gumbel) / left).reshape(len(groups), self.depth)
            values: Floats = -np.log(np.cumsum(times, axis=1)).ravel()
            return values[wanted]

        low, high = _uniform_bounds(self.uniforms, [start + column for column in every])
        # Arrivals of zero and infinity are valid bounds; ranks that do not exist are never read.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            return GumbelPoints(gumbel(low) - self._rounding_error), GumbelPoints(gumbel(high) + self._rounding_error)

    def arrival_ball(self, row: int, column: int, bits: int) -> arb:
        first = column - column % self.depth
        start = row * self.shape[1]
        ranks = range(first, column + 1)
        return sum((-self.uniforms.ball(start + i, bits).log() / int(self._noises_left[row, i]) for i in ranks), arb(0))


def rough_points(words: NDArray[np.uint64]) -> RoughPoints:
    """Uniform points in doubles, from the first 64 bits; invalid where `unreliable_words` is true."""
    return RoughPoints(np.multiply(words, _UNIT, dtype=np.float64))


def unreliable_words(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Words too close to 0 or to 1 for `rough_points`."""
    return (words - _EDGE) >= _INNER  # one comparison for both ends: the subtraction wraps below the edge


def _uniform_bounds(uniforms: Uniforms, indices: Sequence[int]) -> tuple[Points, Points]:
    """Bounds of uniforms from their first bits, `[p, p + 1] · 2^-bits`, and those of `1 - U`, rounded once each."""
    bits = min(uniforms.first_bits, WORD)
    prefixes = uniforms.prefixes(indices, bits)
    top, unit = 1 << bits, 2.0**-bits

    def scale_numbers(numbers: list[int]) -> Floats:
        return np.array([float(number) for number in numbers]) * unit

    low = Points(scale_numbers(prefixes), scale_numbers([top - p for p in prefixes]))
    high = Points(scale_numbers([p + 1 for p in prefixes]), scale_numbers([top - p - 1 for p in prefixes]))
    return low, high
