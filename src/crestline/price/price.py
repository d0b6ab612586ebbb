"""Price of a question: what it will cost at most and at least, and what would remain. No row is read.

The price is computed from the same parts as the charge: the mechanism that would answer, its worst cost, the balance
that would pay. So no answer is charged more than its price while the ledger and the data stay the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from crestline.answer.answer import Choice
from crestline.answer.warnings import delta_warnings
from crestline.exact_numbers import percent
from crestline.guarantees.guarantee import Guarantee
from crestline.label_text import HasShortRepr
from crestline.ledger.amount import Amount, round_up_if_too_long, zero_amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of, how_often_fits
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.prepare import Prepared

if TYPE_CHECKING:
    from crestline.ledger.storage.rows import Account, ChargedAccount


class PayingAccount(NamedTuple):
    """An account that pays.

    Attributes:
        name: Name of the account.
        balance: Its balance.
        times: Number of times it pays the cost.
        window: Whether it is the cap on several periods (P16.3).
    """

    name: str
    balance: Balance
    times: int = 1
    window: bool = False


Payers: TypeAlias = Sequence[PayingAccount]  # the data set's account is the first


@dataclass(frozen=True, repr=False)
class Charge(HasShortRepr):
    """What one account would pay, in the units of its budget.

    Attributes:
        account: Name of the account.
        most: Amount reserved before a row is read.
        least: Amount charged when the answer stops at once, the least of all answers.
        remaining: Amount that remains in the account now.
        budget: Budget of the account.
        window: Whether the account is the cap on several periods.
    """

    account: str
    most: Amount
    least: Amount
    remaining: Amount
    budget: Budget
    window: bool = False

    @property
    def remaining_after(self) -> tuple[Amount, Amount]:
        """Least and largest amount that would remain; negative where the charge does not fit."""
        return self.remaining - self.most, self.remaining - self.least

    @property
    def fits(self) -> bool:
        """Whether the account can pay the most."""
        return self.most.fits_in(self.remaining)

    def __str__(self) -> str:
        limit = self.budget.limit
        left = percent(max(0.0, 1 - fraction_of(limit - self.remaining, limit)))
        number = how_often_fits(self.most, self.remaining)
        pays = f"enough for {number:,} like it" if number else "which does not pay for it"
        return (
            f"at most {self.share} of the budget, at least {percent(fraction_of(self.least, limit))}; "
            f"{self.account} has "
            f"{left} left (worth epsilon {epsilon_worth(self.budget, self.remaining):.3g}), {pays}"
        )

    @property
    def share(self) -> str:
        """Part of the whole budget that the charge takes at most, as text."""
        return percent(fraction_of(self.most, self.budget.limit))

    @property
    def detail_text(self) -> str:
        """The charge in the units of the budget, as one sentence."""
        least, most = self.remaining_after
        return (
            f"at most {self.most}; at least {self.least}; {self.account} has {self.remaining}, then {least} to {most}"
        )


@dataclass(frozen=True, repr=False)
class Price(HasShortRepr):
    """Price of one question.

    Attributes:
        charges: One charge for each account that pays, the data set's first.
        mechanism: Mechanism that would answer.
        guarantee: Guarantee of the answer.
        margin: Users, or amount of a score, by which an item must exceed the first item left out to be named with 95%
            probability; None where that is not known.
        spread: 95% of the noise in a count stays within this; None without counts, and where each has an interval of
            its own.
        counts: Whether a count is published for each item.
        threshold: Rank of the first item left out; None where items are compared with a threshold, and `margin` is the
            number of users an item needs.
        unit: Unit of margin and spread.
        stored: Whether the answer is in the ledger and is served again at no cost.
        warnings: Problems of the parameters.
        coverage_spread: 95% of the noise in each number of the coverage stays within this; None without coverage.
    """

    charges: tuple[Charge, ...]
    mechanism: Choice
    guarantee: Guarantee
    margin: float | None = None
    spread: float | None = None
    threshold: int | None = None
    unit: str = "users"
    stored: bool = False
    warnings: tuple[str, ...] = ()
    coverage_spread: float | None = None
    counts: bool = False

    @property
    def most(self) -> Amount:
        """Amount that the data set's account pays at most."""
        return self.charges[0].most

    @property
    def least(self) -> Amount:
        """Amount that the data set's account pays at least."""
        return self.charges[0].least

    @property
    def remaining(self) -> Amount:
        """Amount that remains in the data set's account now."""
        return self.charges[0].remaining

    @property
    def fits(self) -> bool:
        """Whether every account can pay; if not, the question would be refused."""
        return all(charge.fits for charge in self.charges)

    def __str__(self) -> str:
        if self.stored:
            return "nothing: the answer to this question on these data is stored"
        return "\n".join([*map(str, self.listed_charges), *self.accuracy])

    @property
    def accuracy(self) -> tuple[str, ...]:
        """Lines on the answer: guarantee, users an item needs, noise of counts, another mechanism, warnings."""
        lines = [f"promise: {self.guarantee} by {self.mechanism.name}"]
        if self.margin is not None:
            users = f"about {max(0, math.ceil(self.margin)):,} {self.unit}"
            needs = f"of {users}" if self.threshold is None else f"that leads rank {self.threshold:,} by {users}"
            lines.append(f"named with 95% probability: an item {needs}")
        if self.spread is not None:
            lines.append(f"counts: ±{math.ceil(self.spread):,} {self.unit} (95% of the noise stays within)")
        if self.counts and self.spread is None:
            lines.append("counts: they cost nothing here, and each has a 95% interval")
        if self.coverage_spread is not None:
            lines.append(f"coverage: ±{math.ceil(self.coverage_spread):,} users (95% of the noise stays within)")
        if self.mechanism.instead:
            lines.append(f"alternatives: {self.mechanism.instead}")
        return (*lines, *(f"warning: {warning}" for warning in self.warnings))

    @property
    def listed_charges(self) -> tuple[Charge, ...]:
        """The charges that are printed: of windows only the one with the least remaining."""
        return charges_to_list(self.charges)


def charges_to_list(charges: Sequence[Charge]) -> tuple[Charge, ...]:
    """The charges without windows, then of the windows, which may be many, only the one with the least remaining."""
    windows = sorted((one for one in charges if one.window), key=lambda one: one.remaining_after[0].loss)
    return (*(one for one in charges if not one.window), *windows[:1])


def price(prepared: Prepared, payers: Payers, *, stored: bool = False) -> Price:
    """Price of a question for the accounts that pay, the data set's first; a stored answer costs nothing.

    Raises BudgetMismatch where an account cannot pay for this kind of mechanism.
    """
    charges = tuple(_zero_charge(*payer) for payer in payers) if stored else account_charges(prepared, payers)
    question = prepared.question
    return Price(
        charges,
        prepared.choice,
        prepared.promise,
        margin=prepared.margin,
        spread=prepared.spread if question.counts else None,
        threshold=None if prepared.view.kind == "observed" else question.slots + 1,
        unit=question.unit,
        stored=stored,
        warnings=delta_warnings(prepared.promise.delta, prepared.users),
        coverage_spread=None if prepared.coverage is None else prepared.coverage.spread(),
        counts=question.counts,
    )


def account_charges(prepared: Prepared, payers: Payers) -> tuple[Charge, ...]:
    """What each account would pay; raises BudgetMismatch where one cannot pay for this kind of mechanism."""
    return tuple(charge(prepared, *payer) for payer in payers)


def charge(prepared: Prepared, account: str, balance: Balance, times: int = 1, window: bool = False) -> Charge:
    """What one account would pay for one answer, at most, and at least if the answer stops at once."""
    most = round_up_if_too_long(balance.budget.measure(prepared.cost), balance.total_charged) * times
    least = balance.budget.measure(prepared.least_cost) * times
    # The charged δ is never reduced at settlement (P10.6).
    return Charge(account, most, replace(least, failure=most.failure), balance.remaining, balance.budget, window)


def sum_charges(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """What every account pays for all of these charges together; they must be of one state of the ledger."""
    sums: dict[str, Charge] = {}
    for part in charges:
        so_far = sums.get(part.account)
        more = so_far and replace(part, most=so_far.most + part.most, least=so_far.least + part.least)
        sums[part.account] = more or part
    return tuple(sums.values())


def paying_accounts(ledger: Ledger, analyst: str | None, reach: PeriodCharge | None) -> list[PayingAccount]:
    """The accounts that would pay, with their balances now."""
    return [paying_account(part, _account_name(part.account)) for part in ledger.charged_accounts(analyst, reach)]


def paying_account(part: ChargedAccount, name: str) -> PayingAccount:
    """An account that a question is charged to, under this name."""
    return PayingAccount(name, part.account.balance, part.times, part.account.span > 1)


def _account_name(account: Account) -> str:
    """Name of an account in prices: the analyst or the data set, and the period."""
    whose = account.analyst or "the data set"
    return whose if account.period is None else f"{whose} in {account.period_text}"


def _zero_charge(account: str, balance: Balance, times: int, window: bool) -> Charge:
    """Charge of a stored answer."""
    free = zero_amount(balance.budget.limit.units)
    return Charge(account, free, free, balance.remaining, balance.budget, window)
