"""Shares of a budget (pure): the usual one, of a question that does not say what it may cost; and, for people, what
part of a budget an amount is, what that is worth as an ε, and how often it fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from crestline.errors import BudgetMismatch, ParameterError
from crestline.exact_numbers import percent
from crestline.guarantees.cost import Cost
from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_rules import PerItemRule, ZcdpRule

# A question takes this part of what the budget is counted in: of ρ, or of ε where ε adds up. A tenth of a
# budget's ε would be about a hundredth of its ρ, and name next to nothing.
SHARE_OF_LOSS = 10
# δ only ever limits how many questions can be asked, and 25 times less of it costs an item few users: it must not
# run out first.
SHARE_OF_DELTA = 500

_DIGITS = 3  # of an ε that people will read and type
_CLOSE = 2  # digits to which the share is met


def usual_delta(budget: Budget) -> Fraction:
    """The δ of a question that does not say one."""
    terms = budget.terms
    delta = terms.question_delta if isinstance(terms, PerItemRule) else budget.delta / SHARE_OF_DELTA
    if delta == 0:
        raise ParameterError("this budget has no delta, so a question cannot take a share of it: open one with a delta")
    return delta


def usual_share(budget: Budget) -> Amount:
    """What a question takes that does not say what it may cost: at most this."""
    limit = budget.limit
    failure = Fraction(1) if isinstance(budget.terms, PerItemRule) else budget.delta / SHARE_OF_DELTA
    return Amount(limit.units, limit.loss / SHARE_OF_LOSS, failure)


def usual_epsilon(budget: Budget, cost_of: Callable[[Fraction], Cost]) -> Fraction:
    """The largest ε with which a question costs at most the usual share; `cost_of` says what it costs with an ε.

    A homogeneous budget counts items, whatever their ε, up to the one that was fixed: that one is used.
    """
    from crestline.guarantees.root_finding import largest_fitting, largest_within
    from crestline.guarantees.rounding import round_down

    terms = budget.terms
    if isinstance(terms, PerItemRule):
        budget.measure(cost_of(terms.item_epsilon))  # refused here if this budget cannot pay for the mechanism at all
        return largest_fitting(
            lambda epsilon: _can_measure(budget, cost_of(epsilon)), start=terms.item_epsilon, digits=_DIGITS
        )
    share = usual_share(budget).loss

    def loss(epsilon: Fraction) -> Fraction:
        return budget.measure(cost_of(round_down(epsilon, _DIGITS))).loss

    return round_down(largest_within(loss, share, start=budget.epsilon / 4, digits=_CLOSE), _DIGITS)


def fraction_of(amount: Amount, limit: Amount) -> float:
    """The part of a limit that an amount is, by the unit that is nearer to its end."""
    return max(float(part / whole) for part, whole in _pairs(amount, limit) if whole)


def how_often_fits(amount: Amount, remaining: Amount) -> int | None:
    """How often an amount fits into what is left; None: it is nothing."""
    parts = [max(Fraction(0), rest) / part for part, rest in _pairs(amount, remaining) if part > 0]
    return math.floor(min(parts)) if parts else None


def epsilon_worth(budget: Budget, amount: Amount) -> float:
    """The ε that an amount is worth: that of a budget which holds as much, with the same δ for the conversion.

    Halves of ρ are worth more than halves of ε, so what is spent and what is left do not add up to the whole.
    """
    from crestline.guarantees.conversion import zcdp_epsilon

    terms, loss = budget.terms, max(Fraction(0), amount.loss)
    if isinstance(terms, ZcdpRule):
        return float(zcdp_epsilon(loss, terms.slack))
    if isinstance(terms, PerItemRule):
        item = terms.item_epsilon
        return float(min(loss * item, zcdp_epsilon(loss * item**2 / 8, terms.slack)))
    return float(loss)


@dataclass(frozen=True, eq=False, repr=False)
class Remaining(Amount):
    """What is left of a budget, for people: as a part of it, worth so much ε, and how many more like the last answer.

    It is an `Amount` in every other way: it adds up, and it equals one with the same numbers.
    """

    share: float
    epsilon: float
    more: int | None
    period: str | None = None

    @classmethod
    def from_balance(cls, budget: Budget, left: Amount, last: Amount | None) -> Remaining:
        """What is left of a budget; `last` is what was last paid."""
        share = 1 - fraction_of(budget.limit - left, budget.limit)
        more = None if last is None else how_often_fits(last, left)
        return cls(left.units, left.loss, left.failure, share, epsilon_worth(budget, left), more)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Amount):
            return NotImplemented
        return (self.units, self.loss, self.failure) == (other.units, other.loss, other.failure)

    def __hash__(self) -> int:
        return hash((self.units, self.loss, self.failure))

    def _repr_html_(self) -> str:
        return f'<p><meter max="1" value="{self.share:.4f}"></meter> {self}</p>'

    def __str__(self) -> str:
        when = "" if self.period is None else f"{self.period}: "
        text = f"{when}{percent(self.share)} left, worth epsilon {self.epsilon:.3g}"
        return text if self.more is None else f"{text}; about {self.more:,} more like the last one"


def _pairs(amount: Amount, other: Amount) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    return (amount.loss, other.loss), (amount.failure, other.failure)


def _can_measure(budget: Budget, cost: Cost) -> bool:
    try:
        budget.measure(cost)
    except BudgetMismatch:
        return False
    return True
