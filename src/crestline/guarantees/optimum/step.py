"""One step of an adaptive adversary, as a map from an upper bound on a curve to another (P10.3 B6).

`apply_to(V)` bounds the adversary's best result when this step comes before those that V bounds. Both kinds of step are
two-point laws of the loss, `t` or `t - span`; the adversary may choose t (all of `[0, span]` for a bounded-range step,
two orientations for a loss interval). Proof note: docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb
from numpy.lib.stride_tricks import sliding_window_view

from crestline.guarantees.optimum.grid import PAD, TINY, CurveGrid, Floats, float_down, float_up, floats_up
from crestline.guarantees.rounding import ball, precision

_AT_ONCE = 1 << 15  # numbers that fit a processor's cache


class AdaptiveStep(Protocol):
    """A step as a map of upper bounds on one grid."""

    def apply_to(self, values: Floats) -> Floats: ...


class BoundedRangeStep:
    """The worst bounded-range step whose range is `cells` cells of the grid, over all t, not only grid points."""

    def __init__(self, grid: CurveGrid, cells: int) -> None:
        self._grid, self._cells = grid, cells
        with precision(80):  # enough bits; balls carry their own error
            span = ball(grid.width * cells)
            width = ball(grid.width)
            pairs = [loss_chances(width * index, span) for index in range(cells + 1)]
            self._first = floats_up(first for first, _ in pairs)[:, None]
            self._second = floats_up(second for _, second in pairs)[:, None]
            self._bulge = float_up(ball(grid.width).expm1() / -(-span).expm1())
            self._shrink = float_down((-span).exp())
        size = max(1, _AT_ONCE // cells)
        self._numbers, self._rises = np.empty(grid.top + 1 + 2 * cells), np.empty(grid.top + cells)
        self._four = np.empty_like(self._rises)
        self._room: dict[int, Floats] = {}  # shared by parts of one size, since they run one after another
        self._parts = [self._part(start, min(start + size, grid.top + 1)) for start in range(0, grid.top + 1, size)]

    def apply_to(self, values: Floats) -> Floats:
        """B6 at every grid point: the maximum over the cells of t of a parabola that lies above the value."""
        spare = self._grid.reach - self._cells
        wide = self._grid.extend(values)
        self._numbers[:] = wide[spare : len(wide) - spare]  # from `cells` points below zero to `cells` beyond the top
        self._rises[:] = self._parabola_bulges(self._numbers)
        np.multiply(self._rises, 4, out=self._four)
        self._four += sys.float_info.min  # never zero
        result = np.concatenate([part.largest(self._first, self._second) for part in self._parts])
        return result * PAD + TINY

    def _part(self, first: int, last: int) -> _GridPart:
        """Windows of some points: views of `_numbers`, `_rises` and `_four`, which each call of `apply_to` fills."""
        cells = self._cells
        near = _reversed_windows(self._numbers[first : last + cells], cells + 1)
        far = _reversed_windows(self._numbers[first + cells : last + 2 * cells], cells + 1)
        rises, four = (_reversed_windows(table[first : last - 1 + cells], cells) for table in (self._rises, self._four))
        room = self._room.setdefault(last - first, np.empty((3, cells + 1, last - first)))
        return _GridPart(near, far, rises, four, room)

    def _parabola_bulges(self, wide: Floats) -> Floats:
        """Four times the height by which the value may exceed the chord between the ends of a cell of t, rounded up."""
        falls = wide[:-1] - wide[1:]
        steep, flat = falls[: -self._cells] * PAD, falls[self._cells :] * (self._shrink / PAD)
        bulges: Floats = np.maximum(steep - flat, 0.0) * self._bulge
        return bulges


class _GridPart:
    """Neighbouring points of the grid, with a row for each t: the values that loss t leads to; and scratch space."""

    def __init__(self, near: Floats, far: Floats, bulges: Floats, four: Floats, room: Floats) -> None:
        self._near, self._far, self._bulges, self._four, self._room = near, far, bulges, four, room

    def largest(self, first: Floats, second: Floats) -> Floats:
        """Maximum over all t, for each point; `gain` is the top of the parabola less `max(left, right)`."""
        ends, other, gain = self._room
        np.multiply(self._near, first, out=ends)
        np.multiply(self._far, second, out=other)
        ends += other  # the values at t = 0, h, …, span
        left, right, other, gain = ends[:-1], ends[1:], other[1:], gain[1:]
        np.subtract(right, left, out=gain)
        np.abs(gain, out=gain)
        np.subtract(self._bulges, gain, out=gain)
        np.maximum(gain, 0.0, out=gain)
        np.divide(gain, self._four, out=other)  # four times the bulges
        gain *= other
        gain += np.maximum(left, right, out=other)
        largest: Floats = gain.max(axis=0)
        return largest


class LossIntervalStep:
    """The worst step whose loss lies in `[-below, above]` or in the mirror image: two-point laws at the ends (P2.4)."""

    def __init__(self, grid: CurveGrid, below: Fraction, above: Fraction) -> None:
        self._grid = grid
        self._sides = [self._read_offsets(above, below), self._read_offsets(below, above)]

    def _read_offsets(self, above: Fraction, below: Fraction) -> list[tuple[int, float]]:
        """Offsets from a point, with weights, at which to read a curve for losses `above` and `-below`."""
        with precision(80):  # enough bits; balls carry their own error
            first, second = (float_up(chance) for chance in loss_chances(ball(above), ball(above + below)))
        return [*self._chord_offsets(above, first), *self._chord_offsets(-below, second)]

    def _chord_offsets(self, loss: Fraction, weight: float) -> list[tuple[int, float]]:
        """The two offsets, with weights, of the chord for one loss."""
        index, low, high = self._grid.chord(-loss)
        return [(index, weight * low), (index + 1, weight * high)]

    def apply_to(self, values: Floats) -> Floats:
        """The larger of the two orientations at every grid point, with chords where a loss is off the grid."""
        wide = self._grid.extend(values)
        start, size = self._grid.reach, self._grid.top + 1
        either = [
            sum((wide[start + offset : start + offset + size] * weight for offset, weight in side), np.zeros(size))
            for side in self._sides
        ]
        result: Floats = np.maximum(*either) * PAD + TINY
        return result


def _reversed_windows(numbers: Floats, many: int) -> Floats:
    """Windows of `many` numbers, each read backwards: a column for each window, and row j is the point i - j."""
    return sliding_window_view(numbers, many)[:, ::-1].T


def loss_chances(t: arb, span: arb) -> tuple[arb, arb]:
    """Probabilities, on the first data set, of the losses t and t - span (B6: `q_t e^t` and the rest)."""
    whole = -(-span).expm1()
    return -(t - span).expm1() / whole, -(-t).expm1() * (t - span).exp() / whole
