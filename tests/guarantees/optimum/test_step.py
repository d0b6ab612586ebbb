"""One step at a time: on coarse grids the bound must still cover every t, also those between the grid points."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from numpy.typing import NDArray

from crestline.guarantees.optimum import step as adaptive_step
from crestline.guarantees.optimum.grid import TINY, CurveGrid
from crestline.guarantees.optimum.step import BoundedRangeStep, LossIntervalStep, loss_chances
from crestline.guarantees.rounding import ball, precision

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
    grid = CurveGrid(Fraction("0.9") / cells, 2 * cells, cells + 1)
    exact = one_step(np.arange(2 * cells + 1) * EPSILON / cells)
    found = BoundedRangeStep(grid, cells).apply_to(grid.curve_of_no_step())
    assert (found >= exact * (1 - 1e-13)).all()
    assert found == pytest.approx(exact, abs=0.3 / cells**2)


@pytest.mark.long
@pytest.mark.parametrize("cells", [1, 2, 3, 5, 40])
def test_a_step_before_a_known_curve(cells: int) -> None:
    grid = CurveGrid(Fraction("0.9") / cells, 3 * cells, cells + 1)
    places = np.arange(3 * cells + 1) * EPSILON / cells
    exact = np.array([two_steps(place) for place in places])
    found = BoundedRangeStep(grid, cells).apply_to(one_step(places))
    assert (found >= exact * (1 - 1e-9)).all()
    assert found == pytest.approx(exact, abs=0.3 / cells**2)


@pytest.mark.parametrize(("below", "above"), [("0.3", "0.9"), ("0.35", "0.77"), ("0", "0.5"), ("0.4", "0.4")])
def test_a_loss_interval_has_two_orientations(below: str, above: str) -> None:
    grid = CurveGrid(Fraction("0.01"), 200, 101)
    found = LossIntervalStep(grid, Fraction(below), Fraction(above)).apply_to(grid.curve_of_no_step())
    for index in (0, 7, 33, 70, 95):
        exact = max(
            share * max(0.0, -math.expm1(index / 100 - t)) + (1 - share) * max(0.0, -math.expm1(index / 100 - t + span))
            for t, span in ((float(above), float(above) + float(below)), (float(below), float(above) + float(below)))
            for share in [math.expm1(t - span) / math.expm1(-span)]
        )
        assert exact * (1 - 1e-12) <= found[index] <= exact + 1e-3


# Exact arithmetic: what the proof note says of given numbers, in balls of 200 bits. No bound is ever below it.

LITTLE = Fraction(1, 10**11)


def some_values(grid: CurveGrid) -> NDArray[np.float64]:
    """Numbers that fall unevenly, and sometimes not at all, so that cells are steep, flat and both."""
    falls = np.random.default_rng(5).exponential(size=grid.top) * np.resize([1.0, 0.02, 0.0], grid.top)
    return np.append(np.cumsum(falls[::-1])[::-1], 0.0) / (2 * falls.sum())


def exactly(number: float) -> arb:
    return ball(Fraction(float(number)))


def bulge(near: arb, far: arb, width: arb, span: arb) -> arb:
    """E of the note, from the falls over the two cells."""
    return (near - (-span).exp() * far).max(arb(0)) * width.expm1() / -(-span).expm1()


@pytest.mark.parametrize("cells", [1, 3, 8])
def test_a_step_is_what_the_note_says_rounded_up(cells: int) -> None:
    grid = CurveGrid(Fraction("0.9") / cells, 2 * cells + 3, cells + 1)
    values = some_values(grid)
    found = BoundedRangeStep(grid, cells).apply_to(values)
    with precision(200):
        wide = [exactly(number) for number in grid.extend(values)]
        width, span = ball(grid.width), ball(grid.width * cells)
        for index, bound in enumerate(found):
            start, best = grid.reach + index, arb(0)
            for cell in range(cells):
                near = [wide[start - cell], wide[start - cell - 1]]
                far = [wide[start - cell + cells], wide[start - cell - 1 + cells]]
                weights = [loss_chances(width * (cell + end), span) for end in (0, 1)]
                ends = [p * v + q * w for (p, q), v, w in zip(weights, near, far, strict=True)]
                most = bulge(near[1] - near[0], far[1] - far[0], width, span)
                spare = (most - abs(ends[1] - ends[0])).max(arb(0))
                gain = spare**2 / (4 * most) if most > 0 else arb(0)
                best = best.max(ends[0].max(ends[1]) + gain)
            assert best <= exactly(bound)
            assert exactly(bound) <= best * (1 + ball(LITTLE)) + ball(Fraction(2 * TINY))


@pytest.mark.parametrize("cells", [1, 4])
def test_bulges_are_never_below_the_exact_ones(cells: int) -> None:
    """Two falls that nearly cancel: what is lost then must still be covered."""
    grid = CurveGrid(Fraction("0.9") / cells, 12, cells)
    step = BoundedRangeStep(grid, cells)
    wide = np.sort(np.random.default_rng(3).random(13 + 2 * cells))[::-1].copy()
    wide[-1] = wide[-2 - cells] * 1e-3  # a flat cell before a steep one: no bulge
    found = step._parabola_bulges(wide)
    with precision(200):
        exact = [exactly(number) for number in wide]
        width, span = ball(grid.width), ball(grid.width * cells)
        kept = 0
        for index, bound in enumerate(found):
            first, second = (exact[place] - exact[place + 1] for place in (index, index + cells))
            most = bulge(first, second, width, span)
            assert most <= exactly(bound)
            assert exactly(bound) <= most + first * ball(LITTLE)
            kept += bool(most > 0)
    assert 0 < kept < len(found)


def test_bulges_that_nearly_vanish_are_never_below_the_exact_ones() -> None:
    """Falls that cancel but for 10^-12 of them: what rounding takes is then seen in the last four digits."""
    grid = CurveGrid(Fraction(1, 20), 60, 1)
    falls = (math.exp(0.05) * (1 - 1e-12)) ** np.arange(62)
    wide = 1 - np.append(0.0, np.cumsum(falls) / falls.sum())
    found = BoundedRangeStep(grid, 1)._parabola_bulges(wide)
    with precision(200):
        exact, width = [exactly(number) for number in wide], ball(grid.width)
        for index, bound in enumerate(found):
            near, far = exact[index] - exact[index + 1], exact[index + 1] - exact[index + 2]
            assert bulge(near, far, width, width) <= exactly(bound)


@pytest.mark.parametrize("top", range(7, 14))
def test_points_looked_at_in_parts_are_those_looked_at_together(top: int, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = CurveGrid(Fraction(1, 10), top, 4)
    values = some_values(grid)
    together = BoundedRangeStep(grid, 3).apply_to(values)
    for size in (1, 2, 4):
        monkeypatch.setattr(adaptive_step, "_AT_ONCE", 3 * size)
        step = BoundedRangeStep(grid, 3)
        assert step.apply_to(values).tolist() == together.tolist()
        assert len(step._room) <= 2  # for whole parts and for the last one


@pytest.mark.parametrize(("below", "above"), [("0.3", "0.9"), ("0.333", "0.777"), ("0.421", "0.0513"), ("0", "0.5")])
def test_a_loss_interval_is_what_the_note_says_rounded_up(below: str, above: str) -> None:
    """Two reads on chords in e^a, each weighted by its chance, the larger of two orientations."""
    grid = CurveGrid(Fraction(1, 10), 12, 10)
    values = some_values(grid)
    found = LossIntervalStep(grid, Fraction(below), Fraction(above)).apply_to(values)
    with precision(200):
        wide = [exactly(number) for number in grid.extend(values)]

        def read(place: Fraction) -> arb:
            index = math.floor(place / grid.width)
            part = ball(place - index * grid.width).expm1() / ball(grid.width).expm1()
            low, high = wide[grid.reach + index], wide[min(grid.reach + index + 1, len(wide) - 1)]
            return low + (high - low) * part

        for index, bound in enumerate(found):
            place, span = index * grid.width, Fraction(above) + Fraction(below)
            best = arb(0)
            for t in (Fraction(above), Fraction(below)):
                first, second = loss_chances(ball(t), ball(span))
                best = best.max(first * read(place - t) + second * read(place - t + span))
            assert best <= exactly(bound)
            assert exactly(bound) <= best * (1 + ball(LITTLE)) + ball(Fraction(2 * TINY))
