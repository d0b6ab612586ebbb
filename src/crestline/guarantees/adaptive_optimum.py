"""The exact adaptive optimum, certified: an ε that no adversary beats, and that almost reaches what one can do (B6).

Seed        Dong, Durfee & Rogers 2020, arXiv:1909.13830, Section 5; hybrid steps as in docs/proofs/adaptive_optimum.md
Guarantee   steps with fixed parameters, run in the order listed, their questions chosen adaptively: (ε, δ)-DP
Assumes     nothing else; the parameters must not depend on earlier answers (P10.3)
Numerics    certified: every rounding raises the curve, whose chord on the grid gives ε, rounded up
Proof note  docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from crestline.guarantees.adaptive_step import AdaptiveStep, BoundedRangeStep, LossIntervalStep
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import Repeated, Step
from crestline.guarantees.grid import Grid
from crestline.guarantees.guarantee import BoundedRange, GaussianDP, LossInterval, PureDP
from crestline.guarantees.loss_law import LossLaw, gaussian, randomised_response

_WORK = 4e6  # cells looked at in one pass over all steps, where the number of cells per step can be chosen
_MOST_WORK = 1e9  # about ten seconds; beyond that other accountants must do
_CELLS = (20, 512)  # cells per bounded-range step: fewest (0.3% loss), most
_MOST_POINTS = 50_000


def homogeneous(k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """k bounded-range steps of one ε."""
    found = optimum((Repeated(BoundedRange(epsilon), k),), delta)
    return k * epsilon if found is None else min(found, k * epsilon)


def optimum(steps: Sequence[Repeated], delta: Fraction) -> Fraction | None:
    """The ε of these steps in this order, rounded up; None when it would take too long to compute."""
    plain = tuple(Repeated(_bare(part.step), part.times) for part in steps if part.times and part.step.rho)
    return _optimum(plain, delta) if plain else Fraction(0)


def _bare(step: Step) -> Step:
    """The step without its theorem and adjacency, so that equal numbers are computed once."""
    return replace(step, theorem="")


@lru_cache(maxsize=4096)
def _optimum(steps: tuple[Repeated, ...], delta: Fraction) -> Fraction | None:
    plan = _plan(steps, delta)
    if plan is None:
        return None
    values = plan.grid.nothing()
    for part in reversed(steps):  # the last step is next to the end of the interaction
        move = plan.move(part.step)
        for _ in range(part.times if move else 0):
            values = move.before(values) if move else values
    law = _fixed(steps, plan.grid, delta)
    return plan.grid.smallest_epsilon(values if law is None else law.before(plan.grid, values), delta)


@dataclass(frozen=True)
class _Plan:
    """The grid for a list of steps."""

    grid: Grid

    def move(self, step: Step) -> AdaptiveStep | None:
        """The step as a map on this grid; None for a step with one worst pair of laws, which comes at the end."""
        if isinstance(step, BoundedRange):
            return BoundedRangeStep(self.grid, math.ceil(step.epsilon / self.grid.width))
        if isinstance(step, LossInterval):
            return LossIntervalStep(self.grid, step.below, step.above)
        return None


def _fixed(steps: tuple[Repeated, ...], grid: Grid, delta: Fraction) -> LossLaw | None:
    """The joint loss of the steps with one worst pair of laws.

    It is put before all other steps, which is the worst place for it (see the note), so its true place does not matter.
    """
    pure: dict[Fraction, int] = {}
    mu_squared = Fraction(0)
    for part in steps:
        if isinstance(part.step, PureDP):
            pure[part.step.epsilon] = pure.get(part.step.epsilon, 0) + part.times
        elif isinstance(part.step, GaussianDP):
            mu_squared += part.step.mu_squared * part.times
    laws = [randomised_response(grid, epsilon, times) for epsilon, times in pure.items()]
    if mu_squared:
        laws.append(gaussian(grid, mu_squared, delta))
    return sum(laws[1:], laws[0]) if laws else None


def _plan(steps: tuple[Repeated, ...], delta: Fraction) -> _Plan | None:
    """A grid that reaches far enough for δ and is fine enough for the bounded-range steps."""
    highest = _highest(steps, delta)
    ranges = [(part.step.epsilon, part.times) for part in steps if isinstance(part.step, BoundedRange)]
    width = max(_width(ranges, highest), highest / _MOST_POINTS)
    top = math.ceil(highest / width)
    work = sum(times * top * (epsilon / width) for epsilon, times in ranges)
    atoms = sum(part.times for part in steps if isinstance(part.step, PureDP))
    moves = sum(part.times for part in steps if isinstance(part.step, LossInterval))
    if work + 10 * top * moves > _MOST_WORK or atoms > 5000:
        return None
    return _Plan(Grid(width, top, _reach(steps, width)))


def _highest(steps: tuple[Repeated, ...], delta: Fraction) -> Fraction:
    """A threshold at which far less than δ is left: the largest loss of all, or by zCDP for a ten-thousandth of δ."""
    rho = sum((part.step.rho * part.times for part in steps), Fraction(0))
    by_concentration = zcdp_epsilon(rho, delta / 10**4)
    if any(isinstance(part.step, GaussianDP) for part in steps):
        return by_concentration
    by_addition = sum((Fraction(part.step.epsilon or 0) * part.times for part in steps), Fraction(0))
    return min(by_concentration, by_addition)


def _width(ranges: Sequence[tuple[Fraction, int]], highest: Fraction) -> Fraction:
    """The width of a cell: a whole part of the range that matters most, and nearly one of the others."""
    if not ranges:
        return highest / 4096
    main, _ = max(ranges, key=lambda pair: pair[0] ** 2 * pair[1])
    # Decided by the number of steps alone, so that the total grows smoothly with their ε and with 1/δ.
    passes = float(sum(epsilon * times for epsilon, times in ranges) / main)
    wanted = math.sqrt(_WORK / (passes * min(passes, 4 * math.sqrt(passes))))
    cells = int(min(max(wanted, _CELLS[0]), _CELLS[1]))
    widths = [main / number for number in range(cells, cells + (cells // 4 if len(set(ranges)) > 1 else 0) + 1)]
    return min(widths, key=lambda width: _rounded(ranges, width))


def _rounded(ranges: Sequence[tuple[Fraction, int]], width: Fraction) -> Fraction:
    """What is lost when the ranges are rounded up to whole cells."""
    return sum((times * (math.ceil(epsilon / width) * width) ** 2 for epsilon, times in ranges), Fraction(0))


def _reach(steps: tuple[Repeated, ...], width: Fraction) -> int:
    """How many cells one step may move the threshold."""
    moves = [Fraction(1)]
    for part in steps:
        if isinstance(part.step, BoundedRange | LossInterval):
            moves.append(math.ceil(part.step.epsilon / width) + Fraction(1))
    return int(max(moves))
