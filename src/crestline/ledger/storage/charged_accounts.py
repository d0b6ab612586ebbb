"""The accounts of one payer that one question draws on: one, or, where the budget is by period, one for each period and
one for each window that meets them. All of them are charged, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlalchemy import Connection, bindparam, select

from crestline.guarantees.cost import Cost
from crestline.ledger import balance_rules
from crestline.ledger.amount import Amount, round_up_if_too_long
from crestline.ledger.balance_rules import Balance
from crestline.ledger.periods import PeriodCharge, account_shares, budget_of_span, check_reach
from crestline.ledger.storage.queries import DATASET, Account, balance_of_row
from crestline.ledger.storage.schema import periods


@dataclass(frozen=True)
class ChargedAccount:
    """One account that a question is charged to.

    times    how many times the cost it bears
    """

    account: Account
    times: int = 1


@dataclass(frozen=True)
class ChargedAccounts:
    """What a payer's share of a question is charged to."""

    payer: Account
    parts: tuple[ChargedAccount, ...]

    @property
    def smallest_balance(self) -> Balance:
        """The balance of the account; over several periods, of the one that has the least left."""
        return min((part.account.balance for part in self.parts if part.account.span == 1), key=_remaining_loss)

    def hold(self, cost: Cost) -> tuple[ChargedAccounts, Amount]:
        """Hold the same amount in every account (in a window, so many times); `BudgetExhausted` where one has less."""
        requested = self.payer.balance.budget.measure(cost)
        for part in self.parts:
            requested = round_up_if_too_long(requested, part.account.balance.total_charged)
        return self._with_balances(
            lambda part: balance_rules.hold_amount(part.account.balance, requested * part.times, part.account.title)
        ), requested

    def settle(self, reserved: Amount, cost: Cost) -> tuple[ChargedAccounts, Amount]:
        """Put what was paid in place of what was reserved."""
        paid = balance_rules.amount_to_pay(self.payer.balance.budget, reserved, cost)
        for part in self.parts:
            paid = round_up_if_too_long(paid, part.account.balance.total_charged - reserved * part.times)
        paid = balance_rules.capped_amount(paid, reserved)
        return self._with_balances(
            lambda part: balance_rules.settle_balance(part.account.balance, reserved * part.times, paid * part.times)
        ), paid

    def give_back(self, reserved: Amount) -> ChargedAccounts:
        """As if it had never been reserved."""
        return self._with_balances(lambda part: balance_rules.give_back(part.account.balance, reserved * part.times))

    def _with_balances(self, balance: Callable[[ChargedAccount], Balance]) -> ChargedAccounts:
        parts = (replace(part, account=replace(part.account, balance=balance(part))) for part in self.parts)
        return ChargedAccounts(self.payer, tuple(parts))


def _remaining_loss(balance: Balance) -> Fraction:
    return balance.remaining.loss


def load_charged_accounts(connection: Connection, payer: Account, reach: PeriodCharge | None) -> ChargedAccounts:
    """The accounts as they stand; those of periods that nobody asked about before are empty."""
    return build_charged_accounts(payer, reach, lambda labels: _load_period_balances(connection, payer, labels))


def build_charged_accounts(
    payer: Account, reach: PeriodCharge | None, stored: Callable[[list[str]], dict[tuple[str, int], Balance]]
) -> ChargedAccounts:
    """The same, where `stored` looks up the balances of periods, and of windows that begin with them."""
    budget = payer.balance.budget
    check_reach(payer.title, budget, reach)
    if reach is None:
        return ChargedAccounts(payer, (ChargedAccount(payer),))
    wanted = list(account_shares(budget, reach))
    known = stored([share.period for share in wanted])
    parts = []
    for share in wanted:
        balance = known.get((share.period, share.span)) or Balance.open_account(budget_of_span(budget, share.span))
        parts.append(ChargedAccount(replace(payer, balance=balance, period=share.period, span=share.span), share.times))
    return ChargedAccounts(payer, tuple(parts))


def load_periods(connection: Connection, payer: Account) -> list[Account]:
    """Every period account and window of a payer that was ever asked about, in order of time."""
    rows = connection.execute(_OF_PAYER.order_by(periods.c.span, periods.c.period), _payer_parameters(payer))
    return [
        replace(payer, balance=balance_of_row(row, payer.balance.budget), period=row.period, span=row.span)
        for row in rows
    ]


def _load_period_balances(connection: Connection, payer: Account, labels: list[str]) -> dict[tuple[str, int], Balance]:
    rows = connection.execute(_OF_PAYER.where(periods.c.period.in_(sorted(set(labels)))), _payer_parameters(payer))
    budget = payer.balance.budget
    spans = (1,) if budget.cap is None else (1, budget.cap.periods)
    return {(row.period, row.span): balance_of_row(row, budget) for row in rows if row.span in spans}


def _payer_parameters(payer: Account) -> dict[str, str]:
    return {"wanted": payer.dataset, "who": payer.analyst or DATASET}


_OF_PAYER = select(periods).where(periods.c.dataset == bindparam("wanted"), periods.c.analyst == bindparam("who"))
