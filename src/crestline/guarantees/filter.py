"""Filters: what may still be spent when questions, k and privacy parameters are chosen on the way (P10.5).

A filter is opened with its budget and never changed. A release may run only if its cost still fits; the whole
interaction then keeps the promise of the budget, however the releases were chosen. Two theorems are filters: addition
of pure ε, and addition of zCDP's ρ (Feldman & Zrnic 2021; Whitehouse et al. 2023). No other accountant is one, and
minima over accountants are not either, which is why `Filter` is a type of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from crestline.errors import BudgetMismatch, ParameterError
from crestline.guarantees.conversion import largest_rho, zcdp_epsilon
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import ApproxDP
from crestline.parameters import Exact, not_negative, positive, probability, proportion


@dataclass(frozen=True)
class Amount:
    """An amount of the filter's own currency (pure ε or ρ) and of δ."""

    main: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.main + other.main, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.main - other.main, self.delta - other.delta)

    def within(self, other: Amount) -> bool:
        """Whether neither part exceeds the other amount."""
        return self.main <= other.main and self.delta <= other.delta


class Filter(Protocol):
    """A budget that stays valid for adaptively chosen parameters."""

    @property
    def currency(self) -> str: ...

    @property
    def budget(self) -> Amount: ...

    def charge(self, cost: Cost) -> Amount: ...

    def guarantee(self) -> ApproxDP: ...


@dataclass(frozen=True)
class PureFilter:
    """Sums of pure ε and of δ stay below the budget: (ε, δ)-DP in all."""

    epsilon: Fraction
    delta: Fraction

    def __init__(self, epsilon: Exact, delta: Exact = 0) -> None:
        object.__setattr__(self, "epsilon", not_negative(epsilon, "epsilon"))
        object.__setattr__(self, "delta", proportion(delta, "delta"))

    @property
    def currency(self) -> str:
        return "epsilon"

    @property
    def budget(self) -> Amount:
        return Amount(self.epsilon, self.delta)

    def charge(self, cost: Cost) -> Amount:
        if cost.epsilon is None:
            raise BudgetMismatch(
                "Gaussian noise has no pure epsilon: open the ledger with a zCDP budget, or use another mechanism"
            )
        return Amount(cost.epsilon, cost.delta)

    def guarantee(self) -> ApproxDP:
        return ApproxDP(self.epsilon, self.delta, "sum of pure epsilon (P10.5)")


@dataclass(frozen=True)
class ZeroConcentratedFilter:
    """Sums of ρ and of δ stay below the budget: (Z(ρ, slack), δ + slack)-DP in all (P10.5)."""

    rho: Fraction
    delta: Fraction
    slack: Fraction

    def __init__(self, rho: Exact, delta: Exact, slack: Exact) -> None:
        object.__setattr__(self, "rho", not_negative(rho, "rho"))
        object.__setattr__(self, "delta", proportion(delta, "delta"))
        object.__setattr__(self, "slack", probability(slack, "slack"))

    @classmethod
    def for_budget(cls, epsilon: Exact, delta: Exact, *, slack: Exact | None = None) -> ZeroConcentratedFilter:
        """The filter whose promise is (ε, δ) in all; half of δ goes to the conversion unless `slack` says how much."""
        total = probability(delta, "delta")
        spare = total / 2 if slack is None else probability(slack, "slack")
        if spare > total:
            raise ParameterError(f"slack must not exceed delta, but {slack} is larger than {delta}")
        return cls(largest_rho(positive(epsilon, "epsilon"), spare), total - spare, spare)

    @property
    def currency(self) -> str:
        return "rho"

    @property
    def budget(self) -> Amount:
        return Amount(self.rho, self.delta)

    def charge(self, cost: Cost) -> Amount:
        return Amount(cost.rho, cost.delta)

    def guarantee(self) -> ApproxDP:
        return ApproxDP(zcdp_epsilon(self.rho, self.slack), self.delta + self.slack, "zCDP filter (P10.5)")


def fits(filter_: Filter, spent: Amount, cost: Cost) -> bool:
    """Whether a release of this cost may run after `spent`; exact, so a budget can be used to the last digit."""
    return (spent + filter_.charge(cost)).within(filter_.budget)


def remaining(filter_: Filter, spent: Amount) -> Amount:
    """What is left of the budget."""
    return filter_.budget - spent
