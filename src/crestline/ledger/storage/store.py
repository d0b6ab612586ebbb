"""The durable store: every change is part of a serialised transaction that is on disk before it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, select, text

from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError
from crestline.guarantees.cost import Cost
from crestline.ledger import rules
from crestline.ledger.amount import Amount, zero
from crestline.ledger.budget import Budget
from crestline.ledger.entries import Draft, Entry, answer_key, digest
from crestline.ledger.periods import Reach, check_same_calendar
from crestline.ledger.receipt import Clock, Order, Receipt, Settlement
from crestline.ledger.storage import records, schema
from crestline.ledger.storage.database import Database, memory_database, open_database
from crestline.ledger.storage.drawn import Drawn, Part, drawn_from, load_periods
from crestline.ledger.storage.group import Needs
from crestline.ledger.storage.records import Account, checked_payers, no_budget
from crestline.ledger.storage.transaction import Transaction
from crestline.ledger.storage.witness import open_witness
from crestline.ledger.unit import check_user, named_user
from crestline.ledger.verify import Verification, verify

T = TypeVar("T")
Address: TypeAlias = str | os.PathLike[str]
Choose: TypeAlias = Callable[[list[Part]], tuple[Cost, int | None]]  # what a question costs, and its k if it was chosen
Usable: TypeAlias = Callable[[object], bool]  # whether an answer that is stored may be served

_BUILDING = 0x63726573  # the number of a lock: any that all writers share


class Store:
    """A ledger in a database: every method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    @classmethod
    def create(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, made if there is none; `witness` is where its checksum is kept."""
        database = open_database(address, create=True, timeout=timeout)
        database.write(lambda connection: _build(connection, database.address))
        return cls(database, clock)._attended(witness, timeout)

    @classmethod
    def open(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, migrated if it is older; `witness` is where its checksum is kept."""
        database = open_database(address, create=False, timeout=timeout)
        if schema.check(database.read(lambda connection: _version(connection, database.address)), database.address):
            database.write(_migrate)
        return cls(database, clock)._attended(witness, timeout)

    @classmethod
    def in_memory(cls, clock: Clock) -> Store:
        """A new ledger that ends with the process."""
        database = memory_database()
        database.write(schema.build)
        return cls(database, clock)

    def _attended(self, address: Address | None, timeout: float) -> Store:
        """This ledger, if its witness knows it; one that never had a witness gets one."""
        if address is None:
            return self
        witness = open_witness(address, self._database, timeout)
        head, known = self._database.read(records.head), witness.read()
        if known is None and not self._has_witness():
            witness.note(head)  # before it is written down: a crash between the two refuses nobody
            self._database.attend(witness)
            self._database.charge(lambda transaction: transaction.append(_witnessed(None), self._clock()))
            return self
        self._database.attend(witness)
        try:
            self._database.charge(lambda transaction: None)  # the lock checks
        except LedgerError:
            self.close()
            raise
        return self

    def _has_witness(self) -> bool:
        ever = select(schema.entries.c.sequence).where(schema.entries.c.kind == "witnessed").limit(1)
        return self._database.read(lambda connection: connection.execute(ever).first() is not None)

    def accept(self, address: Address, timeout: float = 30.0) -> str:
        """Take this ledger as it is, whatever its witness knows, for its owner who has restored it; a ledger that does
        not hold by itself is refused. Returns the checksum that the witness knew."""
        self.refuse_damaged()
        witness = open_witness(address, self._database, timeout)
        try:
            known = witness.read()
            before = "nothing" if known is None else f"{known.length}:{known.hash}"
        except LedgerError:
            before = "nothing that can be read"
        self._database.charge(lambda transaction: transaction.append(_witnessed(before), self._clock()))
        witness.replace(self._database.read(records.head))
        return before

    def refuse_damaged(self) -> None:
        """Check everything, and refuse a ledger that does not hold."""
        found = self.verify()
        if not found.ok:
            raise LedgerError(
                f"ledger {self.address} does not hold: {found.findings[0]} ({len(found.findings)} found). Run "
                "`crestline ledger verify`, and put the newest copy back"
            )

    @property
    def database(self) -> Database:
        """Where it is kept; the service keeps its own tables beside it."""
        return self._database

    @property
    def address(self) -> str:
        """The address without its password."""
        return self._database.address

    def close(self) -> None:
        """Close every connection to the database; what was written stays."""
        self._database.close()

    def open_accounts(self, dataset: str, budgets: Mapping[str | None, Budget], user: str | None = None) -> None:
        """Open budgets, once: of the data set (None), of analysts, or all together. All are opened, or none.

        `user` fixes the user column of the data set; without it the first question does.
        """

        def work(connection: Connection) -> None:
            for analyst, budget in budgets.items():
                own = user if analyst is None else None
                self._open(connection, Account(dataset, analyst, rules.Balance.opened(budget), own))

        self._database.write(work)

    def ensure_account(self, dataset: str, budget: Budget, user: str | None = None) -> None:
        """Open the budget of a data set, unless the same one, about the same users, is open already."""

        def work(connection: Connection) -> None:
            records.lock(connection)
            present = records.load_payers(connection, dataset, None)
            if not present:
                self._open(connection, Account(dataset, None, rules.Balance.opened(budget), user))
            for account in present:
                check_user(dataset, account.user, user)
                if not account.balance.budget.same_as(budget):
                    raise BudgetMismatch(
                        f"{account.title} was opened as {account.balance.budget}, and is never changed: "
                        "ask under that budget, or give the data set another name"
                    )

        self._database.write(work)

    def _open(self, connection: Connection, account: Account) -> None:
        head = records.lock(connection)
        dataset, analyst = account.dataset, account.analyst
        known = records.load_payers(connection, dataset, analyst)
        present = [one.analyst for one in known]
        if analyst in present:
            raise LedgerError(f"{account.title} is open already, and is never changed: use it, or another name")
        if analyst is not None and not present:
            raise no_budget(dataset)
        if known:
            check_same_calendar(known[0].balance.budget, account.balance.budget)
        if analyst is not None and records.has_asked(connection, dataset, analyst):
            raise LedgerError(f"{account.title} comes too late: {analyst!r} has been answered already")
        records.open_account(connection, account)
        users = {} if account.user is None else {"user": account.user}
        draft = Draft("opened", dataset, analyst, details={"budget": account.balance.budget.to_json(), **users})
        records.append(connection, head, draft, self._clock())

    def reserve(self, order: Order, choose: Choose) -> Receipt:
        """Hold what `choose` asks for in every account concerned, or refuse: a refusal is recorded, at no cost.

        The first reservation that names a user column fixes it for the data set.
        """
        outcome = self._database.charge(lambda transaction: self._reserve(transaction, order, choose))
        if isinstance(outcome, BudgetExhausted):
            raise outcome
        return outcome

    def begin(self, number: int, question: Mapping[str, Any]) -> Receipt | None:
        """Take up a reservation that was made ahead, which happens once, and before a row is read: what settles it.
        None where it was made for another question; nothing happens then."""

        def work(connection: Connection) -> Receipt | None:
            head = records.lock(connection)
            entry = records.load_entry(connection, number)
            if entry is None or entry.kind != "reserved" or entry.content["question"] != question:
                return None
            if records.begun(connection, number) or records.ended(connection, number):
                raise LedgerError(f"reservation {number} was taken up or given back already; it is taken up once")
            payers = records.load_payers(connection, entry.dataset, entry.analyst)
            draft = Draft("begun", entry.dataset, entry.analyst, number, entry.answer_key)
            records.append(connection, head, draft, self._clock())
            held, reach = entry.charge_of(entry.analyst), _reach(entry, payers[0].balance.budget)
            return Receipt(number, entry.hash, entry.dataset, entry.analyst, held, None, reach)

        return self._database.write(work)

    def find_or_reserve(self, order: Order, choose: Choose, usable: Usable) -> Entry | Receipt:
        """The stored answer, as `find_answer`, or else a reservation, in one transaction: of those who ask the same at
        the same time nobody pays for what another has paid for already."""

        def work(transaction: Transaction) -> Entry | Receipt | BudgetExhausted:
            payers = transaction.payers(order.dataset, order.analyst)
            key = _answer_key(order, payers)
            found = None if key is None else transaction.answer(key)
            if found is None or not usable(self._unedited(found).content["answer"]):
                return self._reserve(transaction, order, choose)
            transaction.append(_served(order, found), self._clock())
            return found

        outcome = self._database.charge(work, Needs(answers=_possible_keys(order)))
        if isinstance(outcome, BudgetExhausted):
            raise outcome
        return outcome

    def _reserve(self, transaction: Transaction, order: Order, choose: Choose) -> Receipt | BudgetExhausted:
        user = named_user(order.question)
        payers = transaction.payers(order.dataset, order.analyst)
        pinned = payers[0].user
        check_user(order.dataset, pinned, user)
        drawn = [transaction.drawn(payer, order.reach) for payer in payers]
        try:
            cost, k = choose([part for one in drawn for part in one.parts])
            held = _held(drawn, cost)
        except BudgetExhausted as refusal:
            transaction.append(_refused(order, refusal), self._clock())
            return refusal
        charge = [amount for _, amount in held]
        key = _answer_key(order, payers)
        draft = Draft("reserved", order.dataset, order.analyst, None, key, _asked(order, k) | _charge(charge))
        entry = transaction.append(draft, self._clock())
        for one, _ in held:
            transaction.save(one)
        if pinned is None and user is not None:
            transaction.fix_user(order.dataset, user)
        return Receipt(entry.sequence, entry.hash, order.dataset, order.analyst, charge[-1], k, order.reach)

    def settle(self, receipt: Receipt, cost: Cost, answer: object) -> Settlement:
        """Turn the reservation into what was in fact paid, and keep the answer."""

        def work(transaction: Transaction) -> Settlement:
            entry = _reservation(transaction, receipt)
            drawn = self._drawn_then(transaction, entry)
            settled = [one.settle(reserved, cost) for one, reserved in drawn]
            details = {**_charge([paid for _, paid in settled]), "answer": answer}
            draft = Draft("settled", entry.dataset, entry.analyst, entry.sequence, entry.answer_key, details)
            transaction.append(draft, self._clock())
            for one, _ in settled:
                transaction.save(one)
            own, paid = settled[-1]
            return Settlement(paid, own.least)

        return self._database.charge(work, Needs(receipts=(receipt.number,)))

    def void(self, receipt: Receipt) -> None:
        """Give a reservation back in full."""

        def work(transaction: Transaction) -> None:
            entry = _reservation(transaction, receipt)
            returned = [one.returned(reserved) for one, reserved in self._drawn_then(transaction, entry)]
            nothing = _charge([zero(one.payer.balance.budget.limit.units) for one in returned])
            draft = Draft("voided", entry.dataset, entry.analyst, entry.sequence, None, nothing)
            transaction.append(draft, self._clock())
            for one in returned:
                transaction.save(one)

        self._database.charge(work, Needs(receipts=(receipt.number,)))

    def _drawn_then(self, transaction: Transaction, entry: Entry) -> list[tuple[Drawn, Amount]]:
        """The accounts that a reservation was charged to, as they stand now, and what each payer's part was."""
        content = entry.content
        charged = content["charge"]
        payers = transaction.known_payers(entry.dataset, entry.analyst)[: len(charged)]
        if len(payers) < len(charged):
            raise LedgerError(f"ledger {self.address}: an account was removed; run `crestline ledger verify`")
        found = []
        for payer, exact in zip(payers, charged, strict=True):
            budget = payer.balance.budget
            found.append((transaction.drawn(payer, _reach(entry, budget)), Amount.from_json(exact, budget.limit.units)))
        return found

    def find_answer(self, order: Order, *, usable: Usable, record: bool) -> Entry | None:
        """The settled entry that answers the same question on the same data version; serving it is recorded."""

        def find(connection: Connection) -> Entry | None:
            key = _answer_key(order, _payers(connection, order.dataset, order.analyst))
            return None if key is None else records.latest_answer(connection, key)

        found = None if order.data_version is None else self._database.read(find)
        if found is None or not usable(self._unedited(found).content["answer"]):
            return None
        if record:
            self._database.charge(lambda transaction: transaction.append(_served(order, found), self._clock()))
        return found

    def _unedited(self, found: Entry) -> Entry:
        if digest(found.body) != found.hash:
            edited = f"entry {found.sequence} was edited; run `crestline ledger verify`"
            raise LedgerError(f"ledger {self.address}: {edited}")
        return found

    def settlement(self, receipt: int) -> Entry | None:
        """The entry that settled this reservation."""
        return self._database.read(lambda connection: records.settlement_of(connection, receipt))

    def entry(self, sequence: int) -> Entry | None:
        """The entry with this number."""
        return self._database.read(lambda connection: records.load_entry(connection, sequence))

    def datasets(self) -> list[str]:
        """Every data set that has a budget."""
        return self._database.read(records.dataset_names)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """All accounts, or those of one data set, its own first."""
        return self._database.read(lambda connection: records.load_accounts(connection, dataset))

    def payers(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts that a question of this analyst is charged to."""
        return self._database.read(lambda connection: _payers(connection, dataset, analyst))

    def drawn(self, dataset: str, analyst: str | None, reach: Reach | None) -> list[Part]:
        """The accounts that a question about these periods is charged to, and how many times."""

        def work(connection: Connection) -> list[Part]:
            payers = _payers(connection, dataset, analyst)
            return [part for payer in payers for part in drawn_from(connection, payer, reach).parts]

        return self._database.read(work)

    def periods(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts of all periods, then of all windows, that were asked about; the payer's own."""

        def work(connection: Connection) -> list[Account]:
            return load_periods(connection, _payers(connection, dataset, analyst)[-1])

        return self._database.read(work)

    def now(self) -> datetime:
        """The time by the clock that entries are written with."""
        return self._clock()

    def open_reservations(self, dataset: str | None = None) -> list[Entry]:
        """Reservations that were never settled; they stay charged."""
        return self._database.read(lambda connection: records.open_reservations(connection, dataset))

    def waiting_ahead(self, dataset: str | None = None) -> list[Entry]:
        """Those of the open reservations that were made ahead, for a question that has not been asked yet."""

        def work(connection: Connection) -> list[Entry]:
            taken = records.taken_up(connection)
            found = records.open_reservations(connection, dataset)
            return [entry for entry in found if entry.ahead and entry.sequence not in taken]

        return self._database.read(work)

    def entries(self, dataset: str | None = None, last: int | None = None, analyst: str | None = None) -> list[Entry]:
        """Entries in order; only those of one data set, of one analyst, only the last so many, if asked for."""
        query = select(schema.entries).order_by(schema.entries.c.sequence.desc()).limit(last)
        if dataset is not None:
            query = query.where(schema.entries.c.dataset == dataset)
        if analyst is not None:
            query = query.where(schema.entries.c.analyst == analyst)
        found = self._database.read(lambda connection: [records.to_entry(row) for row in connection.execute(query)])
        return found[::-1]

    def checksum(self) -> str:
        """How long the ledger is, and the hash of the last entry: kept elsewhere, it makes any rewriting visible."""
        head = self._database.read(records.head)
        return f"{head.length}:{head.hash}"

    def verify(self, checksum: str | None = None) -> Verification:
        """Check every entry, balance and user column against each other, all as of one moment."""

        def check(connection: Connection) -> Verification:
            head, balances = records.head(connection), records.load_balances(connection)
            users = records.load_users(connection)
            return verify(records.all_entries(connection), head.length, head.hash, balances, users, checksum)

        return self._database.read(check)

    def each_entry(self, work: Callable[[Iterator[Entry]], T]) -> T:
        """Hand all entries, of one moment, to `work`, which need not keep them."""
        return self._database.read(lambda connection: work(records.all_entries(connection)))


def _payers(connection: Connection, dataset: str, analyst: str | None) -> list[Account]:
    """Who pays: the data set, and the analyst if budgets for analysts are kept under it."""
    known = records.load_payers(connection, dataset, analyst)
    return checked_payers(known, dataset, analyst, lambda: records.has_analysts(connection, dataset))


def _answer_key(order: Order, payers: list[Account]) -> str | None:
    return answer_key(order.dataset, order.question, order.data_version, payers[-1].analyst)


def _possible_keys(order: Order) -> tuple[str, ...]:
    """Where the answer may be found: which of them it is depends on who pays."""
    owners = {None, order.analyst}
    keys = (answer_key(order.dataset, order.question, order.data_version, owner) for owner in owners)
    return tuple(key for key in keys if key is not None)


def _witnessed(before: str | None) -> Draft:
    """That a witness is kept from now on; of one that knew another chain, what it knew."""
    return Draft("witnessed", "", details={"knew": before})


def _held(drawn: list[Drawn], cost: Cost) -> list[tuple[Drawn, Amount]]:
    """What every payer holds. The asker's own account is asked first: what it has not, nobody else's need explain."""
    own = drawn[-1].hold(cost)
    try:
        return [*(one.hold(cost) for one in drawn[:-1]), own]
    except BudgetExhausted as refusal:
        refusal.shared = True
        raise


def _served(order: Order, found: Entry) -> Draft:
    return Draft("answered", order.dataset, order.analyst, found.receipt, found.answer_key)


def _asked(order: Order, k: int | None) -> dict[str, Any]:
    largest = {} if k is None else {"k": k}
    asked = {"question": order.question, "data_version": order.data_version, "mechanism": order.mechanism}
    return {**asked, **largest, **({} if order.reach is None else {"periods": order.reach.to_json()})}


def _reach(entry: Entry, budget: Budget) -> Reach | None:
    """Which periods a reservation was for."""
    content = entry.content
    return Reach.of_json(content["periods"], budget) if "periods" in content else None


def _charge(amounts: list[Amount]) -> dict[str, Any]:
    """One amount for each payer: the data set first, then the analyst."""
    return {"charge": [amount.to_json() for amount in amounts]}


def _refused(order: Order, refusal: BudgetExhausted) -> Draft:
    amounts = {"requested": refusal.requested.to_json(), "remaining": refusal.remaining.to_json()}
    return Draft("refused", order.dataset, order.analyst, details={**_asked(order, None), **amounts})


def _reservation(transaction: Transaction, receipt: Receipt) -> Entry:
    entry = transaction.reservation(receipt.number)
    if entry is None or entry.kind != "reserved" or entry.hash != receipt.hash:
        raise LedgerError("this receipt is not from this ledger: settle where you reserved")
    ending = transaction.ending(receipt.number)
    if ending is not None:
        done = "is settled already; it is settled once" if ending.kind == "settled" else "was given back already"
        raise LedgerError(f"reservation {receipt.number} {done}")
    return entry


def _version(connection: Connection, address: str) -> int:
    if not schema.is_ledger(connection):
        raise _no_ledger(address)
    return schema.version(connection)


def _no_ledger(address: str) -> LedgerError:
    return LedgerError(f"ledger {address}: a database, but not a ledger; make one with `crestline ledger create`")


def _build(connection: Connection, address: str) -> None:
    """Tables where there are none; two servers that do so at once wait for each other."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _BUILDING})
    if not schema.is_ledger(connection):
        if connection.dialect.name == "sqlite" and schema.is_foreign(connection):
            raise _no_ledger(address)  # on a server, a ledger may share a database with other tables
        schema.build(connection)
    elif schema.check(schema.version(connection), address):
        schema.migrate(connection)


def _migrate(connection: Connection) -> None:
    records.lock(connection)
    schema.migrate(connection)
