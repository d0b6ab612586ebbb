"""Rows and values: the statements the store is made of. Each runs inside the transaction it is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, or_, select, update

from crestline.errors import BudgetError, LedgerError
from crestline.ledger.amount import Amount
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.ledger.entries import UNREADABLE, Draft, Entry, canonical_json, chain_entry
from crestline.ledger.periods import budget_of_span
from crestline.ledger.storage.checks.balance_fingerprint import FIELD, BalanceFingerprint
from crestline.ledger.storage.checks.balance_fingerprint import Key as RowKey
from crestline.ledger.storage.checks.balance_fingerprint import Row as TextRow
from crestline.ledger.storage.schema import accounts, chain_head, entries, is_ending, periods
from crestline.ledger.verify import Key

DATASET = ""  # the analyst column of a data set's own account


@dataclass(frozen=True)
class Account:
    """The account of a data set (analyst None), or of an analyst under it, and its balance.

    `user` is the column whose users the data set's budget is about, once it is fixed. Where the budget is by period,
    `period` is the label of one of its periods, or, with a `span` above 1, the first of the window of so many.
    """

    dataset: str
    analyst: str | None
    balance: Balance
    user: str | None = None
    period: str | None = None
    span: int = 1

    @property
    def title(self) -> str:
        """How the account is called in messages."""
        whose = f"data set {self.dataset!r}"
        whole = f"the budget of {whose}" if self.analyst is None else f"the budget of {self.analyst!r} for {whose}"
        if self.period is None:
            return whole
        return f"{whole} in {self.period}" if self.span == 1 else f"the cap on {self.period_text} in {whole}"

    @property
    def period_text(self) -> str:
        """The period, or the window, in words."""
        return self.period or "" if self.span == 1 else f"the {self.span} periods from {self.period}"


@dataclass(frozen=True)
class ChainHead:
    """How many entries there are, and the hash of the last."""

    length: int
    hash: str


def lock(connection: Connection) -> ChainHead:
    """The head of the chain, held until the transaction ends (SQLite holds the whole file instead)."""
    return read_head(connection.execute(_LOCKED).first())


def load_head(connection: Connection) -> ChainHead:
    """How long the chain is and the hash of its last entry, as of this transaction."""
    return read_head(connection.execute(_HEAD).first())


def append(connection: Connection, at: ChainHead, draft: Draft, time: datetime) -> Entry:
    """Write the next entry and move the head. `at` must come from `lock` in the same transaction."""
    stated = with_fingerprint(draft, BalanceFingerprint.from_rows(read_rows(connection)))
    entry = chain_entry(stated, sequence=at.length + 1, previous=at.hash, time=time)
    connection.execute(_APPEND, vars(entry))
    connection.execute(_MOVE_HEAD, {"length": entry.sequence, "head": entry.hash})
    return entry


def with_fingerprint(draft: Draft, balances: BalanceFingerprint) -> Draft:
    """The draft with the fingerprint of the balances after it."""
    return replace(draft, details={**(draft.details or {}), FIELD: balances.fingerprint})


def read_rows(connection: Connection) -> dict[RowKey, TextRow]:
    """Every row of the accounts, and of their periods, as it is in the database."""
    found: dict[RowKey, TextRow] = {
        (dataset, analyst): tuple(row) for dataset, analyst, *row in connection.exec_driver_sql(_ACCOUNT_ROWS)
    }
    for dataset, analyst, period, span, *row in connection.exec_driver_sql(_PERIOD_ROWS):
        found[dataset, analyst, period, span] = tuple(row)
    return found


def dataset_names(connection: Connection) -> list[str]:
    """Every data set that has a budget."""
    names = select(accounts.c.dataset).where(accounts.c.analyst == DATASET).order_by(accounts.c.dataset)
    return [str(name) for name in connection.execute(names).scalars()]


def load_accounts(connection: Connection, dataset: str | None = None) -> list[Account]:
    """All accounts, or those of one data set; the data set's own comes first."""
    rows = connection.execute(_ACCOUNTS if dataset is None else _ACCOUNTS.where(accounts.c.dataset == dataset))
    return [to_account(row) for row in rows]


def load_balances(connection: Connection) -> dict[Key, Balance | None]:
    """The balance of every account, None where its row cannot be read: `verify` must be able to say so."""
    balances: dict[Key, Balance | None] = {}
    for row in connection.execute(_ACCOUNTS):
        balances[row.dataset, row.analyst or None, None, 1] = _parse_or_none(partial(_balance, row))
    for row in connection.execute(select(periods)):
        whole = balances.get((row.dataset, row.analyst or None, None, 1))
        key = (row.dataset, row.analyst or None, row.period, row.span)
        balances[key] = None if whole is None else _parse_or_none(partial(_part, row, whole.budget))
    return balances


def load_users(connection: Connection) -> dict[str, str | None]:
    """The user column of every data set, None where it is not fixed yet."""
    return {row.dataset: row.user_column for row in connection.execute(_ACCOUNTS) if row.analyst == DATASET}


def load_payers(connection: Connection, dataset: str, analyst: str | None) -> list[Account]:
    """The account of the data set, if there is one, and after it that of the analyst, if there is one."""
    rows = connection.execute(_PAYERS, {"wanted": dataset, "who": analyst or DATASET})
    return [to_account(row) for row in rows]


def payers_or_refuse(
    known: list[Account], dataset: str, analyst: str | None, has_analysts: Callable[[], bool]
) -> list[Account]:
    """The same, or the refusal: no budget is open, or none for this analyst where analysts have budgets."""
    if not known:
        raise no_budget_error(dataset)
    if analyst is not None and len(known) == 1 and has_analysts():
        raise BudgetError(f"{analyst!r} has no budget for data set {dataset!r}: ask its owner to open one")
    return known


def no_budget_error(dataset: str) -> LedgerError:
    """What is said where a data set has no account."""
    return LedgerError(f"no budget is open for data set {dataset!r}: open one with `crestline ledger create`")


def has_analysts(connection: Connection, dataset: str) -> bool:
    """Whether budgets for analysts are kept under this data set."""
    theirs = select(accounts).where(accounts.c.dataset == dataset, accounts.c.analyst != DATASET)
    return bool(connection.execute(select(theirs.exists())).scalar())


def open_account(connection: Connection, account: Account) -> None:
    """Write the row of an account that has just been opened."""
    key = {"dataset": account.dataset, "analyst": account.analyst or DATASET}
    fixed = {"budget": canonical_json(account.balance.budget.to_json()), "user_column": account.user}
    connection.execute(insert(accounts), {**key, **fixed, **balance_columns(account.balance)})


def with_user_column(account: Account, user: str) -> Account:
    """The account of a data set whose user column has just been fixed."""
    return replace(account, user=user)


def load_entry(connection: Connection, sequence: int) -> Entry | None:
    """The entry with this number, or None."""
    row = connection.execute(_ENTRY, {"wanted": sequence}).first()
    return None if row is None else to_entry(row)


def all_entries(connection: Connection) -> Iterator[Entry]:
    """Every entry in order, a thousand at a time."""
    few = connection.execution_options(yield_per=1000)
    return (to_entry(row) for row in few.execute(select(entries).order_by(entries.c.sequence)))


def load_settlement(connection: Connection, receipt: int) -> Entry | None:
    """The entry that settled the reservation of this number, or None."""
    row = connection.execute(_SETTLEMENT, {"wanted": receipt}).first()
    return None if row is None else to_entry(row)


def reservation_of_number(connection: Connection, analyst: str, number: int) -> int | None:
    """The sequence number of an analyst's reservation, by the number that they know it by."""
    return connection.execute(_TOLD, {"who": analyst, "wanted": number}).scalar()


def was_taken_up(connection: Connection, receipt: int) -> bool:
    """Whether the reservation of this number, which was made ahead, has been taken up."""
    return connection.execute(_BEGUN, {"wanted": receipt}).first() is not None


def has_ended(connection: Connection, receipt: int) -> bool:
    """Whether the reservation of this number was settled or given back."""
    return connection.execute(_ENDED, {"wanted": receipt}).first() is not None


def load_latest_answer(connection: Connection, key: str) -> Entry | None:
    """The newest settled entry with this answer key."""
    row = connection.execute(_ANSWER, {"wanted": key}).first()
    return None if row is None else to_entry(row)


def has_asked(connection: Connection, dataset: str, analyst: str) -> bool:
    """Whether anything was ever reserved, or served, for this analyst."""
    mine = select(entries).where(entries.c.dataset == dataset, entries.c.analyst == analyst)
    asked = mine.where(entries.c.kind.in_(("reserved", "answered")))
    return bool(connection.execute(select(asked.exists())).scalar())


def numbers_taken_up(connection: Connection) -> set[int]:
    """The numbers of all reservations that were made ahead and have been taken up."""
    return {int(number) for number in connection.execute(_TAKEN_UP).scalars()}


def open_reservations(connection: Connection, dataset: str | None = None) -> list[Entry]:
    """Reservations that were neither settled nor given back."""
    settled = entries.alias()
    closed = select(settled.c.sequence).where(settled.c.receipt == entries.c.sequence, is_ending(settled))
    query = select(entries).where(entries.c.kind == "reserved", ~closed.exists()).order_by(entries.c.sequence)
    rows = connection.execute(query if dataset is None else query.where(entries.c.dataset == dataset))
    return [to_entry(row) for row in rows]


def to_entry(row: Sequence[Any]) -> Entry:
    """A row of the entries table as a value."""
    return Entry(*row)


def read_head(row: Sequence[Any] | None) -> ChainHead:
    """The head row as a value; there must be one."""
    if row is None:
        raise LedgerError(
            "the ledger has lost its head row: restore it from a backup, then run `crestline ledger verify`"
        )
    length, last = row
    return ChainHead(int(length), str(last))


def to_account(row: Row[Any]) -> Account:
    """A row of the accounts table as a value."""
    try:
        return Account(row.dataset, row.analyst or None, _balance(row), row.user_column)
    except UNREADABLE:
        raise LedgerError(
            f"the balance of data set {row.dataset!r} cannot be read; it was edited: run `crestline ledger verify`"
        ) from None


def _parse_or_none(read: Callable[[], Balance]) -> Balance | None:
    try:
        return read()
    except UNREADABLE:
        return None


def _part(row: Row[Any], budget: Budget) -> Balance:
    return _parse_balance(row, budget_of_span(budget, row.span))


def balance_of_row(row: Row[Any], budget: Budget) -> Balance:
    """The balance in a row of a period, or of a window, under a budget by period."""
    try:
        return _part(row, budget)
    except UNREADABLE:
        raise LedgerError(
            f"the balance of data set {row.dataset!r} in {row.period} cannot be read; it was edited: run `crestline "
            "ledger verify`"
        ) from None


def _balance(row: Row[Any]) -> Balance:
    return _parse_balance(row, _budget(row.budget))


@lru_cache(maxsize=1024)
def _budget(text: str) -> Budget:
    """A budget never changes, and every question needs it."""
    return Budget.from_json(json.loads(text))


def _parse_balance(row: Row[Any], budget: Budget) -> Balance:
    units = budget.limit.units
    settled, held = (Amount.from_json(json.loads(text), units) for text in (row.settled, row.held))
    return Balance(budget, settled, held)


def balance_columns(balance: Balance) -> dict[str, str]:
    """The columns of an account's row that a charge changes, as text."""
    return {"settled": canonical_json(balance.settled.to_json()), "held": canonical_json(balance.held.to_json())}


_ACCOUNT_ROWS = "SELECT dataset, analyst, budget, settled, held, user_column FROM crestline_accounts"
_PERIOD_ROWS = "SELECT dataset, analyst, period, span, settled, held FROM crestline_periods"

# The statements of every question, made once: to build them anew would cost more than to run them.
_ACCOUNTS = select(accounts).order_by(accounts.c.dataset, accounts.c.analyst)
_HEAD = select(chain_head.c.length, chain_head.c.head)
_LOCKED = _HEAD.with_for_update()
_MOVE_HEAD = update(chain_head)
_APPEND = insert(entries)
_ENTRY = select(entries).where(entries.c.sequence == bindparam("wanted"))
_SETTLEMENT = select(entries).where(entries.c.receipt == bindparam("wanted"), is_ending(), entries.c.kind == "settled")
_TOLD = select(entries.c.sequence).where(
    entries.c.analyst == bindparam("who"), entries.c.number == bindparam("wanted"), entries.c.kind == "reserved"
)
_ENDED = select(entries.c.sequence).where(entries.c.receipt == bindparam("wanted"), is_ending())
_TAKEN_UP = select(entries.c.receipt).where(entries.c.kind == "begun")
_BEGUN = select(entries.c.sequence).where(entries.c.receipt == bindparam("wanted"), entries.c.kind == "begun")
_PAYERS = _ACCOUNTS.where(
    accounts.c.dataset == bindparam("wanted"),
    or_(accounts.c.analyst == DATASET, accounts.c.analyst == bindparam("who")),
)
_ANSWER = (
    select(entries)
    .where(entries.c.answer_key == bindparam("wanted"), entries.c.kind == "settled")
    .order_by(entries.c.sequence.desc())
    .limit(1)
)
