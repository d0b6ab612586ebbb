"""Accountants: from the steps of a release to one ε (P10.3), and from a total back to the steps (P10.4).

Every accountant is valid for a list of steps whose kinds, parameters and number are fixed before the first answer; the
questions may be chosen adaptively. So the smallest of their bounds is valid too. Where parameters depend on earlier
answers only a filter is valid (P10.5): a rule of `crestline.ledger.budget_rules`, a type of its own, so that no ledger
can be given an accountant by mistake.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Protocol

from crestline.errors import ParameterError
from crestline.exact_numbers import Exact, positive_number, proportion, whole_number
from crestline.guarantees import gaussian, renyi
from crestline.guarantees.composition import optimal_composition
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import Cost, Step, repeat_step, unknown_kind_error
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange, GaussianDP, LossInterval, PureDP, WorstOfSteps
from crestline.guarantees.optimum.optimum import adaptive_epsilon
from crestline.guarantees.root_finding import is_rough, largest_within

_MOST_PURE = 20_000  # steps that the closed form adds up in less than a second


@singledispatch
def curve_of(step: object) -> renyi.Curve:
    """Return the Rényi curve of a step; raise MechanismError for a kind that is not registered."""
    raise unknown_kind_error("Rényi composition", step)


@curve_of.register
def _(step: BoundedRange) -> renyi.Curve:
    return renyi.bounded_range(step.epsilon)


@curve_of.register
def _(step: LossInterval) -> renyi.Curve:
    return renyi.loss_interval_curve(step.below, step.above)


@curve_of.register
def _(step: PureDP) -> renyi.Curve:
    return renyi.loss_interval_curve(step.epsilon, step.epsilon)


@curve_of.register(GaussianDP)
@curve_of.register(ZCDP)
@curve_of.register(WorstOfSteps)
def _(step: GaussianDP | ZCDP | WorstOfSteps) -> renyi.Curve:
    return renyi.gaussian(2 * step.rho)  # every ρ-zCDP step: D_a ≤ a ρ


class Accountant(Protocol):
    """A composition theorem for steps with fixed parameters.

    `epsilon` returns the ε of all steps, rounded up, for a failure probability; None where the theorem gives no bound.
    """

    @property
    def name(self) -> str: ...

    @property
    def theorem(self) -> str: ...

    def epsilon(self, cost: Cost, slack: Fraction) -> Fraction | None: ...


@dataclass(frozen=True)
class Basic:
    """Adds up pure costs; needs no slack, and gives no bound for a step without a pure cost."""

    name: str = "basic"
    theorem: str = "basic composition (B1)"

    def epsilon(self, cost: Cost, slack: Fraction) -> Fraction | None:
        return cost.epsilon


@dataclass(frozen=True)
class ZeroConcentrated:
    """Adds up zCDP costs and converts the sum to an ε; needs slack."""

    name: str = "zCDP"
    theorem: str = "zCDP composition and conversion (B4, P10.2)"

    def epsilon(self, cost: Cost, slack: Fraction) -> Fraction | None:
        return zcdp_epsilon(cost.rho, slack) if slack else None


@dataclass(frozen=True)
class Renyi:
    """Adds up the exact Rényi curves of the steps; needs slack."""

    name: str = "Rényi"
    theorem: str = "Rényi composition with exact curves (B5)"

    def epsilon(self, cost: Cost, slack: Fraction) -> Fraction | None:
        if not slack:
            return None
        return renyi.epsilon([(curve_of(part.step), part.times) for part in cost.steps if part.step.rho], slack)


@dataclass(frozen=True)
class AdaptiveOptimum:
    """Smallest ε against every adaptive adversary; in closed form for Gaussian steps, and for one kind of pure step.

    Needs slack. Gives no bound for a step without a known worst pair of laws (`ZCDP`, `WorstOfSteps`), nor where
    computing it would take too long.
    """

    name: str = "optimum"
    theorem: str = "exact adaptive optimum, certified (B6)"

    def epsilon(self, cost: Cost, slack: Fraction) -> Fraction | None:
        if not slack:
            return None
        kinds = {replace(part.step, theorem="") for part in cost.steps if part.times}
        if all(isinstance(step, GaussianDP) for step in kinds):
            return gaussian.epsilon_of(slack, 2 * cost.rho)
        if len(kinds) == 1 and isinstance(step := kinds.pop(), PureDP) and cost.number_of_steps <= _MOST_PURE:
            return optimal_composition(cost.number_of_steps, step.epsilon, slack)
        return adaptive_epsilon(cost.steps, slack)


ACCOUNTANTS: tuple[Accountant, ...] = (Basic(), ZeroConcentrated(), Renyi(), AdaptiveOptimum())
_QUICK: tuple[Accountant, ...] = (Basic(), ZeroConcentrated(), AdaptiveOptimum())
"""Without the one that is hardly ever the best: where a search looks for its start."""


def total_epsilon(cost: Cost, slack: Exact) -> Fraction:
    """Smallest valid ε for the steps of a release that fails with probability at most `slack`."""
    return _best(cost, proportion(slack, "slack"))[0]


def total(cost: Cost, slack: Exact = 0, theorem: str = "") -> ApproxDP | ZCDP:
    """Guarantee of a whole release: the smallest valid ε, and the cost's own δ plus the slack.

    Without slack the pure costs are added up; if a step (Gaussian noise) has none, the guarantee is zCDP. `theorem`
    names the theorem that makes the steps a release; the composition theorem is appended to it.
    """
    delta_slack = proportion(slack, "slack")
    if not delta_slack and cost.epsilon is None:
        return ZCDP(cost.rho, cost.delta, _join_theorems(theorem, ZeroConcentrated.theorem))
    epsilon, composed = _best(cost, delta_slack)
    return ApproxDP(epsilon, cost.delta + delta_slack, _join_theorems(theorem, composed))


def per_step_epsilon(
    k: int,
    epsilon: Exact,
    slack: Exact,
    accountant: Accountant | None = None,
    step: Callable[[Fraction], Step] = BoundedRange,
) -> Fraction:
    """Largest ε of each of `k` steps whose total is at most `epsilon` (Ind, P10.4), rounded down to a short decimal.

    `accountant` adds the steps up; without it, the best one does. The total of the returned value was computed and
    fits, so the parameter that is charged is the parameter that is used.
    """
    count, budget, delta_slack = whole_number(k, "k"), positive_number(epsilon, "epsilon"), proportion(slack, "slack")

    def total_of_size(size: Fraction) -> Fraction:
        cost = repeat_step(step(size), count)
        return _epsilon_or_refuse(accountant, cost, delta_slack) if accountant else total_epsilon(cost, delta_slack)

    return largest_within(total_of_size, budget, start=budget / count)


def _epsilon_or_refuse(accountant: Accountant, cost: Cost, slack: Fraction) -> Fraction:
    """The bound of one accountant; raises ParameterError where it has none."""
    bound = accountant.epsilon(cost, slack)
    if bound is None:
        raise ParameterError(
            f"{accountant.name} cannot bound these steps with slack {slack}: choose another accountant"
        )
    return bound


def _best(cost: Cost, slack: Fraction) -> tuple[Fraction, str]:
    """The smallest bound of all accountants, with its theorem; raises ParameterError where none has one."""
    tried = _QUICK if is_rough() else ACCOUNTANTS
    bounds = [(accountant.epsilon(cost, slack), accountant.theorem) for accountant in tried]
    valid = [(bound, theorem) for bound, theorem in bounds if bound is not None]
    if not valid:
        raise ParameterError("Gaussian noise has no pure epsilon: leave a slack larger than zero for its delta")
    return min(valid, key=lambda pair: pair[0])


def _join_theorems(*theorems: str) -> str:
    """The theorems that are not empty, separated by semicolons."""
    return "; ".join(theorem for theorem in theorems if theorem)
