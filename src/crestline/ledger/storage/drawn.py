"""The accounts of one payer that one question draws on: one, or, where the budget is by period, one for each period and
one for each window that meets them. All of them are charged, or none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlalchemy import Connection, bindparam, select

from crestline.guarantees.cost import Cost
from crestline.ledger import rules
from crestline.ledger.amount import Amount, bounded
from crestline.ledger.periods import Reach, check_reach, limit_of, shares
from crestline.ledger.rules import Balance
from crestline.ledger.storage.records import DATASET, Account, told
from crestline.ledger.storage.schema import periods


@dataclass(frozen=True)
class Part:
    """One account that a question is charged to.

    times    how many times the cost it bears
    """

    account: Account
    times: int = 1


@dataclass(frozen=True)
class Drawn:
    """What a payer's share of a question is charged to."""

    payer: Account
    parts: tuple[Part, ...]

    @property
    def least(self) -> Balance:
        """The balance of the account; over several periods, of the one that has the least left."""
        return min((part.account.balance for part in self.parts if part.account.span == 1), key=_left)

    def hold(self, cost: Cost) -> tuple[Drawn, Amount]:
        """Hold the same amount in every account (in a window, so many times); `BudgetExhausted` where one has less."""
        requested = self.payer.balance.budget.measure(cost)
        for part in self.parts:
            requested = bounded(requested, part.account.balance.charged)
        return self._with(
            lambda part: rules.hold(part.account.balance, requested * part.times, part.account.title)
        ), requested

    def settle(self, reserved: Amount, cost: Cost) -> tuple[Drawn, Amount]:
        """Put what was paid in place of what was reserved."""
        paid = rules.payment(self.payer.balance.budget, reserved, cost)
        for part in self.parts:
            paid = bounded(paid, part.account.balance.charged - reserved * part.times)
        paid = rules.not_above(paid, reserved)
        return self._with(lambda part: rules.pay(part.account.balance, reserved * part.times, paid * part.times)), paid

    def returned(self, reserved: Amount) -> Drawn:
        """As if it had never been reserved."""
        return self._with(lambda part: rules.give_back(part.account.balance, reserved * part.times))

    def _with(self, balance: Callable[[Part], Balance]) -> Drawn:
        parts = (replace(part, account=replace(part.account, balance=balance(part))) for part in self.parts)
        return Drawn(self.payer, tuple(parts))


def _left(balance: Balance) -> Fraction:
    return balance.remaining.loss


def drawn_from(connection: Connection, payer: Account, reach: Reach | None) -> Drawn:
    """The accounts as they stand; those of periods that nobody asked about before are empty."""
    return drawn_with(payer, reach, lambda labels: _stored(connection, payer, labels))


def drawn_with(
    payer: Account, reach: Reach | None, stored: Callable[[list[str]], dict[tuple[str, int], Balance]]
) -> Drawn:
    """The same, where `stored` looks up the balances of periods, and of windows that begin with them."""
    budget = payer.balance.budget
    check_reach(payer.title, budget, reach)
    if reach is None:
        return Drawn(payer, (Part(payer),))
    wanted = list(shares(budget, reach))
    known = stored([share.period for share in wanted])
    parts = []
    for share in wanted:
        balance = known.get((share.period, share.span)) or Balance.opened(limit_of(budget, share.span))
        parts.append(Part(replace(payer, balance=balance, period=share.period, span=share.span), share.times))
    return Drawn(payer, tuple(parts))


def load_periods(connection: Connection, payer: Account) -> list[Account]:
    """Every period account and window of a payer that was ever asked about, in order of time."""
    rows = connection.execute(_OF_PAYER.order_by(periods.c.span, periods.c.period), _payer(payer))
    return [replace(payer, balance=told(row, payer.balance.budget), period=row.period, span=row.span) for row in rows]


def _stored(connection: Connection, payer: Account, labels: list[str]) -> dict[tuple[str, int], Balance]:
    rows = connection.execute(_OF_PAYER.where(periods.c.period.in_(sorted(set(labels)))), _payer(payer))
    budget = payer.balance.budget
    spans = (1,) if budget.cap is None else (1, budget.cap.periods)
    return {(row.period, row.span): told(row, budget) for row in rows if row.span in spans}


def _payer(payer: Account) -> dict[str, str]:
    return {"wanted": payer.dataset, "who": payer.analyst or DATASET}


_OF_PAYER = select(periods).where(periods.c.dataset == bindparam("wanted"), periods.c.analyst == bindparam("who"))
