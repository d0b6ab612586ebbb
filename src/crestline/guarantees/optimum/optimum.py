"""The adaptive optimum, certified: an upper bound on ε for every adaptive adversary, tight to the grid (P10.3 B6).

Seed        Dong, Durfee & Rogers 2020, arXiv:1909.13830 (bounded-range steps); the other kinds of step in the note
Guarantee   steps with fixed parameters, run in the order listed, their questions chosen adaptively: (ε, δ)-DP
Assumes     neither the parameters nor the number of steps depend on earlier answers
Numerics    certified: every rounding raises the curve; its chords give ε, rounded up
Proof note  docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import Cost, RepeatedStep, Step
from crestline.guarantees.guarantee import BoundedRange, LossInterval, PureDP
from crestline.guarantees.optimum.grid import CurveGrid
from crestline.guarantees.optimum.loss import LossLaw
from crestline.guarantees.optimum.registry import WorstPairs, adaptive_step, has_worst_case, worst_pair
from crestline.guarantees.root_finding import cached_by_accuracy, is_rough


class _Resolution(NamedTuple):
    """How fine a grid is: sharpness of the bound against time; it is certified for any values."""

    work: float  # cells computed in all, where their number can be chosen
    points: int  # of the grid: enough for all steps without a range
    cells: int  # per step, at least


_FINE, _ROUGH = _Resolution(1.5e6, 8_000, 27), _Resolution(1e5, 2_000, 12)
_MOST_WORK = 1e9  # some seconds; above it only the other accountants give a bound
_MOST_ATOMS = 5000  # above it only the other accountants give a bound
_MOST_POINTS = 50_000  # with a step that has a range
_MOST_CELLS = 400  # per step
_LEFT_OUT = Fraction(1, 10**4)  # share of δ beyond the grid


def adaptive_epsilon(steps: Sequence[RepeatedStep], delta: Fraction, *, fineness: int = 1) -> Fraction | None:
    """ε of these steps in this order, rounded up; None where computing it would take too long.

    None also for a step that is only known to be zCDP, or one of several: it has no worst pair of laws. `fineness`
    multiplies the points of the grid, to measure what its width costs.
    """
    if not all(has_worst_case(part.step) for part in steps):
        return None
    plain = tuple(
        RepeatedStep(_without_theorem(part.step), part.times) for part in steps if part.times and part.step.rho
    )
    return _cached_epsilon(plain, delta, fineness) if plain else Fraction(0)


def _without_theorem(step: Step) -> Step:
    """The step without its theorem, so that equal numbers are computed once."""
    return replace(step, theorem="")


@cached_by_accuracy(maxsize=4096)
def _cached_epsilon(steps: tuple[RepeatedStep, ...], delta: Fraction, fineness: int) -> Fraction | None:
    """`adaptive_epsilon` of steps with a worst case, without their theorems."""
    highest = _grid_end(steps, delta)
    if highest == 0:
        return highest
    grid = _grid(steps, highest, fineness)
    if grid is None:
        return None
    values = grid.curve_of_no_step()
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        for part in reversed(steps):  # backwards from the end of the interaction, whose curve is known
            if move := adaptive_step(part.step, grid):
                for _ in range(part.times):
                    values = move.apply_to(values)
    law = _joint_loss(steps, grid, delta)
    if not np.isfinite(values).all() or (law and not np.isfinite(law.masses).all()):
        return None  # e^ε is too large for a float: only the other accountants give a bound
    curve = law.apply_to(grid, values) if law else lambda index: float(values[index])
    found = grid.smallest_epsilon(curve, delta)
    return highest if found is None else min(found, highest)


def _joint_loss(steps: tuple[RepeatedStep, ...], grid: CurveGrid, delta: Fraction) -> LossLaw | None:
    """Joint loss of all steps with one worst pair of laws; None where there are none.

    They are put before the others, which is the worst place for them (see the note), so their true place does not
    matter.
    """
    pairs = WorstPairs()
    for part in steps:
        worst_pair(part.step, pairs, part.times)
    return pairs.law(grid, delta)


def _grid_end(steps: tuple[RepeatedStep, ...], delta: Fraction) -> Fraction:
    """Upper end of the grid: at most a ten-thousandth of δ is left there, by zCDP or by the largest loss."""
    cost = Cost(steps)
    by_concentration = zcdp_epsilon(cost.rho, delta * _LEFT_OUT)
    return by_concentration if cost.epsilon is None else min(by_concentration, cost.epsilon)


def _grid(steps: tuple[RepeatedStep, ...], highest: Fraction, fineness: int) -> CurveGrid | None:
    """A grid that is fine enough for the bounded-range steps; None where it would take too much to compute."""
    ranges = [(part.step.epsilon, part.times) for part in steps if isinstance(part.step, BoundedRange)]
    width = _cell_width(ranges, highest) / fineness
    top = math.ceil(highest / width)
    work = sum(times * top * math.ceil(epsilon / width) for epsilon, times in ranges)
    work += sum(10 * part.times * top for part in steps if isinstance(part.step, LossInterval))
    atoms = sum(part.times for part in steps if isinstance(part.step, PureDP))
    if work > _MOST_WORK or atoms > _MOST_ATOMS:
        return None
    moves = [part.step.epsilon for part in steps if isinstance(part.step, BoundedRange | LossInterval)]
    return CurveGrid(width, top, max((math.floor(move / width) + 1 for move in moves), default=0))


def _cell_width(ranges: Sequence[tuple[Fraction, int]], highest: Fraction) -> Fraction:
    """Cell width: divides the dominant step's range exactly and the other ranges almost."""
    resolution = _ROUGH if is_rough() else _FINE
    if not ranges:
        return highest / resolution.points
    main, _ = max(ranges, key=lambda pair: pair[0] ** 2 * pair[1])
    # A function of the number of steps alone, so that the total grows smoothly with their ε and with 1/δ.
    passes = float(sum(epsilon * times for epsilon, times in ranges) / main)
    wanted = math.sqrt(resolution.work / (passes * min(passes, 4 * math.sqrt(passes))))
    cells = int(min(max(wanted, resolution.cells), _MOST_CELLS))
    others = cells // 4 if len({epsilon for epsilon, _ in ranges}) > 1 else 0
    widths = [main / number for number in range(cells, cells + others + 1)]
    best = min(widths, key=lambda width: _rounded_square_sum(ranges, width))
    coarsest = max(main / resolution.cells, highest / _MOST_POINTS)
    return max(best, min(highest / resolution.points, coarsest))


def _rounded_square_sum(ranges: Sequence[tuple[Fraction, int]], width: Fraction) -> Fraction:
    """Sum of the squared ranges, each rounded up to whole cells."""
    squares = (times * (math.ceil(epsilon / width) * width) ** 2 for epsilon, times in ranges)
    return sum(squares, Fraction(0))
