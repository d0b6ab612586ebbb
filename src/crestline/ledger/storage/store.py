"""The durable store: every change is part of a serialised transaction that is on disk before it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, select

from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError
from crestline.guarantees.cost import Cost
from crestline.ledger import rules
from crestline.ledger.amount import Amount, zero
from crestline.ledger.budget import Budget
from crestline.ledger.entries import Draft, Entry, EntryKind, digest
from crestline.ledger.periods import Reach, check_same_calendar
from crestline.ledger.receipt import Clock, Order, Receipt, Settlement
from crestline.ledger.rules import check_user, named_user
from crestline.ledger.storage import records, schema
from crestline.ledger.storage.addresses import memory_database, open_database
from crestline.ledger.storage.checks.witness import open_witness
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.drawn import Drawn, Part
from crestline.ledger.storage.group import Needs
from crestline.ledger.storage.reading import StoreReader, payers_of
from crestline.ledger.storage.records import Account, no_budget
from crestline.ledger.storage.transaction import Transaction

T = TypeVar("T")
Address: TypeAlias = str | os.PathLike[str]
Choose: TypeAlias = Callable[[list[Part]], tuple[Cost, int | None]]  # what a question costs, and its k if it was chosen
Usable: TypeAlias = Callable[[object], bool]  # whether an answer that is stored may be served


class Store(StoreReader):
    """A ledger in a database: every method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(database)
        self._clock = clock

    @classmethod
    def create(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, made if there is none; `witness` is where its checksum is kept."""
        database = open_database(address, create=True, timeout=timeout)
        database.write(lambda connection: schema.build_or_migrate(connection, database.address))
        return cls(database, clock)._attended(witness, timeout)

    @classmethod
    def open(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, migrated if it is older; `witness` is where its checksum is kept."""
        database = open_database(address, create=False, timeout=timeout)
        if database.read(lambda connection: schema.must_migrate(connection, database.address)):
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

    def now(self) -> datetime:
        """The time by the clock that entries are written with."""
        return self._clock()

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
            draft = Draft("begun", entry.dataset, entry.analyst, number, entry.answer_key, number=entry.number)
            records.append(connection, head, draft, self._clock())
            held, reach = entry.charge_of(entry.analyst), _reach(entry, payers[0].balance.budget)
            return Receipt(number, entry.hash, entry.dataset, entry.analyst, held, None, reach, entry.number)

        return self._database.write(work)

    def find_or_reserve(self, order: Order, choose: Choose, usable: Usable) -> Entry | Receipt:
        """The stored answer, as `find_answer`, or else a reservation, in one transaction: of those who ask the same at
        the same time nobody pays for what another has paid for already."""

        def work(transaction: Transaction) -> Entry | Receipt | BudgetExhausted:
            payers = transaction.payers(order.dataset, order.analyst)
            key = order.answer_key(payers[-1].analyst)
            found = None if key is None else transaction.answer(key)
            if found is None or not usable(self._unedited(found).content["answer"]):
                return self._reserve(transaction, order, choose)
            transaction.append(order.served(found), self._clock())
            return found

        outcome = self._database.charge(work, Needs(answers=order.possible_keys()))
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
            transaction.append(order.refused(refusal), self._clock())
            return refusal
        charge = [amount for _, amount in held]
        key = order.answer_key(payers[-1].analyst)
        draft = Draft("reserved", order.dataset, order.analyst, None, key, order.asked(k) | _charge(charge))
        for one, _ in held:
            transaction.save(one)
        if pinned is None and user is not None:
            transaction.fix_user(order.dataset, user)
        entry = transaction.append(draft, self._clock())
        own = entry.number
        return Receipt(entry.sequence, entry.hash, order.dataset, order.analyst, charge[-1], k, order.reach, own)

    def settle(self, receipt: Receipt, cost: Cost, answer: object) -> Settlement:
        """Turn the reservation into what was in fact paid, and keep the answer."""

        def work(transaction: Transaction) -> Settlement:
            entry = self._unedited(_reservation(transaction, receipt))
            drawn = self._drawn_then(transaction, entry)
            settled = [one.settle(reserved, cost) for one, reserved in drawn]
            details = {**_charge([paid for _, paid in settled]), "answer": answer}
            for one, _ in settled:
                transaction.save(one)
            transaction.append(_ending(entry, "settled", entry.answer_key, details), self._clock())
            own, paid = settled[-1]
            return Settlement(paid, own.least)

        return self._database.charge(work, Needs(receipts=(receipt.number,)))

    def void(self, receipt: Receipt) -> None:
        """Give a reservation back in full."""

        def work(transaction: Transaction) -> None:
            entry = self._unedited(_reservation(transaction, receipt))
            returned = [one.returned(reserved) for one, reserved in self._drawn_then(transaction, entry)]
            nothing = _charge([zero(one.payer.balance.budget.limit.units) for one in returned])
            for one in returned:
                transaction.save(one)
            transaction.append(_ending(entry, "voided", None, nothing), self._clock())

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
            key = order.answer_key(payers_of(connection, order.dataset, order.analyst)[-1].analyst)
            return None if key is None else records.latest_answer(connection, key)

        found = None if order.data_version is None else self._database.read(find)
        if found is None or not usable(self._unedited(found).content["answer"]):
            return None
        if record:
            self._database.charge(lambda transaction: transaction.append(order.served(found), self._clock()))
        return found

    def _unedited(self, found: Entry) -> Entry:
        if digest(found.body) != found.hash:
            edited = f"entry {found.sequence} was edited; run `crestline ledger verify`"
            raise LedgerError(f"ledger {self.address}: {edited}")
        return found


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


def _reach(entry: Entry, budget: Budget) -> Reach | None:
    """Which periods a reservation was for."""
    content = entry.content
    return Reach.of_json(content["periods"], budget) if "periods" in content else None


def _charge(amounts: list[Amount]) -> dict[str, Any]:
    """One amount for each payer: the data set first, then the analyst."""
    return {"charge": [amount.to_json() for amount in amounts]}


def _ending(reserved: Entry, kind: EntryKind, key: str | None, details: dict[str, Any]) -> Draft:
    """The entry that ends a reservation."""
    return Draft(kind, reserved.dataset, reserved.analyst, reserved.sequence, key, details, reserved.number)


def _reservation(transaction: Transaction, receipt: Receipt) -> Entry:
    entry = transaction.reservation(receipt.number)
    if entry is None or entry.kind != "reserved" or entry.hash != receipt.hash:
        raise LedgerError("this receipt is not from this ledger: settle where you reserved")
    ending = transaction.ending(receipt.number)
    if ending is not None:
        done = "is settled already; it is settled once" if ending.kind == "settled" else "was given back already"
        raise LedgerError(f"reservation {receipt.number} {done}")
    return entry


def _migrate(connection: Connection) -> None:
    records.lock(connection)
    schema.migrate(connection)
