"""One write transaction on the ledger: what it needs is read once, what it changes is written at its end.

The operations of a batch follow each other on balances that are kept in memory meanwhile, under the lock that every
writer takes first. One that is refused is undone there, and disturbs no other. Nothing reaches the database before
`flush`, and nothing is durable, or told to anybody, before the commit that follows it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, CursorResult

from crestline.errors import LedgerError
from crestline.ledger.balance_rules import Balance
from crestline.ledger.entries import COUNTED, ENDINGS, GENESIS, Draft, Entry, chain_entry, entry_hash
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.storage import queries, raw_sql
from crestline.ledger.storage.charged_accounts import ChargedAccounts, build_charged_accounts
from crestline.ledger.storage.checks.balance_fingerprint import BalanceFingerprint, Key
from crestline.ledger.storage.checks.balance_fingerprint import Row as TextRow
from crestline.ledger.storage.checks.witness import Witness, chain_contains, witness_error
from crestline.ledger.storage.group_commit import PreloadKeys
from crestline.ledger.storage.queries import (
    DATASET,
    Account,
    ChainHead,
    balance_columns,
    balance_of_row,
    payers_or_refuse,
    to_account,
    to_entry,
)

Known: TypeAlias = tuple[ChainHead, BalanceFingerprint]  # what all rows were when the head was this
K = TypeVar("K")
V = TypeVar("V")
Row = tuple[object, ...]
Period = tuple[str, str, str, int]  # data set, analyst (empty: the data set's own), label, and how many periods


class Transaction:
    """The ledger while it is written to. `connection` must not be used for its tables between `lock` and `flush`."""

    def __init__(
        self,
        connection: Connection,
        address: str = "",
        witness: Witness | None = None,
        known: Known | None = None,
    ) -> None:
        self.connection = connection
        self.known = known
        self._address = address
        self._witness = witness
        self._sqlite = connection.dialect.name == "sqlite"
        self._sql = raw_sql.SQLITE if self._sqlite else raw_sql.POSTGRES
        self._reset_caches()

    def _reset_caches(self) -> None:
        self._head: ChainHead | None = None
        self._balances: BalanceFingerprint | None = None
        self._accounts: dict[tuple[str, str], Account | None] = {}
        self._analysts: dict[str, bool] = {}
        self._periods: dict[Period, Balance | None] = {}
        self._entries: dict[int, Entry | None] = {}
        self._endings: dict[int, Entry | None] = {}
        self._answers: dict[str, Entry | None] = {}
        self._asked: dict[str, int] = {}
        self._new: list[Entry] = []
        self._saved: dict[tuple[str, str], Account] = {}
        self._saved_periods: dict[Period, Account] = {}
        self._users: dict[str, str] = {}
        self._undo: list[Callable[[], object]] = []

    def lock(self) -> ChainHead:
        """The head of the chain, held until the transaction ends (SQLite holds the whole file instead).

        Nothing is appended to a chain whose head is not that of its last entry, or that its witness does not know, or
        whose last entry states other balances than there are.
        """
        if self._head is None:
            head = queries.read_head(self._execute(self._sql.lock).first())
            last = self._check_last(head)
            self._check_witness(head)
            self._balances = self._check_balances(head, last)
            self._head = head
        return self._head

    def _check_balances(self, head: ChainHead, last: Entry | None) -> BalanceFingerprint:
        """All balances. Where nobody has written since this process did, they are known; a row is then checked when it
        is read."""
        if self.known is not None and self.known[0] == head:
            return self.known[1]
        found = BalanceFingerprint.from_rows(queries.read_rows(self.connection))
        found.check(self._address, last)
        return found

    def _check_last(self, head: ChainHead) -> Entry | None:
        last = self._read_entries(self._sql.last, ())
        found = ChainHead(last[0].sequence, entry_hash(last[0].body)) if last else ChainHead(0, GENESIS)
        if found != head or (last and last[0].hash != head.hash):
            raise LedgerError(
                f"ledger {self._address}: its head row and its last entry do not agree, so somebody else has changed "
                "it. Nothing is charged to it: run `crestline ledger verify`, and put the newest copy back"
            )
        return last[0] if last else None

    def _check_witness(self, head: ChainHead) -> None:
        known = None if self._witness is None else self._witness.read_head()
        if self._witness is not None and (known is None or not self._chain_contains(head, known)):
            raise witness_error(self._address, self._witness, head, known)

    def _chain_contains(self, head: ChainHead, known: ChainHead) -> bool:
        return chain_contains(
            lambda: self._read_entries(self._sql.reservations, (self._array_parameter([known.length]),)), head, known
        )

    def load(self, needs: Iterable[PreloadKeys]) -> None:
        """Read at once what several operations are going to look up."""
        wanted = tuple(needs)
        self._load_receipts([number for one in wanted for number in one.receipts])
        self._load_answers([key for one in wanted for key in one.answers])

    def undo_on_failure(self, work: Callable[[Transaction], V]) -> V:
        """Do it, or nothing of it."""
        self._undo.clear()
        try:
            return work(self)
        except BaseException:
            for step in reversed(self._undo):
                step()
            raise

    def run_raw(self, work: Callable[[Connection], V]) -> V:
        """Do something with the connection itself, after what was done before it and before what follows."""
        self.flush()
        return work(self.connection)

    def payers(self, dataset: str, analyst: str | None) -> list[Account]:
        """Who pays: the data set, and the analyst if budgets for analysts are kept under it."""
        known = self.find_payers(dataset, analyst)
        return payers_or_refuse(known, dataset, analyst, lambda: self._has_analysts(dataset))

    def find_payers(self, dataset: str, analyst: str | None) -> list[Account]:
        """The account of the data set, if there is one, and after it that of the analyst, if there is one."""
        keys = [(dataset, DATASET)] if analyst is None else [(dataset, DATASET), (dataset, analyst)]
        if any(key not in self._accounts for key in keys):
            self._load_payers(dataset, analyst or DATASET)
        return [account for account in map(self._accounts.get, keys) if account is not None]

    def charged_accounts(self, payer: Account, reach: PeriodCharge | None) -> ChargedAccounts:
        """The accounts of a payer that a question draws on, as they stand."""
        return build_charged_accounts(payer, reach, lambda labels: self._load_period_balances(payer, labels))

    def find_reservation(self, number: int) -> Entry | None:
        """The entry with this number, or None."""
        if number not in self._entries:
            self._load_receipts([number])
        return self._entries[number]

    def find_ending(self, number: int) -> Entry | None:
        """The entry that settled the reservation of this number, or gave it back; or None."""
        if number not in self._endings:
            self._load_receipts([number])
        return self._endings[number]

    def answer(self, key: str) -> Entry | None:
        """The newest settled entry with this answer key, or None."""
        if key not in self._answers:
            self._load_answers([key])
        return self._answers[key]

    def append(self, draft: Draft, time: datetime) -> Entry:
        """The next entry of the chain."""
        at = self.lock()
        if draft.kind in COUNTED and draft.analyst is not None:
            draft = replace(draft, number=self._next_number(draft.analyst))
        assert self._balances is not None, "the lock reads them"
        entry = chain_entry(
            queries.with_fingerprint(draft, self._balances), sequence=at.length + 1, previous=at.hash, time=time
        )
        self._undo.append(lambda: self._undo_append(at))
        self._new.append(entry)
        self._head = ChainHead(entry.sequence, entry.hash)
        self._set_with_undo(self._entries, entry.sequence, entry)
        if entry.kind in ENDINGS and entry.receipt is not None:
            self._set_with_undo(self._endings, entry.receipt, entry)
        if entry.kind == "settled" and entry.answer_key is not None:
            self._set_with_undo(self._answers, entry.answer_key, entry)
        return entry

    def _next_number(self, analyst: str) -> int:
        """How many questions an analyst has asked with this one."""
        if analyst not in self._asked:
            self._asked[analyst] = self._execute(self._sql.asked, (analyst,)).scalar() or 0
        self._set_with_undo(self._asked, analyst, self._asked[analyst] + 1)
        return self._asked[analyst]

    def save(self, accounts: ChargedAccounts) -> None:
        """Keep the new balances of what was drawn on. The entry that changed them is appended after that: it states
        them."""
        for part in accounts.parts:
            account = part.account
            key = (account.dataset, account.analyst or DATASET)
            if account.period is None:
                self._set_with_undo(self._accounts, key, account)
                self._set_with_undo(self._saved, key, account)
                budget, _, _, user = self._account_row(key)
                self._stage_row(key, (budget, *_sums(account), user))
            else:
                self._stage_row((*key, account.period, account.span), _sums(account))
                self._set_with_undo(self._periods, (*key, account.period, account.span), account.balance)
                self._set_with_undo(self._saved_periods, (*key, account.period, account.span), account)

    def fix_user(self, dataset: str, user: str) -> None:
        """Keep the user column of a data set, from now on."""
        own = self._accounts[dataset, DATASET]
        assert own is not None, "a data set that is charged has an account"
        self._set_with_undo(self._accounts, (dataset, DATASET), queries.with_user_column(own, user))
        self._set_with_undo(self._users, dataset, user)
        *others, _ = self._account_row((dataset, DATASET))
        self._stage_row((dataset, DATASET), (*others, user))

    def _account_row(self, key: Key) -> TextRow:
        """The row of an account as it will be written."""
        self.lock()
        row = None if self._balances is None else self._balances.row(key)
        assert row is not None, "an account that is charged was read"
        return row

    def _stage_row(self, key: Key, row: TextRow) -> None:
        """Let the next entry state another row."""
        self.lock()
        before = self._balances
        assert before is not None, "the lock reads them"
        self._balances = before.with_row(key, row)
        self._undo.append(lambda: setattr(self, "_balances", before))

    def flush(self) -> None:
        """Write everything, and forget what was read."""
        sql, head = self._sql, self._head
        if self._new:
            rows = [tuple(vars(entry).values()) for entry in self._new]
            self._execute(sql.append, rows if self._sqlite else tuple(raw_sql.columns(rows)))
            assert head is not None, "an entry is appended at the head"
            self._execute(sql.move_head, (head.length, head.hash))
        self._execute_all(sql.save, [(*_sums(one), *key) for key, one in self._saved.items()])
        self._execute_all(sql.save_period, [(*_sums(one), *key) for key, one in self._saved_periods.items()])
        self._execute_all(sql.fix_user, [(user, dataset) for dataset, user in self._users.items()])
        if head is not None and self._balances is not None:
            self.known = (head, self._balances)
        self._reset_caches()

    def _set_with_undo(self, kept: dict[K, V], key: K, value: V) -> None:
        if key in kept:
            before = kept[key]
            self._undo.append(lambda: kept.__setitem__(key, before))
        else:
            self._undo.append(lambda: kept.__delitem__(key))
        kept[key] = value

    def _undo_append(self, at: ChainHead) -> None:
        self._new.pop()
        self._head = at

    def _load_payers(self, dataset: str, who: str) -> None:
        found: dict[str, Account | None] = {DATASET: None, who: None}
        rows = {row.analyst: row for row in self._execute(self._sql.payers, (dataset, who))}
        for name in (one for one in found if (dataset, one) not in self._accounts):
            self._check_row((dataset, name), tuple(rows[name])[2:] if name in rows else None)
        found.update({name: to_account(row) for name, row in rows.items()})
        for name, account in found.items():
            self._accounts.setdefault((dataset, name), account)

    def _check_row(self, key: Key, row: TextRow | None) -> None:
        if self._balances is not None:
            self._balances.check_row(self._address, key, row)

    def _has_analysts(self, dataset: str) -> bool:
        if dataset not in self._analysts:
            self._analysts[dataset] = self._execute(self._sql.analysts, (dataset,)).first() is not None
        return self._analysts[dataset]

    def _load_period_balances(self, payer: Account, labels: list[str]) -> dict[tuple[str, int], Balance]:
        """The balances of periods, and of windows that begin with them, which have a row."""
        budget, whose = payer.balance.budget, (payer.dataset, payer.analyst or DATASET)
        spans = (1,) if budget.cap is None else (1, budget.cap.periods)
        wanted = {(label, span): (*whose, label, span) for label in labels for span in spans}
        missing = sorted({label for (label, _), key in wanted.items() if key not in self._periods})
        if missing:
            found = self._execute(self._sql.periods, (*whose, self._array_parameter(missing)))
            rows = {(*whose, row.period, row.span): row for row in found}
            for key in (one for one in wanted.values() if one not in self._periods):
                row = rows.get(key)
                self._check_row(key, None if row is None else (row.settled, row.held))
                self._periods[key] = None if row is None else balance_of_row(row, budget)
        known = {short: self._periods[key] for short, key in wanted.items()}
        return {short: balance for short, balance in known.items() if balance is not None}

    def _load_receipts(self, numbers: list[int]) -> None:
        if numbers:
            listed = (self._array_parameter(numbers),)
            found = {entry.sequence: entry for entry in self._read_entries(self._sql.reservations, listed)}
            closed = {entry.receipt: entry for entry in self._read_entries(self._sql.endings, listed)}
            for number in numbers:
                self._entries.setdefault(number, found.get(number))
                self._endings.setdefault(number, closed.get(number))

    def _load_answers(self, keys: list[str]) -> None:
        if keys:
            found = {
                entry.answer_key: entry
                for entry in self._read_entries(self._sql.answers, (self._array_parameter(keys),))
            }
            for key in keys:
                self._answers.setdefault(key, found.get(key))

    def _array_parameter(self, values: Sequence[str | int]) -> object:
        return json.dumps(values) if self._sqlite else values

    def _read_entries(self, statement: str, parameters: Row) -> list[Entry]:
        return [to_entry(row) for row in self._execute(statement, parameters)]

    def _execute(self, statement: str, parameters: Row | list[Row] | None = None) -> CursorResult[Any]:
        return self.connection.exec_driver_sql(statement, parameters)

    def _execute_all(self, statement: str, rows: list[Row]) -> None:
        if rows:
            self._execute(statement, rows if len(rows) > 1 else rows[0])


def _sums(account: Account) -> tuple[str, str]:
    kept = balance_columns(account.balance)
    return kept["settled"], kept["held"]
