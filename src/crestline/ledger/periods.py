"""Budgets by period: which accounts a question draws on, and what is promised to a person in several periods (pure).

A question reads the periods `S` and is charged to the account of each. A cap is a filter of its own for every window of
that number of consecutive periods that meets `S` (P16.3). What a window is charged is what the question costs a person
who is in all of it (P16.1):

    once    distinct users, no bound on their items: over all periods the person is one user of the question
    each    a bound holds for a user and a period, so the person pays once for each period
    sum     the person may add the clip in each period: no multiple of the cost covers that, and a cap refuses it
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from crestline.errors import BudgetMismatch
from crestline.guarantees.guarantee import ApproxDP
from crestline.ledger.budget import Budget
from crestline.ledger.budget_rules import ZcdpRule
from crestline.periods.calendar import Periods, period_label

_YEAR = 12  # periods for which a person's promise is always stated

Person: TypeAlias = Literal["once", "each", "sum"]


@dataclass(frozen=True)
class PeriodCharge:
    """The periods that a question reads, and how it is paid for by a person who is in several of them."""

    periods: Periods
    person: Person = "each"

    def to_json(self) -> dict[str, str]:
        """What an entry says about it; the calendar is in the budget."""
        labels = self.periods.labels
        return {"first": labels[0], "last": labels[-1], "person": self.person}

    @classmethod
    def from_json(cls, value: Mapping[str, str], budget: Budget) -> PeriodCharge:
        """The periods that `to_json` wrote into an entry, in the calendar of the budget."""
        assert budget.calendar is not None, "only a budget by period is charged for periods"
        person: dict[str, Person] = {"once": "once", "each": "each", "sum": "sum"}
        return cls(Periods.from_labels(budget.calendar, value["first"], value["last"]), person[value["person"]])


@dataclass(frozen=True)
class AccountShare:
    """One account that a question draws on, and how many times its cost.

    period   the label of the period; of a window, of its first
    span     1: the account of the period; otherwise the window of that number of periods
    """

    period: str
    span: int
    times: int


def check_reach(account_name: str, budget: Budget, reach: PeriodCharge | None) -> None:
    """Refuse a question that says nothing about periods where the budget is by period, or the other way round."""
    if budget.calendar is None and reach is None:
        return
    if budget.calendar is None:
        raise BudgetMismatch(f"{account_name} is not by period: ask without period, since and last")
    if reach is None:
        raise BudgetMismatch(
            f"{account_name} is for {budget.calendar}: name the periods, with period=, with since= and until=, or "
            f"with last="
        )
    if reach.periods.calendar != budget.calendar:
        raise BudgetMismatch(f"{account_name} is for {budget.calendar}, and this is about {reach.periods.calendar}")


def check_same_calendar(dataset: Budget, analyst: Budget) -> None:
    """A question is charged to the data set and to its analyst for the same periods."""
    if dataset.calendar != analyst.calendar:
        kept = "not by period" if dataset.calendar is None else f"for {dataset.calendar}"
        raise BudgetMismatch(f"the budget of the data set is {kept}: open the analyst's budget in the same way")


def account_shares(budget: Budget, reach: PeriodCharge) -> Iterator[AccountShare]:
    """The accounts of the periods, then the windows that meet them."""
    periods = reach.periods
    for label in periods.labels:
        yield AccountShare(label, 1, 1)
    if budget.cap is None:
        return
    size = budget.cap.periods
    for start in range(periods.first - size + 1, periods.first + periods.size):
        met = min(start + size, periods.first + periods.size) - max(start, periods.first)
        if met > 1 and reach.person == "sum":
            raise BudgetMismatch(
                "this budget has a cap over several periods, and a sum over several periods cannot be charged to it "
                "(P16.3): ask for one period, or without score"
            )
        yield AccountShare(period_label(periods.calendar.per, start), size, met if reach.person == "each" else 1)


def budget_of_span(budget: Budget, span: int) -> Budget:
    """The budget of a period's account, or of a window."""
    assert span == 1 or (budget.cap is not None and budget.cap.periods == span), "a window that this budget has not"
    return budget if span == 1 or budget.cap is None else budget.cap.budget


def promise_per_person(budget: Budget, periods: int) -> ApproxDP | None:
    """What everything together promises a person who is in a number of periods, at the budgets (P16.1); None: nothing.

    It holds as long as no question asks for a sum over several periods. Within a window the cap promises too, and what
    it says is taken where its ε is smaller.
    """
    terms = budget.terms
    if isinstance(terms, ZcdpRule):
        from crestline.guarantees.conversion import zcdp_epsilon  # ball arithmetic, not needed to keep a ledger

        found = zcdp_epsilon(periods * terms.rho, terms.slack), periods * terms.delta + terms.slack
    else:
        found = periods * budget.epsilon, periods * budget.delta
    cap = budget.cap
    if cap is not None and periods <= cap.periods and cap.budget.epsilon < found[0]:
        return ApproxDP(cap.budget.epsilon, cap.budget.delta, theorem="P16.3")
    return _promise(*found)


def promise_texts(budget: Budget, periods_open: int) -> tuple[str, ...]:
    """Both promises of a budget by period, in words: for a user and a period, and for a person in several periods.
    Then, where such sums are allowed, what is left of the second when a sum over several periods is asked for."""
    if budget.calendar is None:
        return ()
    per = budget.calendar.per
    text = f"{budget.guarantee()} for one user's rows of one {per}"
    longer = [(_YEAR, f"any {_YEAR} {per}s"), (periods_open, f"all {periods_open} {per}s that were asked about so far")]
    for periods, words in longer:
        promise = promise_per_person(budget, periods) if periods > 1 else None
        if promise is not None:
            text += f"; {promise} for a person who is in {words}"
    whole = f"All answers together, at the budget: {text}"
    if budget.cap is not None:  # it refuses such sums
        return (f"{whole} (P16.1, P16.3).",)
    sums = promise_with_sums(budget, _YEAR)
    group = "nothing" if sums is None else f"only {sums}"
    return (
        f"{whole}, unless a sum over several {per}s is asked for (P16.1).",
        f"Where one is, {group} is promised to a person who is in {_YEAR} {per}s.",
    )


def promise_with_sums(budget: Budget, periods: int) -> ApproxDP | None:
    """The same where sums over several periods are asked for: group privacy alone is left (P16.1)."""
    from crestline.guarantees.rounding import ball, decimal_above, precision

    total = periods * budget.epsilon
    with precision():
        factor = decimal_above(((ball(total)).exp() - 1) / (ball(budget.epsilon).exp() - 1))
    return _promise(total, budget.delta * factor)


def _promise(epsilon: Fraction, delta: Fraction) -> ApproxDP | None:
    return ApproxDP(epsilon, delta, theorem="P16.1") if delta < 1 else None
