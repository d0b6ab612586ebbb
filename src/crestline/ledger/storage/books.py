"""The ledger inside one write transaction: lock it, look things up, post an entry with the accounts it changes.

A change decides first and posts last, so a change that is refused has posted nothing and disturbs no other of its
batch. What is posted is kept in memory, where the following changes of the batch find it, and is written by `flush`.
"""

from __future__ import annotations

import time
from collections import ChainMap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Executable, Table, Update, and_, bindparam, func, insert, or_, select, update

from crestline.errors import LedgerError
from crestline.ledger.entries import COUNTED, GENESIS, UNREADABLE, Draft, Entry, chain_entry, entry_hash
from crestline.ledger.storage.rows import (
    FINGERPRINT,
    MODULUS,
    Account,
    AccountKey,
    ChainHead,
    Key,
    Row,
    Rows,
    balance_changed_error,
    fingerprint,
    row_hash,
    to_entry,
)
from crestline.ledger.storage.tables import (
    accounts,
    chain_head,
    check_version,
    entries,
    is_about_witness,
    is_beginning,
    is_ending,
    lost_head_error,
    periods,
    refusals,
)
from crestline.ledger.storage.witness import (
    LONGEST_WAIT,
    Witness,
    WitnessError,
    WitnessState,
    missing_head,
    no_witness_error,
    other_witness_error,
    witness_error,
    witness_name,
)

_MOST_NEWER = 1000  # entries of other processes, beyond which all rows are read again


@dataclass
class Balances:
    """All rows of accounts and of their periods as they were when the chain ended at `head`.

    rows      the rows, as they are in the database
    total     the sum of their hashes
    asked     how many questions analysts have asked, of those who are known
    """

    head: ChainHead
    rows: dict[Key, Row]
    total: int
    asked: dict[str, int]

    @classmethod
    def of_rows(cls, head: ChainHead, rows: dict[Key, Row]) -> Balances:
        """These rows, with the sum of their hashes."""
        return cls(head, rows, sum(row_hash(key, row) for key, row in rows.items()) % MODULUS, {})

    def with_rows(self, head: ChainHead, changed: Rows) -> Balances:
        """The same with other rows at another head."""
        total = self.total + sum(row_hash(key, row) - row_hash(key, self.rows.get(key)) for key, row in changed.items())
        return Balances(head, {**self.rows, **changed}, total % MODULUS, {})

    def agrees_with(self, last: Entry | None) -> bool:
        """Whether the last entry states the fingerprint of these rows."""
        return fingerprint(self.total) == (fingerprint(0) if last is None else _field(last, FINGERPRINT))


class Books:
    """The ledger while it is written to. `known` is what this process knew after its last transaction."""

    def __init__(
        self,
        connection: Connection,
        address: str = "",
        witness: Witness | None = None,
        known: Balances | None = None,
        *,
        needs_witness: bool = True,
    ) -> None:
        self.connection = connection
        self._address = address
        self._witness = witness
        self._needs_witness = needs_witness
        self._seen: WitnessState | None = None
        self._known = known
        self._balances: Balances | None = None
        self._head = ChainHead(0, GENESIS)
        self._total = 0
        self._changed: dict[Key, Row] = {}
        self._asked: dict[str, int] = {}
        self._new: list[Entry] = []
        self.rows: Rows = {}

    def lock(self) -> Books:
        """Take the lock of all writers, once, and return these books.

        Raises:
            LedgerError: Another version of the program, or another hand, has changed the ledger; or it is older than
                its witness, or has one that is not at hand.
        """
        if self._balances is None:
            row = self.connection.execute(_LOCKED).first()
            if row is None:
                raise lost_head_error()
            check_version(row.version, self._address)
            head, last = ChainHead(row.length, row.head), self._find_first(_LAST)
            self._check_last(head, last)
            self._check_witness(head)
            self._balances = self._current_balances(head, last)
            self._head, self._total = head, self._balances.total
            self.rows = ChainMap(self._changed, self._balances.rows)
        return self

    @property
    def head(self) -> ChainHead:
        """Where the chain ends, with what is posted."""
        self.lock()
        return self._head

    @property
    def number_posted(self) -> int:
        """Number of entries that were posted."""
        return len(self._new)

    @property
    def is_locked(self) -> bool:
        """Whether the lock is taken."""
        return self._balances is not None

    def find_reservation(self, number: int) -> tuple[Entry | None, list[Entry]]:
        """The reservation of this number, and the entries that took it up or ended it; None where it is no reservation.

        Raises:
            LedgerError: The entry was edited.
        """
        self.lock()
        stored = map(to_entry, self.connection.execute(_RESERVATION, {"wanted": number}))
        found = [*stored, *(entry for entry in self._new if number in (entry.sequence, entry.receipt))]
        reserved = next((entry for entry in found if entry.sequence == number), None)
        if reserved is None or reserved.kind != "reserved":
            return None, []
        return self._check_unedited(reserved), [one for one in found if one.receipt == number and one.kind in _ENDED]

    def find_answer(self, key: str) -> tuple[Entry | None, Entry | None]:
        """The newest settled entry with this answer key, and a newer reservation with it that has not ended."""
        self.lock()
        posted = [one for one in self._new if one.answer_key == key]
        newest = next((one for one in reversed(posted) if one.kind in ("settled", "reserved")), None)
        newest = newest or self._find_first(_NEWEST, wanted=key)
        if newest is None or newest.kind == "settled":
            return None if newest is None else self._check_unedited(newest), None
        settled = next((one for one in reversed(posted) if one.kind == "settled"), None)
        found = settled or self._find_first(ANSWER, wanted=key)
        running = newest if not self._following(newest.sequence) else None
        return None if found is None else self._check_unedited(found), running

    def find_claim(self, key: str) -> tuple[Entry, list[Entry]] | None:
        """What was reserved, or cancelled, under this key of a request and not given back, and what followed it.

        The lock is not taken: a reader may ask, too.
        """
        stored = self._find_entries(_CLAIMS, wanted=key)
        for entry in reversed([*stored, *(one for one in self._new if one.request == key)]):
            following = self._following(entry.sequence)
            if all(one.kind != "voided" for one in following):
                return self._check_unedited(entry), following
        return None

    def _following(self, number: int) -> list[Entry]:
        """The entries that took up or ended a reservation."""
        stored = self._find_entries(_RESERVATION, wanted=number)
        return [one for one in (*stored, *self._new) if one.receipt == number and one.kind in _ENDED]

    def has_asked(self, dataset: str, analyst: str) -> bool:
        """Whether anything was ever reserved, or served, for this analyst."""
        posted = any((one.dataset, one.analyst) == (dataset, analyst) and one.kind in _ASKED_KINDS for one in self._new)
        return posted or self.connection.execute(_ASKED, {"dataset": dataset, "analyst": analyst}).first() is not None

    def post(self, draft: Draft, time: datetime, changed: Iterable[Account] = ()) -> Entry:
        """The next entry of the chain, with the accounts that it changes; written by `flush`."""
        self.lock()
        for account in changed:
            key, row = account.key, account.row
            self._total = (self._total - row_hash(key, self.rows.get(key)) + row_hash(key, row)) % MODULUS
            self._changed[key] = row
        if draft.kind in COUNTED and draft.analyst is not None:
            draft = replace(draft, number=self._next_number(draft.analyst))
        stating = replace(draft, details={**(draft.details or {}), FINGERPRINT: fingerprint(self._total)})
        entry = chain_entry(stating, sequence=self._head.length + 1, previous=self._head.hash, time=time)
        self._new.append(entry)
        self._head = ChainHead(entry.sequence, entry.hash)
        return entry

    def count_refusal(self, key: AccountKey, day: str) -> tuple[int, tuple[str, int] | None]:
        """How many refusals an account has had on this day with this one; and, with the first of a day, the day before
        on which there was one, and their number."""
        self.lock()
        own = (refusals.c.dataset == key[0], refusals.c.analyst == key[1])
        row = self.connection.execute(select(refusals.c.day, refusals.c.number).where(*own)).first()
        if row is None:
            self.connection.execute(insert(refusals), {"dataset": key[0], "analyst": key[1], "day": day, "number": 1})
            return 1, None
        number = row.number + 1 if row.day == day else 1
        self.connection.execute(update(refusals).where(*own).values(day=day, number=number))
        return number, None if row.day == day else (row.day, row.number)

    def flush(self) -> None:
        """Write what was posted, and announce it to the witness."""
        if not self._new:
            return
        assert self._balances is not None, "posting locks"
        rows = [vars(entry) for entry in self._new]
        self.connection.execute(_APPEND, rows if len(rows) > 1 else rows[0])
        self.connection.execute(_MOVE_HEAD, {"length": self._head.length, "head": self._head.hash})
        for key, row in self._changed.items():
            self._write_row(key, self._balances.rows.get(key), row)
        self._announce()

    def committed_balances(self) -> Balances | None:
        """All balances after the commit, for the next transaction of this process."""
        if self._balances is None:
            return self._known
        self._balances.rows.update(self._changed)
        self._balances.asked.update(self._asked)
        return replace(self._balances, head=self._head, total=self._total)

    def _check_last(self, head: ChainHead, last: Entry | None) -> None:
        found = ChainHead(0, GENESIS) if last is None else ChainHead(last.sequence, entry_hash(last.body))
        if found != head or (last is not None and last.hash != head.hash):
            raise LedgerError(
                f"ledger {self._address}: its head row and its last entry do not agree, so somebody else has changed "
                "it. Nothing is charged to it: run `crestline ledger verify`, and put the newest copy back"
            )

    def _check_witness(self, head: ChainHead) -> None:
        """Refuse a ledger whose witness is not here, or does not know it."""
        if not self._needs_witness or (self._witness is None and self._known is not None and self._known.head == head):
            return
        stated = self.find_witness()
        name = None if stated is None else _field(stated, "name")
        if self._witness is None:
            if stated is not None:
                raise no_witness_error(self._address, name)
            return
        seen = self._seen = self._witness.read()
        if seen is None:
            raise witness_error(self._address, self._witness, head, None)
        if stated is not None and name != witness_name(self._witness):
            raise other_witness_error(self._address, name, self._witness)
        missing = missing_head(seen, head, lambda number: self._find_entries(_NUMBERED, wanted=number))
        if missing is not None:
            raise witness_error(self._address, self._witness, head, missing)

    def find_witness(self) -> Entry | None:
        """The newest entry that says that there is a witness."""
        return self._find_first(_WITNESSED)

    def _announce(self) -> None:
        """Tell the witness where the chain will end. One that is slow or fails refuses the change before its commit."""
        if self._witness is None:
            return
        assert self._balances is not None, "posting locks"
        started = time.monotonic()
        self._witness.announce(self._balances.head, self._head)
        if time.monotonic() - started > LONGEST_WAIT:
            raise WitnessError(f"witness {self._witness.place}: it is too slow; nothing was charged: try again")

    def confirm(self) -> None:
        """Tell the witness, after the commit, where the chain ends."""
        if self._witness is not None and self.is_locked and (self._seen is None or self._seen.confirmed != self._head):
            try:
                self._witness.confirm(self._head)
            except WitnessError as error:  # between the two phases
                reason = str(error).rpartition(";")[0]
                raise LedgerError(f"{reason}; what was reserved stays charged: see that it can be written") from None

    def _current_balances(self, head: ChainHead, last: Entry | None) -> Balances:
        """All balances at this head. Only the rows that other processes have changed since are read.

        A row that was changed by hand is found by the fingerprint of the last entry, or once it is written to.
        """
        known = self._known
        if known is not None and known.head == head:
            return known
        if known is not None and known.head.length < head.length:
            newer = self._find_entries(_NEWER, known=known.head.length)
            if len(newer) <= _MOST_NEWER and _field(newer[0], "previous") == known.head.hash:
                payers = {(one.dataset, analyst) for one in newer for analyst in {None, one.analyst}}
                found = known.with_rows(head, {key: row for one in payers for key, row in self._read_rows(*one)})
                if found.agrees_with(last):
                    return found
        found = Balances.of_rows(head, load_rows(self.connection))
        if not found.agrees_with(last):
            raise balance_changed_error(self._address)
        return found

    def _read_rows(self, dataset: str, analyst: str | None) -> Iterable[tuple[Key, Row]]:
        return load_rows(self.connection, dataset, analyst or "").items()

    def _next_number(self, analyst: str) -> int:
        """How many questions an analyst has asked with this one."""
        assert self._balances is not None, "posting locks"
        before = self._asked.get(analyst, self._balances.asked.get(analyst))
        if before is None:
            before = self.connection.execute(_COUNTED, {"who": analyst}).scalar() or 0
        self._asked[analyst] = before + 1
        return before + 1

    def _write_row(self, key: Key, before: Row | None, row: Row) -> None:
        """Write a new row, or replace one that is as it is known."""
        table = _table_of(key)
        values = dict(zip(table.columns.keys(), (*key, *row), strict=True))
        if before is None:
            self.connection.execute(insert(table), values)
            return
        known = {f"known_{name}": value for name, value in zip(table.columns.keys(), (*key, *before), strict=True)}
        if self.connection.execute(_REPLACE[table.name], {**values, **known}).rowcount != 1:
            raise balance_changed_error(self._address)

    def _check_unedited(self, found: Entry) -> Entry:
        return check_unedited(found, self._address)

    def _find_entries(self, query: Executable, **wanted: object) -> list[Entry]:
        return [to_entry(row) for row in self.connection.execute(query, wanted)]

    def _find_first(self, query: Executable, **wanted: object) -> Entry | None:
        return next(iter(self._find_entries(query, **wanted)), None)


def _field(entry: Entry, name: str) -> object:
    """A field of an entry that may be forged; None where it has none."""
    try:
        return entry.content[name]
    except UNREADABLE:
        return None


def check_unedited(found: Entry, address: str) -> Entry:
    """The entry.

    Raises:
        LedgerError: Its text does not match its hash.
    """
    if entry_hash(found.body) != found.hash:
        raise LedgerError(f"ledger {address}: entry {found.sequence} was edited; run `crestline ledger verify`")
    return found


def load_rows(
    connection: Connection, dataset: str | None = None, analyst: str | None = None, *, whole: bool = True
) -> dict[Key, Row]:
    """Every row of the accounts, and of their periods where `whole`; of one data set, or one payer, if it is named."""
    found: dict[Key, Row] = {}
    for table in (accounts, periods) if whole else (accounts,):
        size, wanted = len(table.primary_key), {"dataset": dataset, "analyst": analyst}
        named = {name: value for name, value in wanted.items() if value is not None}
        query = select(table).where(*(table.c[name] == bindparam(name) for name in named))
        found.update((_key(row[:size]), tuple(row[size:])) for row in connection.execute(query, named))
    return found


def load_payer_rows(connection: Connection, dataset: str, analyst: str | None, *, whole: bool) -> dict[Key, Row]:
    """The rows of the accounts that pay for an analyst's questions, and of their periods where `whole`.

    Where the analyst has no account, those of all analysts are among them, so that it is known whether there are any.
    """
    found = load_rows(connection, dataset, "", whole=whole)
    if analyst is not None:
        found.update(load_rows(connection, dataset, analyst, whole=whole))
        if (dataset, analyst) not in found:
            found.update(load_rows(connection, dataset, whole=False))
    return found


def read_head(connection: Connection) -> ChainHead:
    """Where the chain ends, as of this transaction."""
    row = connection.execute(_HEAD).first()
    if row is None:
        raise lost_head_error()
    return ChainHead(row.length, row.head)


def _key(columns: Sequence[Any]) -> Key:
    return tuple(columns)


def _table_of(key: Key) -> Table:
    return accounts if len(key) == 2 else periods


def _replacing(table: Table) -> Update:
    """Replace a row if all its columns are as they are known."""
    expected = [
        column.is_not_distinct_from(bindparam(f"known_{column.name}"))
        if column.nullable
        else column == bindparam(f"known_{column.name}")
        for column in table.c
    ]
    return update(table).where(*expected).values({column.name: bindparam(column.name) for column in table.c})


_ENDED = ("begun", "settled", "voided")
_ASKED_KINDS = ("reserved", "answered")

# The statements of every question, made once: to build them anew would cost more than to run them.
_HEAD = select(chain_head.c.version, chain_head.c.length, chain_head.c.head)
_LOCKED = _HEAD.with_for_update()
_LAST = select(entries).order_by(entries.c.sequence.desc()).limit(1)
_NUMBERED = select(entries).where(entries.c.sequence == bindparam("wanted"))
_WITNESSED = select(entries).where(is_about_witness()).order_by(entries.c.sequence.desc()).limit(1)
_NEWER = (
    select(entries).where(entries.c.sequence > bindparam("known")).order_by(entries.c.sequence).limit(_MOST_NEWER + 1)
)
_RESERVATION = select(entries).where(
    or_(
        entries.c.sequence == bindparam("wanted"),
        and_(entries.c.receipt == bindparam("wanted"), is_ending()),
        and_(entries.c.receipt == bindparam("wanted"), is_beginning()),
    )
)
_CLAIMS = select(entries).where(entries.c.request == bindparam("wanted")).order_by(entries.c.sequence)
_NEWEST = (
    select(entries)
    .where(entries.c.answer_key == bindparam("wanted"), entries.c.kind.in_(("settled", "reserved")))
    .order_by(entries.c.sequence.desc())
    .limit(1)
)
ANSWER = (
    select(entries)
    .where(entries.c.answer_key == bindparam("wanted"), entries.c.kind == "settled")
    .order_by(entries.c.sequence.desc())
    .limit(1)
)
SETTLEMENT = select(entries).where(entries.c.receipt == bindparam("wanted"), is_ending(), entries.c.kind == "settled")
_COUNTED = select(func.max(entries.c.number)).where(entries.c.analyst == bindparam("who"))
_ASKED = (
    select(entries.c.sequence)
    .where(entries.c.dataset == bindparam("dataset"), entries.c.analyst == bindparam("analyst"))
    .where(entries.c.kind.in_(_ASKED_KINDS))
    .limit(1)
)
_APPEND, _MOVE_HEAD = insert(entries), update(chain_head)
_REPLACE = {table.name: _replacing(table) for table in (accounts, periods)}
