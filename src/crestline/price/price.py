"""What a question will cost at most and at least, and what would be left. Nothing is asked and no row is read.

The price is made of the same parts as the charge: the mechanism that would answer, its worst cost, the balance that
would pay. So no answer is ever charged more than its price, as long as the ledger and the data stay as they are.
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
from crestline.ledger.amount import Amount, round_up_if_too_long, zero_amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import epsilon_worth, fraction_of, how_often_fits
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.prepare import Prepared

if TYPE_CHECKING:
    from crestline.ledger.storage.charged_accounts import ChargedAccount
    from crestline.ledger.storage.queries import Account


class PayingAccount(NamedTuple):
    """The name and the balance of an account that pays, and how many times the cost; `window`: it is the cap on several
    periods (P16.3)."""

    name: str
    balance: Balance
    times: int = 1
    window: bool = False


Payers: TypeAlias = Sequence[PayingAccount]  # every account that pays, the data set's first


@dataclass(frozen=True)
class Charge:
    """What one account would pay, in its own units.

    most       what is reserved before a row is read
    least      what is charged at the very least, when the answer stops at once
    remaining  what the account has left now
    budget     the whole budget of the account
    """

    account: str
    most: Amount
    least: Amount
    remaining: Amount
    budget: Budget
    window: bool = False

    @property
    def remaining_after(self) -> tuple[Amount, Amount]:
        """What would be left, at least and at most; negative where it does not fit."""
        return self.remaining - self.most, self.remaining - self.least

    @property
    def fits(self) -> bool:
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
        """The part of the whole budget that it is at most, as people read it."""
        return percent(fraction_of(self.most, self.budget.limit))

    @property
    def detail_text(self) -> str:
        """The same in the budget's own units."""
        least, most = self.remaining_after
        return (
            f"at most {self.most}; at least {self.least}; {self.account} has {self.remaining}, then {least} to {most}"
        )


@dataclass(frozen=True)
class Price:
    """The price of one question. `charges` has one line for each account that pays, the data set's first.

    margin     by how many users (with a score: by how much of it) an item must exceed the first one left out, to be
               named with 95% probability; None where nobody can say
    spread     95% of the noise of a count stays within this; None without counts
    coverage_spread   95% of the noise in each number of users of the coverage stays within this; None without
    threshold  the rank of the first item left out; None where items are compared with a threshold, and `margin` is
               how many users an item needs
    unit       what margin and spread are so many of
    warnings   what is wrong with the parameters, before anything is asked
    stored     the answer is in the ledger already, and is served again at no cost
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

    @property
    def most(self) -> Amount:
        """What the data set's account pays at most."""
        return self.charges[0].most

    @property
    def least(self) -> Amount:
        """What the data set's account pays at least."""
        return self.charges[0].least

    @property
    def remaining(self) -> Amount:
        """What the data set's account has left now."""
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
        """What the answer would be like, line by line: promise, how popular an item must be, noise of counts, and what
        another mechanism would give."""
        lines = [f"promise: {self.guarantee} by {self.mechanism.name}"]
        if self.margin is not None:
            users = f"about {max(0, math.ceil(self.margin)):,} {self.unit}"
            needs = f"of {users}" if self.threshold is None else f"that leads rank {self.threshold:,} by {users}"
            lines.append(f"named with 95% probability: an item {needs}")
        if self.spread is not None:
            lines.append(f"counts: ±{math.ceil(self.spread):,} {self.unit} (95% of the noise stays within)")
        if self.coverage_spread is not None:
            lines.append(f"coverage: ±{math.ceil(self.coverage_spread):,} users (95% of the noise stays within)")
        if self.mechanism.instead:
            lines.append(f"alternatives: {self.mechanism.instead}")
        return (*lines, *(f"warning: {warning}" for warning in self.warnings))

    @property
    def listed_charges(self) -> tuple[Charge, ...]:
        """The charges worth listing."""
        return charges_to_list(self.charges)


def charges_to_list(charges: Sequence[Charge]) -> tuple[Charge, ...]:
    """Of the windows of periods, which may be many, only the one with the least left."""
    windows = sorted((one for one in charges if one.window), key=lambda one: one.remaining_after[0].loss)
    return (*(one for one in charges if not one.window), *windows[:1])


def price(prepared: Prepared, payers: Payers, *, stored: bool = False) -> Price:
    """The price of a question for the accounts that pay for it, the data set's first. A stored answer costs nothing."""
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
    )


def account_charges(prepared: Prepared, payers: Payers) -> tuple[Charge, ...]:
    """What each account would pay; `BudgetMismatch` where one cannot pay for this kind of mechanism."""
    return tuple(charge(prepared, *payer) for payer in payers)


def charge(prepared: Prepared, account: str, balance: Balance, times: int = 1, window: bool = False) -> Charge:
    """What an account would pay for one answer: at least what is settled when it stops at once."""
    most = round_up_if_too_long(balance.budget.measure(prepared.cost), balance.total_charged) * times
    least = balance.budget.measure(prepared.least_cost) * times
    # A probability of failure is never given back (P10.6).
    return Charge(account, most, replace(least, failure=most.failure), balance.remaining, balance.budget, window)


def sum_charges(charges: Iterable[Charge]) -> tuple[Charge, ...]:
    """What every account pays for all of them together; the charges are those of one moment."""
    sums: dict[str, Charge] = {}
    for part in charges:
        so_far = sums.get(part.account)
        more = so_far and replace(part, most=so_far.most + part.most, least=so_far.least + part.least)
        sums[part.account] = more or part
    return tuple(sums.values())


def paying_accounts(ledger: Ledger, analyst: str | None, reach: PeriodCharge | None) -> list[PayingAccount]:
    """The accounts that would pay, as they stand at this moment."""
    return [paying_account(part, _account_name(part.account)) for part in ledger.charged_accounts(analyst, reach)]


def paying_account(part: ChargedAccount, name: str) -> PayingAccount:
    """An account that a question is charged to, under a name."""
    return PayingAccount(name, part.account.balance, part.times, part.account.span > 1)


def _account_name(account: Account) -> str:
    whose = account.analyst or "the data set"
    return whose if account.period is None else f"{whose} in {account.period_text}"


def _zero_charge(account: str, balance: Balance, times: int, window: bool) -> Charge:
    free = zero_amount(balance.budget.limit.units)
    return Charge(account, free, free, balance.remaining, balance.budget, window)
