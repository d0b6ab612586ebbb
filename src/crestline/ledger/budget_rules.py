"""The three kinds of budget: how a cost is measured, and how much of it is allowed.

    Concentrated    adaptive ε per question: Σρ and Σδ are bounded              P10.5
    Pure            Σε and Σδ are bounded                                        P10.5, P1.4
    Homogeneous     one ε per item, one δ per question: items and questions are counted    P10.6

Which one is decided when a budget is opened. The proofs need that: never mix them, or take a minimum, afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar, Protocol

from crestline.errors import BudgetMismatch, ParameterError
from crestline.exact_numbers import decimal_text
from crestline.guarantees.cost import Cost, Step
from crestline.ledger.amount import Amount

Units = tuple[str, str]

# Digits of parameters that we choose and people will type.
_DIGITS = 6  # any number of them: what we choose is rounded down


class BudgetRule(Protocol):
    """What a kind of budget knows. Its fields are exact numbers, and are kept in the ledger."""

    name: ClassVar[str]
    units: ClassVar[Units]
    theorem: ClassVar[str]

    @property
    def limit(self) -> Amount:
        """How much may be charged in all."""
        ...

    def measure(self, cost: Cost) -> Amount:
        """What a cost takes from the limit; `BudgetMismatch` where this kind cannot pay for it."""
        ...


class _LimitFields:
    """A kind of budget whose limit stands in the two fields that its units name."""

    units: ClassVar[Units]

    @property
    def limit(self) -> Amount:
        """How much may be charged in all."""
        loss, failure = self.units
        return Amount(self.units, getattr(self, loss), getattr(self, failure))


@dataclass(frozen=True)
class ZcdpRule(_LimitFields):
    """A zCDP filter: `rho` for the steps, `delta` for their failures, `slack` for the conversion to (ε, δ)."""

    rho: Fraction
    delta: Fraction
    slack: Fraction

    name: ClassVar[str] = "zcdp"
    units: ClassVar[Units] = ("rho", "delta")
    theorem: ClassVar[str] = "P10.5"

    def measure(self, cost: Cost) -> Amount:
        """The ρ and the δ of a cost: every release has both."""
        return Amount(self.units, cost.rho, cost.delta)


@dataclass(frozen=True)
class PureRule(_LimitFields):
    """Plain addition: `epsilon` for the steps, `delta` for their failures."""

    epsilon: Fraction
    delta: Fraction

    name: ClassVar[str] = "pure"
    units: ClassVar[Units] = ("epsilon", "delta")
    theorem: ClassVar[str] = "P10.5"

    def measure(self, cost: Cost) -> Amount:
        """The ε and the δ of a cost; a release that has no pure ε is refused."""
        if cost.epsilon is None:
            raise BudgetMismatch(
                "this mechanism has no pure epsilon (Gaussian noise), so a pure budget cannot pay for it: "
                "choose another mechanism, or open the budget with kind='zcdp'"
            )
        return Amount(self.units, cost.epsilon, cost.delta)


@dataclass(frozen=True)
class PerItemRule(_LimitFields):
    """[DR]'s form: at most `items` items of `item_epsilon` each, in at most `questions` of `question_delta` each."""

    items: Fraction
    questions: Fraction
    item_epsilon: Fraction
    question_delta: Fraction
    slack: Fraction

    name: ClassVar[str] = "homogeneous"
    units: ClassVar[Units] = ("items", "questions")
    theorem: ClassVar[str] = "P10.6"

    def measure(self, cost: Cost) -> Amount:
        """The items that a cost pays for, and one question; what P10.6 does not cover is refused."""
        if not all(self._allows(part.step) for part in cost.steps if part.times) or cost.delta > self.question_delta:
            raise BudgetMismatch(
                f"this budget pays for bounded-range steps of at most epsilon={decimal_text(self.item_epsilon)} per "
                f"drawn item, and delta={decimal_text(self.question_delta)} per question: ask with these or less"
            )
        return Amount(self.units, Fraction(cost.number_of_steps), Fraction(1))

    def _allows(self, step: Step) -> bool:
        """Both terms of P10.6's minimum must hold for the step: k*·ε and Z(k*·ε²/8, d)."""
        return step.epsilon is not None and step.epsilon <= self.item_epsilon and step.rho <= self.item_epsilon**2 / 8


def zcdp_rule(epsilon: Fraction, delta: Fraction, slack: Fraction) -> ZcdpRule:
    """The filter whose whole interaction is (ε, δ)-DP: Z(ρ, slack) <= ε, and `delta - slack` is left for failures."""
    from crestline.guarantees.conversion import largest_rho  # ball arithmetic is only needed to open a budget

    return ZcdpRule(largest_rho(epsilon, slack), delta - slack, slack)


def per_item_rule(
    epsilon: Fraction,
    delta: Fraction,
    slack: Fraction,
    *,
    items: int,
    questions: int,
    item_epsilon: Fraction | None,
    question_delta: Fraction | None,
) -> PerItemRule:
    """[DR]'s form with `min{k*·ε, Z(k*·ε²/8, slack)} <= epsilon` and `l*·δ + slack <= delta` (P10.6)."""
    from crestline.guarantees.conversion import largest_rho, zcdp_epsilon  # as above
    from crestline.guarantees.rounding import round_down

    if item_epsilon is None:
        item_epsilon = round_down(max(epsilon / items, _floor_root(8 * largest_rho(epsilon, slack) / items)), _DIGITS)
    elif min(items * item_epsilon, zcdp_epsilon(items * item_epsilon**2 / 8, slack)) > epsilon:
        raise ParameterError(
            "items times item_epsilon is more than epsilon allows: lower one of them, or raise epsilon"
        )
    if question_delta is None:
        question_delta = round_down((delta - slack) / questions, _DIGITS)
    elif questions * question_delta + slack > delta:
        raise ParameterError("questions times question_delta is more than delta less slack: lower one of them")
    return PerItemRule(Fraction(items), Fraction(questions), item_epsilon, question_delta, slack)


def _floor_root(square: Fraction) -> Fraction:
    """A decimal that is not above the square root, and close to it."""
    scale = 10**15  # any fine grid: rounded down
    return Fraction(isqrt(int(square * scale**2)), scale)
