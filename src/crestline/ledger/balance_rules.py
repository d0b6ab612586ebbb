"""The rules of a ledger: reserve the worst case, settle by theorem, refuse what does not fit (P10.5-P10.7).

Pure functions over balances. The store of balances calls these inside one serialised transaction.

Everything that is charged to a budget is about one user column. A budget adds up promises about the presence of one
user; promises about two kinds of users (customers and staff, say) do not add up to a promise about either, so the first
question of a data set decides for all that follow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from crestline.errors import BudgetError, BudgetExhausted, BudgetMismatch
from crestline.guarantees.cost import Cost
from crestline.ledger.amount import Amount, round_up_if_too_long, short_decimal, zero_amount
from crestline.ledger.budget import Budget


@dataclass(frozen=True)
class Balance:
    """One budget and what has been charged to it: `settled` for good, `held` by reservations not yet settled."""

    budget: Budget
    settled: Amount
    held: Amount

    @classmethod
    def open_account(cls, budget: Budget) -> Balance:
        """A budget of which nothing has been charged yet."""
        nothing = zero_amount(budget.limit.units)
        return cls(budget, nothing, nothing)

    @property
    def total_charged(self) -> Amount:
        """Settled and held: a reservation counts in full until it is settled, for ever if need be."""
        return self.settled + self.held

    @property
    def remaining(self) -> Amount:
        """What may still be charged."""
        return self.budget.limit - self.total_charged


def cost_fits(balance: Balance, cost: Cost, times: int = 1) -> bool:
    """Whether the cost, taken `times` times, fits what is left."""
    return (balance.budget.measure(cost) * times).fits_in(balance.remaining)


def reserve(balance: Balance, cost: Cost, account_name: str = "the budget") -> tuple[Balance, Amount]:
    """Hold the worst case: the new balance and the amount held. What does not fit is refused and costs nothing."""
    requested = round_up_if_too_long(balance.budget.measure(cost), balance.total_charged)
    return hold_amount(balance, requested, account_name), requested


def hold_amount(balance: Balance, requested: Amount, account_name: str = "the budget") -> Balance:
    """The balance with so much more held; refused where it does not fit."""
    if not requested.fits_in(balance.remaining):
        raise BudgetExhausted(
            _refusal(account_name, requested, balance), requested=requested, remaining=balance.remaining
        )
    return replace(balance, held=balance.held + requested)


def settle(balance: Balance, reserved: Amount, cost: Cost) -> tuple[Balance, Amount]:
    """Turn a reservation into the charge that a theorem allows: the new balance and the amount paid."""
    paid = amount_to_pay(balance.budget, reserved, cost)
    paid = capped_amount(round_up_if_too_long(paid, balance.total_charged - reserved), reserved)
    return settle_balance(balance, reserved, paid), paid


def amount_to_pay(budget: Budget, reserved: Amount, cost: Cost) -> Amount:
    """What a theorem lets us charge instead of a reservation.

    Steps that were not drawn are given back (P10.6). The probability of failure never is, and whatever was released
    drew at least one step (a stop counts as one). An error leaves the reservation charged in full.
    """
    measured = budget.measure(cost)
    measured = replace(measured, failure=max(measured.failure, reserved.failure))
    if not measured.fits_in(reserved):
        raise BudgetError(
            f"a settlement of {measured} is more than the {reserved} reserved for it; the reservation stays charged: "
            "reserve the worst case of the mechanism that is run"
        )
    if measured.loss == 0 < reserved.loss:
        raise BudgetError(
            "a release draws at least one step (a stop counts as one), so it cannot be settled at no loss; "
            "the reservation stays charged"
        )
    return measured


def settle_balance(balance: Balance, reserved: Amount, paid: Amount) -> Balance:
    """The balance with the payment in place of the reservation."""
    return replace(balance, held=balance.held - reserved, settled=balance.settled + paid)


def give_back(balance: Balance, reserved: Amount) -> Balance:
    """The balance without a reservation for which nothing was read: no theorem is needed for what never happened."""
    return replace(balance, held=balance.held - reserved)


def largest_k(cost_of_k: Callable[[int], Cost], k: int, balances: Iterable[tuple[Balance, int]]) -> int:
    """The largest number up to `k` whose cost fits every balance that number of times, or 0; it must grow with k."""
    accounts = tuple(balances)

    def does_not_fit(size: int) -> bool:
        cost = cost_of_k(size)
        return not all(cost_fits(balance, cost, times) for balance, times in accounts)

    return bisect_left(
        range(1, k + 1), True, key=does_not_fit
    )  # as many sizes fit as come before the first that does not


def _refusal(account_name: str, requested: Amount, balance: Balance) -> str:
    """Which of the two units ran out, and the only advice that can help: to ask for less of that one."""
    left, limit = balance.remaining, balance.budget.limit
    loss = (requested.units[0], requested.loss, left.loss, limit.loss)
    failure = (requested.units[1], requested.failure, left.failure, limit.failure)
    short = [part for part in (loss, failure) if part[1] > part[2]]
    asked = " and ".join(f"{unit} {short_decimal(wanted)}" for unit, wanted, _, _ in short)
    there = " and ".join(f"{unit} {short_decimal(rest)} of {short_decimal(whole)}" for unit, _, rest, whole in short)
    text = f"{account_name} cannot pay for this: it asks for {asked}, and {there} is left"
    if any(rest * _WORTHLESS < whole or unit not in _ADVICE for unit, _, rest, whole in short):
        return f"{text}, too little for any question: only answers that are stored can still be served"
    return f"{text}; ask {' and '.join(_ADVICE[unit] for unit, _, _, _ in short)}"


_ADVICE = {
    "rho": "with a smaller epsilon",
    "epsilon": "with a smaller epsilon",
    "delta": "with a smaller delta",
    "items": "for fewer items",
}
_WORTHLESS = 1000  # less than this part of a budget pays for nothing that would name an item


def capped_amount(amount: Amount, cap: Amount) -> Amount:
    """The amount, but no part of it above the same part of `cap`."""
    return Amount(amount.units, min(amount.loss, cap.loss), min(amount.failure, cap.failure))


def user_of_question(question: Mapping[str, Any] | None) -> str | None:
    """The user column that a question names; None for a charge of another kind, which names none."""
    user = (question or {}).get("user")
    return user if isinstance(user, str) and user else None


def check_user(dataset: str, pinned: str | None, wanted: str | None) -> None:
    """Refuse a question about other users than those of the data set."""
    if pinned is not None and wanted is not None and wanted != pinned:
        raise BudgetMismatch(
            f"the budget of data set {dataset!r} is about the users of column {pinned!r}, and this names the column "
            f"{wanted!r}: promises about different users do not add up; ask with user={pinned!r}, or open a budget "
            "under another name"
        )
