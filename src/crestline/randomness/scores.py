"""Scores: the part of a key that is not noise, one for each slot; in doubles, and as balls of any precision."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from crestline.randomness.exact_reals import ZERO, Real, rational_ball
from crestline.randomness.unit_points import Floats

_ROUNDING = 2.0**-50


class Scores(Protocol):
    """A row of exact reals (the same for every trial), or a table of them (one row for each trial)."""

    @property
    def approx(self) -> Floats:
        """The scores as doubles, of shape `(columns,)` or `(trials, columns)`."""
        ...

    @property
    def error(self) -> float:
        """Bound on the error of every double."""
        ...

    def ball(self, row: int, column: int) -> arb:
        """A ball around one score, at the working precision."""
        ...


class EstimatedScores(ABC):
    """Base of scores whose doubles and error come from one computation."""

    @property
    @abstractmethod
    def _approx_and_error(self) -> tuple[Floats, float]:
        """The doubles and their error bound; a subclass caches them."""

    @property
    def approx(self) -> Floats:
        return self._approx_and_error[0]

    @property
    def error(self) -> float:
        return self._approx_and_error[1]


@dataclass(frozen=True)
class LinearScores:
    """`rate · count + shift` for an array of counts."""

    counts: NDArray[np.int64]
    rate: Fraction
    shift: Real = ZERO

    @cached_property
    def approx(self) -> Floats:
        values = np.multiply(self.counts, float(self.rate), dtype=np.float64)
        return values if self.shift is ZERO else values + self.shift.approx

    @cached_property
    def error(self) -> float:
        largest = float(np.abs(self.counts).max(initial=0)) * abs(float(self.rate))
        return _ROUNDING * (largest + abs(self.shift.approx)) + self.shift.error

    def ball(self, row: int, column: int) -> arb:
        count = self.counts[column] if self.counts.ndim == 1 else self.counts[row, column]
        return rational_ball(self.rate) * int(count) + self.shift.ball()


@dataclass(frozen=True)
class RealScores:
    """Scores given as exact reals, one by one."""

    reals: Sequence[Real]

    @cached_property
    def approx(self) -> Floats:
        return np.array([real.approx for real in self.reals], dtype=np.float64)

    @cached_property
    def error(self) -> float:
        return max((real.error for real in self.reals), default=0.0)

    def ball(self, row: int, column: int) -> arb:
        return self.reals[column].ball()


@dataclass(frozen=True)
class EqualScores:
    """The same score for every column, zero by default."""

    columns: int
    real: Real = ZERO

    @cached_property
    def approx(self) -> Floats:
        return np.full(self.columns, self.real.approx)

    @property
    def error(self) -> float:
        return self.real.error

    def ball(self, row: int, column: int) -> arb:
        return self.real.ball()


@dataclass(frozen=True)
class LogScores:
    """Logarithms of positive integers of any size."""

    numbers: Sequence[int] | NDArray[np.int64]

    @cached_property
    def approx(self) -> Floats:
        if isinstance(self.numbers, np.ndarray):
            return np.log(self.numbers)
        return np.array([math.log(number) for number in self.numbers])

    @cached_property
    def error(self) -> float:
        return _ROUNDING * float(self.approx.max(initial=0.0))

    def ball(self, row: int, column: int) -> arb:
        return arb(fmpz(int(self.numbers[column]))).log()


@dataclass(frozen=True)
class WeightedLogScores:
    """`weight · ln(number)` for an array of positive integers."""

    numbers: NDArray[np.int64]
    weight: Fraction = Fraction(1)

    @cached_property
    def approx(self) -> Floats:
        return np.log(self.numbers) * float(self.weight)

    @cached_property
    def error(self) -> float:
        return _ROUNDING * (abs(float(self.weight)) + float(np.abs(self.approx).max(initial=0.0)))

    def ball(self, row: int, column: int) -> arb:
        return rational_ball(self.weight) * arb(int(self.numbers[column])).log()


class SumScores(EstimatedScores):
    """Sum of two rows of scores, column by column."""

    def __init__(self, first: Scores, second: Scores) -> None:
        self.first, self.second = first, second

    @cached_property
    def _approx_and_error(self) -> tuple[Floats, float]:
        total = self.first.approx + self.second.approx
        return total, self.first.error + self.second.error + _ROUNDING * float(np.abs(total).max(initial=0.0))

    def ball(self, row: int, column: int) -> arb:
        return self.first.ball(row, column) + self.second.ball(row, column)


@dataclass(frozen=True)
class ConcatenatedScores:
    """Rows of scores side by side."""

    parts: tuple[Scores, ...]

    @cached_property
    def approx(self) -> Floats:
        blocks = [part.approx for part in self.parts]
        rows = max((block.shape[0] for block in blocks if block.ndim == 2), default=0)
        if rows:
            blocks = [np.broadcast_to(block, (rows, block.shape[-1])) for block in blocks]
        return np.concatenate(blocks, axis=-1)

    @cached_property
    def error(self) -> float:
        return max(part.error for part in self.parts)

    def ball(self, row: int, column: int) -> arb:
        for part in self.parts:
            width = part.approx.shape[-1]
            if column < width:
                return part.ball(row, column)
            column -= width
        return arb.nan()


def concat_scores(*parts: Scores) -> Scores:
    """Rows of scores side by side."""
    return ConcatenatedScores(parts)
