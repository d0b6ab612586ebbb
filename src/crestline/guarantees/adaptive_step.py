"""One step of an adaptive adversary, as a map from an upper bound to an upper bound (P10.3 B6).

`before(V)` bounds what the adversary reaches when this step comes before those that V bounds. Both kinds of step are
two-point laws of the loss, `t` or `t - span`; the adversary may choose t (all of `[0, span]` for a bounded-range
step, two orientations for a loss interval). Proof note: docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from flint import arb
from numpy.lib.stride_tricks import sliding_window_view

from crestline.guarantees.grid import PAD, TINY, Floats, Grid, floats_down, floats_up
from crestline.guarantees.rounding import ball, precision

_AT_ONCE = 1 << 13  # mutate: speed: what a processor's cache holds, and a plain allocation


class AdaptiveStep(Protocol):
    """A map of upper bounds, for one grid."""

    def before(self, values: Floats) -> Floats: ...


class BoundedRangeStep:
    """The worst bounded-range step whose range is `cells` cells of the grid, over all t, not only grid points."""

    def __init__(self, grid: Grid, cells: int) -> None:
        self._grid, self._cells = grid, cells
        with precision(80):  # mutate: more or fewer bits: the balls say so
            span = ball(grid.width * cells)
            width = ball(grid.width)
            pairs = [chances(width * index, span) for index in range(cells + 1)]
            self._first = floats_up(first for first, _ in pairs)
            self._second = floats_up(second for _, second in pairs)
            self._bulge = float(floats_up([ball(grid.width).expm1() / -(-span).expm1()])[0])
            self._shrink = float(floats_down([(-span).exp()])[0])

    def before(self, values: Floats) -> Floats:
        """B6 at every grid point: the largest, over the cells of t, of a parabola that lies above the value."""
        wide, rows = self._window(values)
        # Column j of a window read backwards is the point i - j: where loss t = j·h leads from point i.
        near = sliding_window_view(wide[:rows], self._cells + 1)[:, ::-1]
        far = sliding_window_view(wide[self._cells :], self._cells + 1)[:, ::-1]
        bulges = sliding_window_view(self._bulges(wide), self._cells)[:, ::-1]
        result = np.empty(len(near))
        size = max(1, _AT_ONCE // self._cells)  # mutate: rows looked at together: speed
        for start in range(0, len(near), size):
            part = slice(start, start + size)
            result[part] = self._largest(near[part], far[part], bulges[part])
        return result * PAD + TINY

    def _largest(self, near: Floats, far: Floats, bulges: Floats) -> Floats:
        """The largest value over all t, for some rows; what `max(left, right)` lacks of a parabola's top is `gain`."""
        ends = near * self._first
        ends += far * self._second  # the values at t = 0, h, …, span
        left, right = ends[:, :-1], ends[:, 1:]
        gain = np.subtract(right, left)
        np.abs(gain, out=gain)
        np.subtract(bulges, gain, out=gain)
        np.maximum(gain, 0.0, out=gain)
        gain *= gain / (4 * bulges + 1e-300)
        gain += np.maximum(left, right)
        largest: Floats = gain.max(axis=1)
        return largest

    def _window(self, values: Floats) -> tuple[Floats, int]:
        """The numbers from `cells` points below zero to `cells` points beyond the top, and how many lie below that."""
        wide = self._grid.extended(values)
        spare = self._grid.reach - self._cells
        return wide[spare : len(wide) - spare], self._grid.top + 1 + self._cells

    def _bulges(self, wide: Floats) -> Floats:
        """How far, times four, the value may rise above the chord between the ends of a cell of t, rounded up."""
        falls = wide[:-1] - wide[1:]
        steep, flat = falls[: -self._cells] * PAD, falls[self._cells :] * (self._shrink / PAD)
        bulges: Floats = np.maximum(steep - flat, 0.0) * self._bulge
        return bulges


class LossIntervalStep:
    """The worst step whose loss lies in `[-below, above]` or in the mirror image; two-point laws at the ends (P2.4)."""

    def __init__(self, grid: Grid, below: Fraction, above: Fraction) -> None:
        self._grid = grid
        self._sides = [self._side(above, below), self._side(below, above)]

    def _side(self, above: Fraction, below: Fraction) -> list[tuple[int, float]]:
        """Where to read, relative to a point, and with which weight, for losses `above` and `-below`."""
        with precision(80):  # mutate: more or fewer bits: the balls say so
            chance = floats_up(chances(ball(above), ball(above + below)))
        return [
            (index + offset, float(weight * share))
            for loss, weight in zip((above, -below), chance, strict=True)
            for index, *shares in [self._grid.chord(-loss)]
            for offset, share in enumerate(shares)
        ]

    def before(self, values: Floats) -> Floats:
        """The larger of the two orientations at every grid point, with chords where a loss is off the grid."""
        wide = self._grid.extended(values)
        start, size = self._grid.reach, self._grid.top + 1
        either = [
            sum((wide[start + offset : start + offset + size] * weight for offset, weight in side), np.zeros(size))
            for side in self._sides
        ]
        result: Floats = np.maximum(*either) * PAD + TINY
        return result


def chances(t: arb, span: arb) -> tuple[arb, arb]:
    """The probabilities, on the first data set, of the losses t and t - span (B6: `q_t e^t` and the rest)."""
    whole = -(-span).expm1()
    return -(t - span).expm1() / whole, -(-t).expm1() * (t - span).exp() / whole
