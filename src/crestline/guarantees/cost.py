"""Cost of a release: a list of steps, and a probability of failure (P10.1).

Steps are guarantees of mechanisms over slots (P1.3, P1.4); `delta` is the probability that an unstable item is named.
Both add up over any adaptive interaction (P10.5), as a ledger requires; accountants turn the steps into one ε.
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
    """One step, run `times` times in a row."""

    step: Step
    times: int = 1


@dataclass(frozen=True)
class Cost:
    """Cost of a release.

    Attributes:
        steps: The steps, in the order in which they run.
        delta: Probability of an outcome that the steps do not cover.
    """

    steps: tuple[RepeatedStep, ...] = ()
    delta: Fraction = Fraction(0)

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated cost: the sum over all steps."""
        return sum((part.step.rho * part.times for part in self.steps), Fraction(0))

    @property
    def epsilon(self) -> Fraction | None:
        """Pure cost of the steps by basic composition; None when a step (Gaussian noise) has none."""
        total = Fraction(0)
        for part in self.steps:
            if part.times:
                if part.step.epsilon is None:
                    return None
                total += part.step.epsilon * part.times
        return total

    @property
    def number_of_steps(self) -> int:
        """Number of steps, each counted as often as it runs."""
        return sum(part.times for part in self.steps)

    def __add__(self, other: Cost) -> Cost:
        """The cost of both releases, one after the other."""
        return Cost(self.steps + other.steps, self.delta + other.delta)


def unknown_kind_error(who: str, step: object) -> MechanismError:
    """Error of a calculation for which a kind of step was never registered."""
    return MechanismError(f"{who} does not know what to do with {type(step).__name__}: register that kind with it")


def repeat_step(step: Step, times: int = 1, *, delta: Fraction = Fraction(0)) -> Cost:
    """Cost of one step, run `times` times."""
    return Cost((RepeatedStep(step, times),) if times else (), delta)
