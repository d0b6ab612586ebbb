"""One step at a time: on coarse grids the bound must still cover every t, also those between the grid points."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from crestline.guarantees.adaptive_step import BoundedRangeStep, LossIntervalStep
from crestline.guarantees.grid import Grid

EPSILON = 0.9


def one_step(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exact curve of one bounded-range step (P2.2)."""
    inside = (1 - np.exp((np.clip(a, -EPSILON, EPSILON) - EPSILON) / 2)) ** 2 / -math.expm1(-EPSILON)
    return np.where(a < -EPSILON, -np.expm1(np.minimum(a, 0)), inside)


def two_steps(a: float) -> float:
    """The exact curve of two bounded-range steps, up to a dense grid of t."""
    t = np.linspace(0, EPSILON, 100_001)
    high = np.expm1(t - EPSILON) / math.expm1(-EPSILON)
    return float((high * one_step(a - t) + (1 - high) * one_step(a - t + EPSILON)).max())


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 40])
def test_one_step_is_covered_at_every_t(cells: int) -> None:
    grid = Grid(Fraction("0.9") / cells, 2 * cells, cells + 1)
    exact = one_step(np.arange(2 * cells + 1) * EPSILON / cells)
    found = BoundedRangeStep(grid, cells).before(grid.nothing())
    assert (found >= exact * (1 - 1e-13)).all()
    assert found == pytest.approx(exact, abs=0.3 / cells**2)


@pytest.mark.parametrize("cells", [1, 2, 3, 5, 40])
def test_a_step_before_a_known_curve(cells: int) -> None:
    grid = Grid(Fraction("0.9") / cells, 3 * cells, cells + 1)
    places = np.arange(3 * cells + 1) * EPSILON / cells
    exact = np.array([two_steps(place) for place in places])
    found = BoundedRangeStep(grid, cells).before(one_step(places))
    assert (found >= exact * (1 - 1e-9)).all()
    assert found == pytest.approx(exact, abs=0.3 / cells**2)


@pytest.mark.parametrize(("below", "above"), [("0.3", "0.9"), ("0.35", "0.77"), ("0", "0.5"), ("0.4", "0.4")])
def test_a_loss_interval_has_two_orientations(below: str, above: str) -> None:
    grid = Grid(Fraction("0.01"), 200, 101)
    found = LossIntervalStep(grid, Fraction(below), Fraction(above)).before(grid.nothing())
    for index in (0, 7, 33, 70, 95):
        exact = max(
            share * max(0.0, -math.expm1(index / 100 - t)) + (1 - share) * max(0.0, -math.expm1(index / 100 - t + span))
            for t, span in ((float(above), float(above) + float(below)), (float(below), float(above) + float(below)))
            for share in [math.expm1(t - span) / math.expm1(-span)]
        )
        assert exact * (1 - 1e-12) <= found[index] <= exact + 1e-3
