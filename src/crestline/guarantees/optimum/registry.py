"""Functions of the adaptive optimum for each kind of step; a new kind is registered with all three.

A step either maps curves on the grid, because the adversary may choose among its laws (`adaptive_step`), or it has one
worst pair of laws (`worst_pair`). Proof note: docs/proofs/adaptive_optimum.md
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import singledispatch

from crestline.guarantees.cost import unknown_kind_error
from crestline.guarantees.guarantee import ZCDP, BoundedRange, GaussianDP, LossInterval, PureDP, WorstOfSteps
from crestline.guarantees.optimum.grid import CurveGrid
from crestline.guarantees.optimum.loss import LossLaw, gaussian, randomised_response
from crestline.guarantees.optimum.step import AdaptiveStep, BoundedRangeStep, LossIntervalStep

_WHO = "the adaptive optimum"


@singledispatch
def has_worst_case(step: object) -> bool:
    """Whether the optimum can be computed with this step; raises MechanismError for a kind that is not registered."""
    raise unknown_kind_error(_WHO, step)


@has_worst_case.register(BoundedRange)
@has_worst_case.register(LossInterval)
@has_worst_case.register(PureDP)
@has_worst_case.register(GaussianDP)
def _(step: object) -> bool:
    return True


@has_worst_case.register(ZCDP)
@has_worst_case.register(WorstOfSteps)
def _(step: object) -> bool:
    return False  # only a zero-concentrated cost is known, or several steps: neither gives a worst pair of laws


@singledispatch
def adaptive_step(step: object, grid: CurveGrid) -> AdaptiveStep | None:
    """The step as a map of curves on the grid; None for a step with one worst pair of laws."""
    raise unknown_kind_error(_WHO, step)


@adaptive_step.register
def _(step: BoundedRange, grid: CurveGrid) -> AdaptiveStep:
    return BoundedRangeStep(grid, math.ceil(step.epsilon / grid.width))


@adaptive_step.register
def _(step: LossInterval, grid: CurveGrid) -> AdaptiveStep:
    return LossIntervalStep(grid, step.below, step.above)


@adaptive_step.register(PureDP)
@adaptive_step.register(GaussianDP)
def _(step: object, grid: CurveGrid) -> None:
    return None


@dataclass
class WorstPairs:
    """Steps with one worst pair of laws: the number of pure steps of each ε, and the sum of μ² of Gaussian steps."""

    pure: Counter[Fraction] = field(default_factory=Counter)
    mu_squared: Fraction = Fraction(0)

    def law(self, grid: CurveGrid, delta: Fraction) -> LossLaw | None:
        """Law of their joint loss; None when there are none."""
        laws = [randomised_response(grid, epsilon, times) for epsilon, times in self.pure.items()]
        if self.mu_squared:
            laws.append(gaussian(grid, self.mu_squared, delta))
        return sum(laws[1:], laws[0]) if laws else None


@singledispatch
def worst_pair(step: object, pairs: WorstPairs, times: int) -> None:
    """Add a step with one worst pair of laws to `pairs`, `times` times; a step that maps curves adds nothing."""
    raise unknown_kind_error(_WHO, step)


@worst_pair.register
def _(step: PureDP, pairs: WorstPairs, times: int) -> None:
    pairs.pure[step.epsilon] += times


@worst_pair.register
def _(step: GaussianDP, pairs: WorstPairs, times: int) -> None:
    pairs.mu_squared += step.mu_squared * times


@worst_pair.register(BoundedRange)
@worst_pair.register(LossInterval)
def _(step: object, pairs: WorstPairs, times: int) -> None:
    """Add nothing: this kind maps curves on the grid."""
