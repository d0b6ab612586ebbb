"""What a release costs: a list of steps, and a probability of failure (P10.1).

Steps are guarantees in the slot world (P1.3, P1.4); `delta` is the probability that an unstable item is named. The two
add up over any adaptive interaction (P10.5), which is what a ledger needs; accountants turn the steps into one ε.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from crestline.errors import MechanismError
from crestline.guarantees.guarantee import ZCDP, BoundedRange, GaussianDP, LossInterval, PureDP, WorstOfSteps

Step: TypeAlias = BoundedRange | LossInterval | PureDP | GaussianDP | ZCDP | WorstOfSteps


@dataclass(frozen=True)
class RepeatedStep:
    """The same kind of step, `times` times in a row."""

    step: Step
    times: int = 1


@dataclass(frozen=True)
class Cost:
    """Steps in the order in which they are run, and `delta`: the probability of an outcome that they do not cover."""

    steps: tuple[RepeatedStep, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def rho(self) -> Fraction:
        """The zero-concentrated cost: the sum over all steps."""
        return sum((part.step.rho * part.times for part in self.steps), Fraction(0))

    @property
    def epsilon(self) -> Fraction | None:
        """The pure cost of the steps by plain addition, or None when a step (Gaussian noise) has none."""
        total = Fraction(0)
        for part in self.steps:
            if part.times:
                if part.step.epsilon is None:
                    return None
                total += part.step.epsilon * part.times
        return total

    @property
    def number_of_steps(self) -> int:
        """How many steps there are."""
        return sum(part.times for part in self.steps)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.steps + other.steps, self.delta + other.delta)


def unknown_kind_error(who: str, step: object) -> MechanismError:
    """The error of a calculation for which a kind of step was never registered."""
    return MechanismError(f"{who} does not know what to do with {type(step).__name__}: register that kind with it")


def repeat_step(step: Step, times: int = 1, *, delta: Fraction = Fraction(0)) -> Cost:
    """A cost made of one kind of step."""
    return Cost((RepeatedStep(step, times),) if times else (), delta)
