"""Rows of the ledger's tables as values, and values as rows (pure)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from crestline.errors import BudgetError, LedgerError
from crestline.guarantees.cost import Cost
from crestline.ledger import balance_rules
from crestline.ledger.amount import Amount, round_up_if_too_long
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.ledger.entries import UNREADABLE, Entry, canonical_json
from crestline.ledger.periods import PeriodCharge, account_shares, budget_of_span, check_reach
from crestline.ledger.verify import Key as BalanceKey

if TYPE_CHECKING:
    from typing import Any

    from sqlalchemy import Row as DatabaseRow

DATASET = ""  # the analyst column of a data set's own account

# Primary key of a row: data set and analyst; of a period also its label, and how many it spans.
AccountKey: TypeAlias = tuple[str, str]
PeriodKey: TypeAlias = tuple[str, str, str, int]
Key: TypeAlias = AccountKey | PeriodKey
Row: TypeAlias = tuple[str | None, ...]  # the other columns of a row
Rows: TypeAlias = Mapping[Key, Row]

FINGERPRINT = "balances"  # the field of an entry that states the fingerprint of all rows after it
_BYTES = 256
MODULUS = 1 << 8 * _BYTES


@dataclass(frozen=True)
class ChainHead:
    """How many entries there are, and the hash of the last."""

    length: int
    hash: str


@dataclass(frozen=True)
class Account:
    """The account of a data set (analyst None), or of an analyst under it, and its balance.

    `user` is the column whose users the data set's budget is about, once it is fixed. Where the budget is by period,
    `period` is the label of one of its periods, or, with a `span` above 1, the first of the window of `span` periods.
    """

    dataset: str
    analyst: str | None
    balance: Balance
    user: str | None = None
    period: str | None = None
    span: int = 1

    @property
    def title(self) -> str:
        """The name of the account in messages."""
        whose = f"data set {self.dataset!r}"
        whole = f"the budget of {whose}" if self.analyst is None else f"the budget of {self.analyst!r} for {whose}"
        if self.period is None:
            return whole
        return f"{whole} in {self.period}" if self.span == 1 else f"the cap on {self.period_text} in {whole}"

    @property
    def period_text(self) -> str:
        """The period, or the window, in words."""
        return self.period or "" if self.span == 1 else f"the {self.span} periods from {self.period}"

    @property
    def key(self) -> Key:
        """The primary key of its row."""
        own = (self.dataset, self.analyst or DATASET)
        return own if self.period is None else (*own, self.period, self.span)

    @property
    def row(self) -> Row:
        """The other columns of its row."""
        sums = tuple(canonical_json(amount.to_json()) for amount in (self.balance.settled, self.balance.held))
        return sums if self.period else (_budget_text(self.balance.budget), *sums, self.user)


@dataclass(frozen=True)
class ChargedAccount:
    """One account that a question is charged to.

    times    how many times the cost it bears
    """

    account: Account
    times: int = 1


@dataclass(frozen=True)
class ChargedAccounts:
    """The accounts of one payer that one question is charged to: one, or, where the budget is by period, one for each
    period and one for each window that meets them. All of them are charged, or none."""

    payer: Account
    parts: tuple[ChargedAccount, ...]

    @property
    def accounts(self) -> list[Account]:
        """The accounts to write."""
        return [part.account for part in self.parts]

    @property
    def smallest_balance(self) -> Balance:
        """The balance of the account; over several periods, of the one that has the least left."""
        return min((part.account.balance for part in self.parts if part.account.span == 1), key=_remaining_loss)

    def hold(self, cost: Cost) -> tuple[ChargedAccounts, Amount]:
        """Hold the same amount in every account (in a window, so often as it bears the cost).

        Raises:
            BudgetExhausted: An account has less.
        """
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


def accounts_in(rows: Rows) -> list[Account]:
    """All accounts; a data set's own comes before those of its analysts."""
    return [to_account(key, rows[key]) for key in sorted(key for key in rows if len(key) == 2)]


def payers_in(rows: Rows, dataset: str, analyst: str | None) -> list[Account]:
    """The accounts that pay: the data set's, and the analyst's where budgets for analysts are kept under it.

    Raises:
        LedgerError: The data set has no account.
        BudgetError: Analysts have budgets there, and this one has none.
    """
    found = stored_payers_in(rows, dataset, analyst)
    if not found or found[0].analyst is not None:
        raise no_budget_error(dataset)
    if analyst is not None and len(found) == 1 and any(key[0] == dataset and key[1] != DATASET for key in rows):
        raise BudgetError(f"{analyst!r} has no budget for data set {dataset!r}: ask its owner to open one")
    return found


def stored_payers_in(rows: Rows, dataset: str, analyst: str | None) -> list[Account]:
    """The account of the data set, if there is one, and after it that of the analyst, if there is one."""
    keys: list[AccountKey] = [(dataset, DATASET)] if analyst is None else [(dataset, DATASET), (dataset, analyst)]
    return [to_account(key, rows[key]) for key in keys if key in rows]


def charged_accounts_in(rows: Rows, payer: Account, reach: PeriodCharge | None) -> ChargedAccounts:
    """The accounts that a question about these periods is charged to; those of new periods are empty."""
    budget = payer.balance.budget
    check_reach(payer.title, budget, reach)
    if reach is None:
        return ChargedAccounts(payer, (ChargedAccount(payer),))
    parts = []
    for share in account_shares(budget, reach):
        key = (payer.dataset, payer.analyst or DATASET, share.period, share.span)
        if key in rows:
            account = _period_account(payer, key, rows[key])
        else:
            balance = Balance.open_account(budget_of_span(budget, share.span))
            account = replace(payer, balance=balance, period=share.period, span=share.span)
        parts.append(ChargedAccount(account, share.times))
    return ChargedAccounts(payer, tuple(parts))


def period_accounts_in(rows: Rows, payer: Account) -> list[Account]:
    """Every period and window of a payer that was ever asked about, in order of time; periods come first."""
    found = [_period_account(payer, key, rows[key]) for key in rows if len(key) == 4 and key[:2] == payer.key]
    return sorted(found, key=lambda account: (account.span, account.period))


def balances_in(rows: Rows) -> dict[BalanceKey, Balance | None]:
    """Every balance by the key that `verify` uses; None where its row cannot be read."""
    balances: dict[BalanceKey, Balance | None] = {}
    for key, row in rows.items():
        name: BalanceKey = (key[0], key[1] or None, *((None, 1) if len(key) == 2 else key[2:]))
        try:
            whole = to_account(key[:2], row if len(key) == 2 else rows[key[:2]])
            balances[name] = (whole if len(key) == 2 else _period_account(whole, key, row)).balance
        except (LedgerError, KeyError):
            balances[name] = None
    return balances


def users_in(rows: Rows) -> dict[str, str | None]:
    """The user column of every data set, None where it is not fixed yet."""
    return {key[0]: row[3] for key, row in rows.items() if len(key) == 2 and key[1] == DATASET}


def fingerprint(total: int) -> str:
    """What an entry states of the sum of the hashes of all rows."""
    return hashlib.sha256(total.to_bytes(_BYTES, "little")).hexdigest()


def row_hash(key: Key, row: Row | None) -> int:
    """The hash of a row, 0 of none; the hashes of all rows are added up modulo 2^2048.

    That is long enough that no other rows with the same sum can be found. So the order of rows does not matter, and a
    charge costs the hashes of the rows that it changes.
    """
    if row is None:
        return 0
    return int.from_bytes(hashlib.shake_256(repr((key, row)).encode()).digest(_BYTES), "little")


def to_account(key: AccountKey, row: Row) -> Account:
    """A row of the accounts table as a value."""
    dataset, analyst = key
    budget, settled, held, user = row
    try:
        return Account(dataset, analyst or None, _parse_balance(_budget(str(budget)), settled, held), user)
    except UNREADABLE:
        raise _unreadable_error(repr(dataset)) from None


def to_entry(row: Sequence[Any] | DatabaseRow[Any]) -> Entry:
    """A row of the entries table as a value."""
    return Entry(*row)


def no_budget_error(dataset: str) -> LedgerError:
    """The error where a data set has no account."""
    return LedgerError(f"no budget is open for data set {dataset!r}: open one with `crestline ledger create`")


def balance_changed_error(address: str) -> LedgerError:
    """The error where a balance is not the one that was written."""
    return LedgerError(
        f"ledger {address}: a budget or a balance in it is not the one that its last entry states, so somebody else "
        "has changed it. Nothing is charged to it: run `crestline ledger verify`, and put the newest copy back"
    )


def _period_account(payer: Account, key: PeriodKey, row: Row) -> Account:
    """A row of the periods table as a value."""
    _, _, period, span = key
    try:
        balance = _parse_balance(budget_of_span(payer.balance.budget, span), *row)
    except UNREADABLE:
        raise _unreadable_error(f"{payer.dataset!r} in {period}") from None
    return replace(payer, balance=balance, period=period, span=span)


@lru_cache(maxsize=1024)
def _budget(text: str) -> Budget:
    """A budget never changes, and every question needs it."""
    return Budget.from_json(json.loads(text))


@lru_cache(maxsize=1024)
def _budget_text(budget: Budget) -> str:
    return canonical_json(budget.to_json())


def _parse_balance(budget: Budget, settled: str | None, held: str | None) -> Balance:
    return Balance(budget, *(_amount(str(text), budget.limit.units) for text in (settled, held)))


@lru_cache(maxsize=4096)
def _amount(text: str, units: tuple[str, str]) -> Amount:
    """The following change reads what the last one wrote."""
    return Amount.from_json(json.loads(text), units)


def _unreadable_error(whose: str) -> LedgerError:
    return LedgerError(f"the balance of data set {whose} cannot be read; it was edited: run `crestline ledger verify`")
