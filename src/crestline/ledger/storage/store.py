"""The durable store: every change is part of a serialised transaction that is on disk before it returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, select

from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError
from crestline.guarantees.cost import Cost
from crestline.ledger import balance_rules
from crestline.ledger.amount import Amount, zero_amount
from crestline.ledger.balance_rules import check_user, user_of_question
from crestline.ledger.budget import Budget
from crestline.ledger.entries import Draft, Entry, EntryKind, entry_hash
from crestline.ledger.periods import PeriodCharge, check_same_calendar
from crestline.ledger.receipt import Clock, LedgerRequest, Receipt, Settlement
from crestline.ledger.storage import queries, schema
from crestline.ledger.storage.addresses import memory_database, open_database
from crestline.ledger.storage.charged_accounts import ChargedAccount, ChargedAccounts
from crestline.ledger.storage.checks.witness import open_witness
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.group_commit import PreloadKeys
from crestline.ledger.storage.queries import Account, no_budget_error
from crestline.ledger.storage.store_reader import StoreReader, load_payers_or_refuse
from crestline.ledger.storage.transaction import Transaction

T = TypeVar("T")
Address: TypeAlias = str | os.PathLike[str]
Choose: TypeAlias = Callable[
    [list[ChargedAccount]], tuple[Cost, int | None]
]  # what a question costs, and its k if it was chosen
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
        return cls(database, clock)._attach_witness(witness, timeout)

    @classmethod
    def open(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, migrated if it is older; `witness` is where its checksum is kept."""
        database = open_database(address, create=False, timeout=timeout)
        if database.read(lambda connection: schema.must_migrate(connection, database.address)):
            database.write(_migrate)
        return cls(database, clock)._attach_witness(witness, timeout)

    @classmethod
    def in_memory(cls, clock: Clock) -> Store:
        """A new ledger that ends with the process."""
        database = memory_database()
        database.write(schema.build)
        return cls(database, clock)

    def _attach_witness(self, address: Address | None, timeout: float) -> Store:
        """This ledger, if its witness knows it; one that never had a witness gets one."""
        if address is None:
            return self
        witness = open_witness(address, self._database, timeout)
        head, known = self._database.read(queries.load_head), witness.read_head()
        if known is None and not self._has_witness():
            witness.note_head(head)  # before it is written down: a crash between the two refuses nobody
            self._database.use_witness(witness)
            self._database.charge(lambda transaction: transaction.append(_witness_draft(None), self._clock()))
            return self
        self._database.use_witness(witness)
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
            known = witness.read_head()
            before = "nothing" if known is None else f"{known.length}:{known.hash}"
        except LedgerError:
            before = "nothing that can be read"
        self._database.charge(lambda transaction: transaction.append(_witness_draft(before), self._clock()))
        witness.replace(self._database.read(queries.load_head))
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
                self._open(connection, Account(dataset, analyst, balance_rules.Balance.open_account(budget), own))

        self._database.write(work)

    def ensure_account(self, dataset: str, budget: Budget, user: str | None = None) -> None:
        """Open the budget of a data set, unless the same one, about the same users, is open already."""

        def work(connection: Connection) -> None:
            queries.lock(connection)
            present = queries.load_payers(connection, dataset, None)
            if not present:
                self._open(connection, Account(dataset, None, balance_rules.Balance.open_account(budget), user))
            for account in present:
                check_user(dataset, account.user, user)
                if not account.balance.budget.has_same_terms(budget):
                    raise BudgetMismatch(
                        f"{account.title} was opened as {account.balance.budget}, and is never changed: "
                        "ask under that budget, or give the data set another name"
                    )

        self._database.write(work)

    def _open(self, connection: Connection, account: Account) -> None:
        head = queries.lock(connection)
        dataset, analyst = account.dataset, account.analyst
        known = queries.load_payers(connection, dataset, analyst)
        present = [one.analyst for one in known]
        if analyst in present:
            raise LedgerError(f"{account.title} is open already, and is never changed: use it, or another name")
        if analyst is not None and not present:
            raise no_budget_error(dataset)
        if known:
            check_same_calendar(known[0].balance.budget, account.balance.budget)
        if analyst is not None and queries.has_asked(connection, dataset, analyst):
            raise LedgerError(f"{account.title} comes too late: {analyst!r} has been answered already")
        queries.open_account(connection, account)
        users = {} if account.user is None else {"user": account.user}
        draft = Draft("opened", dataset, analyst, details={"budget": account.balance.budget.to_json(), **users})
        queries.append(connection, head, draft, self._clock())

    def reserve(self, order: LedgerRequest, choose: Choose) -> Receipt:
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
            head = queries.lock(connection)
            entry = queries.load_entry(connection, number)
            if entry is None or entry.kind != "reserved" or entry.content["question"] != question:
                return None
            if queries.was_taken_up(connection, number) or queries.has_ended(connection, number):
                raise LedgerError(f"reservation {number} was taken up or given back already; it is taken up once")
            payers = queries.load_payers(connection, entry.dataset, entry.analyst)
            draft = Draft("begun", entry.dataset, entry.analyst, number, entry.answer_key, number=entry.number)
            queries.append(connection, head, draft, self._clock())
            held, reach = entry.charge_of(entry.analyst), _period_charge_of(entry, payers[0].balance.budget)
            return Receipt(number, entry.hash, entry.dataset, entry.analyst, held, None, reach, entry.number)

        return self._database.write(work)

    def find_or_reserve(self, order: LedgerRequest, choose: Choose, usable: Usable) -> Entry | Receipt:
        """The stored answer, as `find_answer`, or else a reservation, in one transaction: of those who ask the same at
        the same time nobody pays for what another has paid for already."""

        def work(transaction: Transaction) -> Entry | Receipt | BudgetExhausted:
            payers = transaction.payers(order.dataset, order.analyst)
            key = order.answer_key(payers[-1].analyst)
            found = None if key is None else transaction.answer(key)
            if found is None or not usable(self._check_unedited(found).content["answer"]):
                return self._reserve(transaction, order, choose)
            transaction.append(order.served_again_draft(found), self._clock())
            return found

        outcome = self._database.charge(work, PreloadKeys(answers=order.possible_keys()))
        if isinstance(outcome, BudgetExhausted):
            raise outcome
        return outcome

    def _reserve(self, transaction: Transaction, order: LedgerRequest, choose: Choose) -> Receipt | BudgetExhausted:
        user = user_of_question(order.question)
        payers = transaction.payers(order.dataset, order.analyst)
        pinned = payers[0].user
        check_user(order.dataset, pinned, user)
        drawn = [transaction.charged_accounts(payer, order.reach) for payer in payers]
        try:
            cost, k = choose([part for one in drawn for part in one.parts])
            held = _hold_in_all_accounts(drawn, cost)
        except BudgetExhausted as refusal:
            transaction.append(order.refusal_draft(refusal), self._clock())
            return refusal
        charge = [amount for _, amount in held]
        key = order.answer_key(payers[-1].analyst)
        draft = Draft("reserved", order.dataset, order.analyst, None, key, order.question_fields(k) | _charge(charge))
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
            entry = self._check_unedited(_find_reservation(transaction, receipt))
            drawn = self._accounts_of_reservation(transaction, entry)
            settled = [one.settle(reserved, cost) for one, reserved in drawn]
            details = {**_charge([paid for _, paid in settled]), "answer": answer}
            for one, _ in settled:
                transaction.save(one)
            transaction.append(_ending_draft(entry, "settled", entry.answer_key, details), self._clock())
            own, paid = settled[-1]
            return Settlement(paid, own.smallest_balance)

        return self._database.charge(work, PreloadKeys(receipts=(receipt.number,)))

    def void(self, receipt: Receipt) -> None:
        """Give a reservation back in full."""

        def work(transaction: Transaction) -> None:
            entry = self._check_unedited(_find_reservation(transaction, receipt))
            returned = [one.give_back(reserved) for one, reserved in self._accounts_of_reservation(transaction, entry)]
            nothing = _charge([zero_amount(one.payer.balance.budget.limit.units) for one in returned])
            for one in returned:
                transaction.save(one)
            transaction.append(_ending_draft(entry, "voided", None, nothing), self._clock())

        self._database.charge(work, PreloadKeys(receipts=(receipt.number,)))

    def _accounts_of_reservation(self, transaction: Transaction, entry: Entry) -> list[tuple[ChargedAccounts, Amount]]:
        """The accounts that a reservation was charged to, as they stand now, and what each payer's part was."""
        content = entry.content
        charged = content["charge"]
        payers = transaction.find_payers(entry.dataset, entry.analyst)[: len(charged)]
        if len(payers) < len(charged):
            raise LedgerError(f"ledger {self.address}: an account was removed; run `crestline ledger verify`")
        found = []
        for payer, exact in zip(payers, charged, strict=True):
            budget = payer.balance.budget
            found.append(
                (
                    transaction.charged_accounts(payer, _period_charge_of(entry, budget)),
                    Amount.from_json(exact, budget.limit.units),
                )
            )
        return found

    def find_answer(self, order: LedgerRequest, *, usable: Usable, record: bool) -> Entry | None:
        """The settled entry that answers the same question on the same data version; serving it is recorded."""

        def find(connection: Connection) -> Entry | None:
            key = order.answer_key(load_payers_or_refuse(connection, order.dataset, order.analyst)[-1].analyst)
            return None if key is None else queries.load_latest_answer(connection, key)

        found = None if order.data_version is None else self._database.read(find)
        if found is None or not usable(self._check_unedited(found).content["answer"]):
            return None
        if record:
            self._database.charge(
                lambda transaction: transaction.append(order.served_again_draft(found), self._clock())
            )
        return found

    def _check_unedited(self, found: Entry) -> Entry:
        if entry_hash(found.body) != found.hash:
            edited = f"entry {found.sequence} was edited; run `crestline ledger verify`"
            raise LedgerError(f"ledger {self.address}: {edited}")
        return found


def _witness_draft(before: str | None) -> Draft:
    """That a witness is kept from now on; of one that knew another chain, what it knew."""
    return Draft("witnessed", "", details={"knew": before})


def _hold_in_all_accounts(payers: list[ChargedAccounts], cost: Cost) -> list[tuple[ChargedAccounts, Amount]]:
    """What every payer holds. The asker's own account is asked first: what it has not, nobody else's need explain."""
    own = payers[-1].hold(cost)
    try:
        return [*(one.hold(cost) for one in payers[:-1]), own]
    except BudgetExhausted as refusal:
        refusal.shared = True
        raise


def _period_charge_of(entry: Entry, budget: Budget) -> PeriodCharge | None:
    """Which periods a reservation was for."""
    content = entry.content
    return PeriodCharge.from_json(content["periods"], budget) if "periods" in content else None


def _charge(amounts: list[Amount]) -> dict[str, Any]:
    """One amount for each payer: the data set first, then the analyst."""
    return {"charge": [amount.to_json() for amount in amounts]}


def _ending_draft(reserved: Entry, kind: EntryKind, key: str | None, details: dict[str, Any]) -> Draft:
    """The entry that ends a reservation."""
    return Draft(kind, reserved.dataset, reserved.analyst, reserved.sequence, key, details, reserved.number)


def _find_reservation(transaction: Transaction, receipt: Receipt) -> Entry:
    entry = transaction.find_reservation(receipt.number)
    if entry is None or entry.kind != "reserved" or entry.hash != receipt.hash:
        raise LedgerError("this receipt is not from this ledger: settle where you reserved")
    ending = transaction.find_ending(receipt.number)
    if ending is not None:
        done = "is settled already; it is settled once" if ending.kind == "settled" else "was given back already"
        raise LedgerError(f"reservation {receipt.number} {done}")
    return entry


def _migrate(connection: Connection) -> None:
    queries.lock(connection)
    schema.migrate(connection)
