"""What the adaptive optimum makes of each kind of step. A new kind is registered with all three functions.

A step either moves on the grid, because the adversary may choose among its laws (`adaptive_step`), or it has one worst
pair of laws (`worst_pair`). Proof note: docs/proofs/adaptive_optimum.md
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
    """Whether the optimum can be computed with this step at all."""
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
    return False  # it is only known to be zero-concentrated, or one of several, which names no laws


@singledispatch
def adaptive_step(step: object, grid: CurveGrid) -> AdaptiveStep | None:
    """The step as a map on the grid; None for a step with one worst pair of laws."""
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
    """Steps with one worst pair of laws: how often each ε of a pure step comes, and the μ² of all Gaussian ones."""

    pure: Counter[Fraction] = field(default_factory=Counter)
    mu_squared: Fraction = Fraction(0)

    def law(self, grid: CurveGrid, delta: Fraction) -> LossLaw | None:
        """Their joint loss; None when there are none."""
        laws = [randomised_response(grid, epsilon, times) for epsilon, times in self.pure.items()]
        if self.mu_squared:
            laws.append(gaussian(grid, self.mu_squared, delta))
        return sum(laws[1:], laws[0]) if laws else None


@singledispatch
def worst_pair(step: object, pairs: WorstPairs, times: int) -> None:
    """Add a step with one worst pair of laws to `pairs`, `times` times; a step that moves on the grid adds nothing."""
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
    """It moves on the grid."""
