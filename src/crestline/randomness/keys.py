"""Keys `score + scale · noise`, a row for each trial: as doubles, as lower and upper bounds, or as balls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb
from numpy.typing import NDArray

from crestline.precision import current_bits, precision
from crestline.randomness.draws import Draws, NoNoise, OnePerKey
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import Scores
from crestline.randomness.uniforms import Uniforms
from crestline.randomness.unit_points import Floats, Points

# The error of rough points is below 2^-26 away from the edges (unit_points.py); the rest covers the law's operations.
_ROUGH = 2.0**-22
# P11.2: 4096 units in the last place around every careful double, whose measured error is a few.
_PAD = 2.0**-40


@dataclass(frozen=True)
class Keys:
    """A table of keys `score + scale · quantile(U)`; a negative scale mirrors the noise."""

    scores: Scores
    law: Law
    draws: Draws
    scale: Fraction = Fraction(1)

    @property
    def shape(self) -> tuple[int, int]:
        return self.draws.shape

    @cached_property
    def rough_values(self) -> Floats:
        """All keys in doubles: within `error` of the exact ones, invalid where `unreliable`, -inf where missing."""
        with np.errstate(divide="ignore", invalid="ignore"):  # the words that cause these are `unreliable`
            values = self.rough_keys(self.draws.rough_points(), self.scores.approx)
        if self.unreliable.any():
            values[self.unreliable] = 0.0  # any finite number: they are recomputed exactly
        missing = self.draws.missing_columns()
        if missing is not None:
            values[missing] = -np.inf
        return values

    def rough_keys(self, points: Points, scores: Floats) -> Floats:
        """Rough keys from points and scores of any shape; the caller silences warnings about words close to 0 or 1."""
        noise = self.law.quantile(points)
        return (noise if self.scale == 1 else noise * float(self.scale)) + scores

    @cached_property
    def error(self) -> float:
        """Upper bound on the absolute error of a rough key."""
        largest = float(np.abs(self.scores.approx).max(initial=0.0))
        return (_ROUGH + self.draws.error) * abs(float(self.scale)) + self.scores.error + largest * 2.0**-50

    @cached_property
    def unreliable(self) -> NDArray[np.bool_]:
        """Cells whose rough key is invalid: all, when fewer than 64 bits were drawn first."""
        if self.draws.first_bits < 64:
            return np.ones(self.shape, dtype=np.bool_)
        return self.draws.unreliable()

    def key_bounds(self, row: int, columns: Sequence[int]) -> tuple[Floats, Floats]:
        """Lower and upper bounds of keys, with certainty, from the first bits (P11.2)."""
        ends = [float(self.scale) * self.law.quantile(points) for points in self.draws.point_bounds(row, columns)]
        low, high = np.minimum(*ends), np.maximum(*ends)  # a negative scale swaps them
        scores = self.scores.approx if self.scores.approx.ndim == 1 else self.scores.approx[row]
        score = scores[list(columns)]
        return _add_error_margin(score, low, -1, self.scores.error), _add_error_margin(
            score, high, 1, self.scores.error
        )

    def ball(self, row: int, column: int, bits: int) -> arb:
        """A ball that contains one key, from the first `bits` bits of its uniforms; NaN where these do not bound it."""
        with precision(2 * bits + 64):  # the ball carries its own error
            noise = self.law.ball(self.draws.arrival_ball(row, column, bits))
            value = self.scores.ball(row, column) + rational_ball(self.scale) * noise
            return value if value.is_finite() else arb.nan()


@dataclass(frozen=True)
class SharedKey:
    """One noisy key, a table of one cell, as the same score of every column of further keys."""

    key: Keys

    @property
    def approx(self) -> Floats:
        """The key as a double."""
        values: Floats = self.key.rough_values[0]
        return values

    @property
    def error(self) -> float:
        """Bound on the error of the double; infinite where no double is valid, so that balls decide."""
        return float("inf") if self.key.unreliable[0, 0] else self.key.error

    def ball(self, row: int, column: int) -> arb:
        """A ball around the key, from as many bits as the working precision has."""
        return self.key.ball(0, 0, current_bits())


def build_keys(scores: Scores, law: Law, uniforms: Uniforms, *, scale: Fraction = Fraction(1)) -> Keys:
    """Keys with one uniform each."""
    return Keys(scores, law, OnePerKey(uniforms), scale)


def noiseless_keys(scores: Scores, rows: int) -> Keys:
    """Keys without noise, the same in every row, as thresholds for noisy keys."""
    return Keys(scores, CONSTANT, NoNoise((rows, len(scores.approx))))


def _add_error_margin(score: Floats, noise: Floats, sign: int, error: float) -> Floats:
    """`score + noise`, moved by the error bound in the direction of `sign`."""
    return score + noise + sign * (_PAD * (1.0 + np.abs(score) + np.abs(noise)) + error)
