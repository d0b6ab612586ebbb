"""The durable store: every change is part of a serialised transaction that is on disk before it returns."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from itsdangerous import BadData
from sqlalchemy import Connection, Executable, Select, bindparam, delete, func, insert, or_, select

from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError
from crestline.guarantees.cost import Cost
from crestline.ledger.amount import Amount, zero_amount
from crestline.ledger.balance_rules import Balance, check_user, user_of_question
from crestline.ledger.budget import Budget
from crestline.ledger.entries import ENDINGS, UNREADABLE, Draft, Entry, EntryKind, canonical_json, is_ahead, utc_text
from crestline.ledger.periods import PeriodCharge, check_same_calendar
from crestline.ledger.receipt import (
    AlreadyTakenUp,
    Clock,
    LedgerRequest,
    Receipt,
    RequestKey,
    RequestRefused,
    Settlement,
)
from crestline.ledger.storage import tables
from crestline.ledger.storage.addresses import memory_database, open_database
from crestline.ledger.storage.books import (
    ANSWER,
    SETTLEMENT,
    Books,
    check_unedited,
    load_payer_rows,
    load_rows,
    read_head,
)
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.rows import (
    DATASET,
    Account,
    ChargedAccount,
    ChargedAccounts,
    Rows,
    accounts_in,
    balances_in,
    charged_accounts_in,
    no_budget_error,
    payers_in,
    period_accounts_in,
    stored_payers_in,
    to_entry,
    users_in,
)
from crestline.ledger.storage.tables import entries
from crestline.ledger.storage.witness import Witness, open_witness, witness_address, witness_name
from crestline.ledger.verify import ChainAudit, Verification, verify

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer

T = TypeVar("T")
LISTED_REFUSALS = 100  # refusals of a day and an account that are entries; more are counted
Address: TypeAlias = str | os.PathLike[str]
Choose: TypeAlias = Callable[
    [list[ChargedAccount]], tuple[Cost, int | None]
]  # what a question costs, and its k if it was chosen
Signer: TypeAlias = "URLSafeSerializer"
Usable: TypeAlias = Callable[[object], bool]  # whether an answer that is stored may be served


@dataclass(frozen=True)
class _Running:
    """A reservation that may be about to be answered; `is_claimed` where it was made under the request's own key."""

    entry: Entry
    is_claimed: bool = False


class Store:
    """A ledger in a database: every method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self.database = database  # the service keeps its own tables beside it
        self._clock = clock
        self._lost: set[int] = set()

    @classmethod
    def create(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address, made if there is none; `witness` is where its checksum is kept, which the
        environment names unless it is given."""
        database = open_database(address, create=True, timeout=timeout)
        database.write(lambda books: tables.build(books.connection, database.address))
        return cls(database, clock)._attach_witness(witness_address(witness), timeout)

    @classmethod
    def open(cls, address: Address, clock: Clock, timeout: float, witness: Address | None = None) -> Store:
        """The ledger at this address; `witness` is where its checksum is kept."""
        database = open_database(address, create=False, timeout=timeout)
        database.read(lambda connection: tables.check(connection, database.address))
        return cls(database, clock)._attach_witness(witness, timeout)

    @classmethod
    def in_memory(cls, clock: Clock) -> Store:
        """A new ledger that ends with the process."""
        database = memory_database()
        database.write(lambda books: tables.build(books.connection, database.address))
        return cls(database, clock)

    @property
    def address(self) -> str:
        """The address without its password."""
        return self.database.address

    def close(self) -> None:
        """Close every connection to the database; what was written stays."""
        self.database.close()

    def now(self) -> datetime:
        """The time by the clock that entries are written with."""
        return self._clock()

    # Witness

    def _attach_witness(self, address: Address | None, timeout: float) -> Store:
        """This ledger with its witness, if one is named."""
        if address is not None:
            try:
                self.attach_witness(address, timeout)
            except LedgerError:
                self.close()
                raise
        return self

    def attach_witness(self, address: Address, timeout: float = 30.0) -> None:
        """Tell the witness at this address of every change; a ledger that never had one gets it.

        Raises:
            LedgerError: It is not the ledger's witness, or it does not know this ledger.
        """
        witness = open_witness(address, self.database, timeout)
        if witness.read() is None and self.database.read(lambda connection: Books(connection).find_witness()) is None:
            witness.replace(
                self.database.read(read_head)
            )  # before it is written down: a crash between refuses no writer

        def state_witness(books: Books) -> None:
            if books.lock().find_witness() is None:
                books.post(_witness_draft(witness, None), self._clock())

        before = self.database.witness
        self.database.use_witness(witness)
        try:
            self.database.write(state_witness)  # the lock checks
        except LedgerError:
            self.database.use_witness(before)
            raise

    def accept(self, address: Address, *, by: str, timeout: float = 30.0) -> str:
        """Take this ledger in place of what its witness knows, for its owner who has restored it; a ledger that does
        not hold by itself is refused. `by` says who, for the entry. Returns the checksum that the witness knew."""
        self.refuse_damaged()
        witness = open_witness(address, self.database, timeout)
        try:
            known = witness.read()
            before = "nothing" if known is None else f"{known.confirmed.length}:{known.confirmed.hash}"
        except LedgerError:
            before = "nothing that can be read"
        with self.database.without_witness():
            self.database.write(lambda books: books.post(_witness_draft(witness, before, by), self._clock()))
        witness.replace(self.database.read(read_head))
        return before

    # Budgets

    def open_accounts(self, dataset: str, budgets: Mapping[str | None, Budget], user: str | None = None) -> None:
        """Open budgets, once: of the data set (None), of analysts, or all together. All are opened, or none.

        `user` fixes the user column of the data set; without it the first question does.
        """
        opened = [
            Account(dataset, analyst, Balance.open_account(budget), user if analyst is None else None)
            for analyst, budget in budgets.items()
        ]

        def change(books: Books) -> None:
            rows = dict(books.lock().rows)
            for account in opened:
                _refuse_opening(books, rows, account)
                rows[account.key] = account.row
            self._post_opened(books, opened)

        self.database.write(change)

    def ensure_account(self, dataset: str, budget: Budget, user: str | None = None) -> None:
        """Open the budget of a data set, unless the same one, about the same users, is open already."""

        def change(books: Books) -> None:
            present = stored_payers_in(books.lock().rows, dataset, None)
            if not present:
                self._post_opened(books, [Account(dataset, None, Balance.open_account(budget), user)])
            for account in present:
                check_user(dataset, account.user, user)
                if not account.balance.budget.has_same_terms(budget):
                    raise BudgetMismatch(
                        f"{account.title} was opened as {account.balance.budget}, and is never changed: "
                        "ask under that budget, or give the data set another name"
                    )

        self.database.write(change)

    def _post_opened(self, books: Books, opened: Iterable[Account]) -> None:
        for account in opened:
            users = {} if account.user is None else {"user": account.user}
            details = {"budget": account.balance.budget.to_json(), **users}
            books.post(Draft("opened", account.dataset, account.analyst, details=details), self._clock(), [account])

    def post(self, draft: Draft) -> Entry:
        """Write an entry that changes no balance: what the service says of its tokens and sessions."""
        return self.database.write(lambda books: books.post(draft, self._clock()))

    # Questions

    def reserve(self, order: LedgerRequest, choose: Choose) -> Receipt:
        """Hold what `choose` asks for in every account concerned, or refuse: a refusal is recorded, at no cost.

        The first reservation that names a user column fixes it for the data set.
        """
        outcome = self.database.write(lambda books: self._reserve(books, order, choose))
        if isinstance(outcome, BudgetExhausted):  # it was returned by the transaction, so that it is recorded
            raise outcome
        return outcome

    def reserve_once(self, order: LedgerRequest, choose: Choose) -> int:
        """The number of the reservation under this request's key: one that was made before, or a new one."""
        assert order.request is not None, "only a request with a key is made once"
        key = order.request.key

        def change(books: Books) -> int | BudgetExhausted:
            claim = books.lock().find_claim(key)
            if claim is not None:
                return claim[0].sequence
            made = self._reserve(books, order, choose)
            return made.number if isinstance(made, Receipt) else made

        outcome = self.database.write(change)
        if isinstance(outcome, BudgetExhausted):
            raise outcome
        return outcome

    def find_or_reserve(
        self, order: LedgerRequest, choose: Choose, usable: Usable, patience: float = 0.0
    ) -> Entry | Receipt:
        """The stored answer, as `find_answer`, or else a reservation, in one transaction: of those who ask the same at
        the same time, what another has paid for already is not paid again.

        A reservation for the same that is younger than `patience` seconds may be about to be answered: its end is
        waited for, for as long.

        Raises:
            RequestRefused: The order has a key, under which another question was asked, or this one in vain.
        """
        lost: set[int] = set()
        while True:
            outcome = self.database.write(
                lambda books: self._find_or_reserve(books, order, choose, usable, None if patience == 0 else lost)
            )
            if isinstance(outcome, BudgetExhausted):
                raise outcome
            if not isinstance(outcome, _Running):
                return outcome
            if not self.wait_for_end(outcome.entry, patience):
                if outcome.is_claimed:
                    raise RequestRefused("unfinished")
                lost.add(outcome.entry.sequence)

    def _find_or_reserve(
        self, books: Books, order: LedgerRequest, choose: Choose, usable: Usable, lost: set[int] | None
    ) -> Entry | Receipt | _Running | BudgetExhausted:
        """As `find_or_reserve`; reservations in `lost` are waited for in vain, and none is where it is None."""
        payers = payers_in(books.lock().rows, order.dataset, order.analyst)
        claim = None if order.request is None else books.find_claim(order.request.key)
        if claim is not None:
            return self._resume(books, order, *claim)
        key = order.answer_key(payers[-1].analyst)
        found, running = (None, None) if key is None else books.find_answer(key)
        if found is not None and usable(found.content["answer"]):
            books.post(order.served_again_draft(found), self._clock())
            return found
        if running is not None and lost is not None and running.sequence not in lost:
            return _Running(running)
        return self._reserve(books, order, choose)

    def _resume(
        self, books: Books, order: LedgerRequest, claim: Entry, following: list[Entry]
    ) -> Entry | Receipt | _Running:
        """What was asked under the key of this request before: its answer, or that it may still come."""
        settled = settled_in(order.request, claim, following)
        if settled is not None:
            return check_unedited(settled, self.address)
        if following or not claim.is_reserved_ahead:
            return _Running(claim, is_claimed=True)
        if canonical_json({**order.question, "ahead": True}) != canonical_json(claim.content["question"]):
            raise LedgerError(f"reservation {claim.sequence} was made ahead for another question: give it back first")
        return self._begin(books, claim)

    def wait_for_end(self, reserved: Entry, patience: float) -> Entry | None:
        """What ended a reservation, now or while it is younger than `patience` seconds; None where nothing did.

        One that this process knows to be lost is not waited for.
        """
        end = time.monotonic() + patience
        while True:
            found = self._read_entry(_ENDING, wanted=reserved.sequence)
            age = (self._clock() - datetime.fromisoformat(reserved.time)).total_seconds()
            waits = age < patience and time.monotonic() < end and reserved.sequence not in self._lost
            if found is not None or not waits:
                return found
            time.sleep(_POLL)

    def note_lost(self, receipt: Receipt) -> None:
        """Let no question of this process wait for a reservation whose question has failed."""
        self._lost.add(receipt.number)

    def is_lost(self, number: int) -> bool:
        """Whether this process knows that the question of a reservation has failed."""
        return number in self._lost

    def find_request(self, request: RequestKey, patience: float = 0.0) -> Entry | None:
        """The settled entry of what was asked under a key, waited for as in `find_or_reserve`; None where nothing was.

        Raises:
            RequestRefused: Another question was asked under it, or this one in vain.
        """
        claim = self.database.read(lambda connection: Books(connection, self.address).find_claim(request.key))
        if claim is None or (claim[0].is_reserved_ahead and not claim[1]):
            return None
        settled = settled_in(request, *claim)
        ended = settled or self.wait_for_end(claim[0], patience)
        if ended is None:
            raise RequestRefused("unfinished")
        return check_unedited(ended, self.address) if ended.kind == "settled" else None

    def cancel_request(self, key: str, by: str) -> Entry | None:
        """Let nothing be asked under a key any more. Where something was, its reservation, or what settled it."""

        def change(books: Books) -> Entry | None:
            claim = books.lock().find_claim(key)
            if claim is None:
                books.post(Draft("cancelled", "", details={"by": by}, request=key), self._clock())
            if claim is None or claim[0].kind == "cancelled":
                return None
            return next((one for one in claim[1] if one.kind == "settled"), claim[0])

        return self.database.write(change)

    def editions(self, dataset: str) -> dict[str, tuple[Entry, list[Entry]]]:
        """The reservations of editions of reports, by the key of their request, and what took up or ended each; the
        newest of each key, unless it was given back."""

        def read(connection: Connection) -> dict[str, tuple[Entry, list[Entry]]]:
            reserved = select(entries).where(tables.is_edition(), entries.c.dataset == dataset)
            numbers = select(entries.c.sequence).where(tables.is_edition(), entries.c.dataset == dataset)
            ended = or_(tables.is_ending(), tables.is_beginning())
            following: dict[int | None, list[Entry]] = {}
            for one in map(to_entry, connection.execute(select(entries).where(entries.c.receipt.in_(numbers), ended))):
                following.setdefault(one.receipt, []).append(one)
            found = {}
            for one in map(to_entry, connection.execute(reserved.order_by(entries.c.sequence))):
                ending = following.get(one.sequence, [])
                if all(other.kind != "voided" for other in ending):
                    found[str(one.request)] = (one, ending)
            return found

        return self.database.read(read)

    def _reserve(self, books: Books, order: LedgerRequest, choose: Choose) -> Receipt | BudgetExhausted:
        rows = books.lock().rows
        payers = payers_in(rows, order.dataset, order.analyst)
        user = user_of_question(order.question)
        check_user(order.dataset, payers[0].user, user)
        charged = [charged_accounts_in(rows, payer, order.reach) for payer in payers]
        try:
            cost, k = choose([part for one in charged for part in one.parts])
            held = _hold_in_all_accounts(charged, cost)
        except BudgetExhausted as refusal:
            self._record_refusal(books, order, payers[-1], refusal)
            return refusal
        amounts = [amount for _, amount in held]
        key = order.answer_key(payers[-1].analyst)
        details = order.question_fields(k) | _charge(amounts)
        once = None if order.request is None else order.request.key
        draft = Draft("reserved", order.dataset, order.analyst, None, key, details, request=once)
        changed = _with_user([account for one, _ in held for account in one.accounts], payers[0], user)
        entry = books.post(draft, self._clock(), changed)
        own = entry.number
        return Receipt(entry.sequence, entry.hash, order.dataset, order.analyst, amounts[-1], k, order.reach, own)

    def _record_refusal(self, books: Books, order: LedgerRequest, payer: Account, refusal: BudgetExhausted) -> None:
        """Write a refusal in full, or count it where the account has had many on this day: they cost nothing, so
        nothing else bounds them. The first of a later day states how many were only counted."""
        now = self._clock()
        number, before = books.count_refusal((payer.dataset, payer.analyst or DATASET), utc_text(now)[:10])
        if number > LISTED_REFUSALS:
            return
        draft = order.refusal_draft(refusal)
        if before is not None and before[1] > LISTED_REFUSALS:
            unlisted = {"day": before[0], "number": before[1] - LISTED_REFUSALS}
            draft = replace(draft, details={**(draft.details or {}), "unlisted": unlisted})
        books.post(draft, now)

    def begin(self, number: int, question: Mapping[str, Any]) -> Receipt | None:
        """Take up a reservation that was made ahead, which happens once, and before a row is read: what settles it.
        None where it was made for another question, or not ahead; nothing happens then."""

        def change(books: Books) -> Receipt | None:
            entry, following = books.find_reservation(number)
            if entry is None or not entry.is_reserved_ahead or entry.content["question"] != question:
                return None
            if following:
                raise AlreadyTakenUp(f"reservation {number} was taken up or given back already; it is taken up once")
            return self._begin(books, entry)

        return self.database.write(change)

    def _begin(self, books: Books, entry: Entry) -> Receipt:
        number = entry.sequence
        (whole,) = payers_in(books.rows, entry.dataset, None)
        draft = Draft("begun", entry.dataset, entry.analyst, number, entry.answer_key, number=entry.number)
        books.post(draft, self._clock())
        held, reach = entry.charge_of(entry.analyst), _period_charge_of(entry.content, whole.balance.budget)
        return Receipt(number, entry.hash, entry.dataset, entry.analyst, held, None, reach, entry.number)

    def settle(self, receipt: Receipt, cost: Cost, answer: object) -> Settlement:
        """Turn the reservation into what was in fact paid, and keep the answer."""

        def change(books: Books) -> Settlement:
            entry, charged = self._open_reservation(books, receipt)
            settled = [one.settle(reserved, cost) for one, reserved in charged]
            details = {**_charge([paid for _, paid in settled]), "answer": answer}
            changed = [account for one, _ in settled for account in one.accounts]
            books.post(_ending_draft(entry, "settled", entry.answer_key, details), self._clock(), changed)
            own, paid = settled[-1]
            return Settlement(paid, own.smallest_balance)

        return self.database.write(change)

    def void(self, receipt: Receipt) -> None:
        """Give a reservation back in full."""

        def change(books: Books) -> None:
            entry, charged = self._open_reservation(books, receipt)
            returned = [one.give_back(reserved) for one, reserved in charged]
            nothing = _charge([zero_amount(one.payer.balance.budget.limit.units) for one in returned])
            changed = [account for one in returned for account in one.accounts]
            books.post(_ending_draft(entry, "voided", None, nothing), self._clock(), changed)

        self.database.write(change)

    def _open_reservation(self, books: Books, receipt: Receipt) -> tuple[Entry, list[tuple[ChargedAccounts, Amount]]]:
        """A reservation that has not ended, the accounts that it was charged to, and each payer's part.

        One that was made ahead must have been taken up: `begin` is what makes sure that it is used once.
        """
        entry, following = books.find_reservation(receipt.number)
        if entry is None or entry.hash != receipt.hash:
            raise LedgerError("this receipt is not from this ledger: settle where you reserved")
        for ending in (one for one in following if one.kind in ENDINGS):
            done = "is settled already; it is settled once" if ending.kind == "settled" else "was given back already"
            raise LedgerError(f"reservation {receipt.number} {done}")
        content = entry.content
        if is_ahead(content) and not following:
            raise LedgerError(f"reservation {receipt.number} was made ahead and is not taken up: `begin` it first")
        amounts = content["charge"]
        payers = stored_payers_in(books.rows, entry.dataset, entry.analyst)[: len(amounts)]
        if len(payers) < len(amounts):
            raise LedgerError(f"ledger {self.address}: an account was removed; run `crestline ledger verify`")
        charged = []
        for payer, exact in zip(payers, amounts, strict=True):
            budget = payer.balance.budget
            accounts = charged_accounts_in(books.rows, payer, _period_charge_of(content, budget))
            charged.append((accounts, Amount.from_json(exact, budget.limit.units)))
        return entry, charged

    def find_answer(self, order: LedgerRequest, *, usable: Usable, record: bool) -> Entry | None:
        """The settled entry that answers the same question on the same data version; serving it is recorded."""
        if order.data_version is None:
            return None

        def find(connection: Connection) -> Entry | None:
            rows = load_payer_rows(connection, order.dataset, order.analyst, whole=False)
            key = order.answer_key(payers_in(rows, order.dataset, order.analyst)[-1].analyst)
            return next(map(to_entry, connection.execute(ANSWER, {"wanted": key})), None)

        found = self.database.read(find)
        if found is None or not usable(check_unedited(found, self.address).content["answer"]):
            return None
        if record:
            self.database.write(lambda books: books.post(order.served_again_draft(found), self._clock()))
        return found

    # What it says

    def datasets(self) -> list[str]:
        """Every data set that has a budget."""
        accounts = tables.accounts.c
        names = select(accounts.dataset).where(accounts.analyst == DATASET).order_by(accounts.dataset)
        return self.database.read(lambda connection: [str(name) for name in connection.execute(names).scalars()])

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """All accounts, or those of one data set, its own first."""
        return accounts_in(self.database.read(lambda connection: load_rows(connection, dataset, whole=False)))

    def payers(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts that a question of this analyst is charged to."""
        rows = self.database.read(lambda connection: load_payer_rows(connection, dataset, analyst, whole=False))
        return payers_in(rows, dataset, analyst)

    def charged_accounts(self, dataset: str, analyst: str | None, reach: PeriodCharge | None) -> list[ChargedAccount]:
        """The accounts that a question about these periods is charged to, and how many times."""
        rows = self.database.read(lambda connection: load_payer_rows(connection, dataset, analyst, whole=True))
        payers = payers_in(rows, dataset, analyst)
        return [part for payer in payers for part in charged_accounts_in(rows, payer, reach).parts]

    def periods(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts of all periods, then of all windows, that were asked about; the payer's own."""
        rows = self.database.read(lambda connection: load_payer_rows(connection, dataset, analyst, whole=True))
        return period_accounts_in(rows, payers_in(rows, dataset, analyst)[-1])

    def entry(self, sequence: int) -> Entry | None:
        """The entry with this number."""
        return self._read_entry(select(entries).where(entries.c.sequence == sequence))

    def settlement(self, receipt: int) -> Entry | None:
        """The entry that settled this reservation."""
        return self._read_entry(SETTLEMENT, wanted=receipt)

    def reservation_of_number(self, analyst: str, number: int) -> int | None:
        """The reservation that an analyst knows by this number of their own."""
        own = (entries.c.analyst == analyst, entries.c.number == number, entries.c.kind == "reserved")
        found = self._read_entry(select(entries).where(*own))
        return None if found is None else found.sequence

    def open_reservations(self, dataset: str | None = None) -> list[Entry]:
        """Reservations that were never settled; they stay charged."""
        query = _select_open_reservations().where(entries.c.kind == "reserved")
        return self._read_entries(query if dataset is None else query.where(entries.c.dataset == dataset))

    def reserved_ahead(self, dataset: str | None = None) -> list[Entry]:
        """Those of the open reservations that were made ahead, for a question that has not been asked yet."""
        begun = entries.alias()
        taken_up = select(begun.c.sequence).where(begun.c.receipt == entries.c.sequence, tables.is_beginning(begun))
        query = _select_open_reservations().where(entries.c.kind == "reserved", ~taken_up.exists())
        found = self._read_entries(query if dataset is None else query.where(entries.c.dataset == dataset))
        return [entry for entry in found if entry.is_reserved_ahead]

    def entries(self, dataset: str | None = None, last: int | None = None, analyst: str | None = None) -> list[Entry]:
        """Entries in order; only those of one data set, of one analyst, only the last ones, if asked for."""
        query = select(entries).order_by(entries.c.sequence.desc()).limit(last)
        for column, wanted in ((entries.c.dataset, dataset), (entries.c.analyst, analyst)):
            query = query if wanted is None else query.where(column == wanted)
        return self._read_entries(query)[::-1]

    def entries_with_key(self, key: str) -> list[Entry]:
        """The entries under this key."""
        return self._read_entries(_WITH_KEY, wanted=key)

    def entries_about_tokens(self) -> list[Entry]:
        """The entries that made or ended a token of the service, in order."""
        return self._read_entries(select(entries).where(tables.is_about_token()).order_by(entries.c.sequence))

    def read_all_entries(self, work: Callable[[Iterator[Entry]], T]) -> T:
        """Hand all entries, of one moment, to `work`, which need not keep them, and return its result."""
        return self.database.read(lambda connection: work(_all_entries(connection)))

    def _read_entries(self, query: Executable, **wanted: object) -> list[Entry]:
        return self.database.read(lambda connection: [to_entry(row) for row in connection.execute(query, wanted)])

    def _read_entry(self, query: Executable, **wanted: object) -> Entry | None:
        return next(iter(self._read_entries(query, **wanted)), None)

    # Checks

    def checksum(self) -> str:
        """How long the ledger is, and the hash of the last entry: kept elsewhere, it makes any rewriting visible."""
        head = self.database.read(read_head)
        return f"{head.length}:{head.hash}"

    def verify(self, checksum: str | None = None) -> Verification:
        """Check every entry, balance and user column against each other, all as of one moment."""

        def check(connection: Connection) -> Verification:
            head, rows = read_head(connection), load_rows(connection)
            balances, users = balances_in(rows), users_in(rows)
            return verify(_all_entries(connection), head.length, head.hash, balances, users, checksum)

        return self.database.read(check)

    def refuse_damaged(self, signer: Signer | None = None) -> None:
        """Check everything, and refuse a ledger that does not hold.

        With a `signer`, whose key is not in the database, what holds is remembered there, and what was remembered is
        not read again: entries are checked from there on, and all balances. An older entry that is edited afterwards
        is found where it is used, and by `verify`.
        """

        def check(connection: Connection) -> tuple[Verification, int, ChainAudit]:
            audit = ChainAudit() if signer is None else _remembered_audit(connection, signer)
            start = audit.length
            head, rows = read_head(connection), load_rows(connection)
            for entry in _all_entries(connection, start):
                audit.check_entry(entry)
            return audit.close(head.length, head.hash, balances_in(rows), users_in(rows)), start, audit

        found, start, audit = self.database.read(check)
        if found.ok and signer is not None and audit.length - start >= _REMEMBERED:
            statement = signer.dumps(audit.to_text())
            self.database.write(lambda books: _remember(books.connection, str(statement)))
        if not found.ok:
            raise LedgerError(
                f"ledger {self.address} does not hold: {found.findings[0]} ({len(found.findings)} found). Run "
                "`crestline ledger verify`, and put the newest copy back"
            )


def settled_in(request: RequestKey | None, claim: Entry, following: list[Entry]) -> Entry | None:
    """The settled entry of what was asked under a key, if there is one.

    Raises:
        RequestRefused: Another question was asked under it, or it was cancelled.
    """
    if claim.kind == "cancelled":
        raise RequestRefused("cancelled")
    if request is not None and claim.content.get("asked") != request.asked:
        raise RequestRefused("conflict")
    return next((one for one in following if one.kind == "settled"), None)


def _refuse_opening(books: Books, rows: Rows, account: Account) -> None:
    """Refuse to open a budget that is open already, or comes too late."""
    dataset, analyst = account.dataset, account.analyst
    if account.key in rows:
        raise LedgerError(f"{account.title} is open already, and is never changed: use it, or another name")
    if analyst is None:
        return
    known = stored_payers_in(rows, dataset, None)
    if not known:
        raise no_budget_error(dataset)
    check_same_calendar(known[0].balance.budget, account.balance.budget)
    if books.has_asked(dataset, analyst):
        raise LedgerError(f"{account.title} comes too late: {analyst!r} has been answered already")


def _with_user(changed: list[Account], whole: Account, user: str | None) -> list[Account]:
    """The accounts to write; the first question that names a user column fixes it for the data set."""
    if user is None or whole.user is not None:
        return changed
    own = next((account for account in changed if account.key == whole.key), whole)
    return [*(account for account in changed if account.key != whole.key), replace(own, user=user)]


def _witness_draft(witness: Witness, before: str | None, by: str | None = None) -> Draft:
    """That a witness is kept from now on, and its name; of one that knew another chain, what it knew, and who says that
    this chain holds."""
    accepted = {} if by is None else {"by": by}
    return Draft("witnessed", "", details={"name": witness_name(witness), "knew": before, **accepted})


def _hold_in_all_accounts(payers: list[ChargedAccounts], cost: Cost) -> list[tuple[ChargedAccounts, Amount]]:
    """What every payer holds. The account of the asker is asked first: what it lacks needs no other to explain."""
    own = payers[-1].hold(cost)
    try:
        return [*(one.hold(cost) for one in payers[:-1]), own]
    except BudgetExhausted as refusal:
        refusal.shared = True
        raise


def _period_charge_of(content: Mapping[str, Any], budget: Budget) -> PeriodCharge | None:
    """The periods that a reservation was for."""
    return PeriodCharge.from_json(content["periods"], budget) if "periods" in content else None


def _charge(amounts: list[Amount]) -> dict[str, Any]:
    """One amount for each payer: the data set first, then the analyst."""
    return {"charge": [amount.to_json() for amount in amounts]}


def _ending_draft(reserved: Entry, kind: EntryKind, key: str | None, details: dict[str, Any]) -> Draft:
    """The entry that ends a reservation."""
    return Draft(kind, reserved.dataset, reserved.analyst, reserved.sequence, key, details, reserved.number)


def _select_open_reservations() -> Select[tuple[object, ...]]:
    """Entries that no other ends, in order."""
    ended = entries.alias()
    ending = select(ended.c.sequence).where(ended.c.receipt == entries.c.sequence, tables.is_ending(ended))
    return select(entries).where(~ending.exists()).order_by(entries.c.sequence)


def _all_entries(connection: Connection, after: int = 0) -> Iterator[Entry]:
    few, newer = connection.execution_options(yield_per=1000), entries.c.sequence > after
    query = select(entries).order_by(entries.c.sequence)
    return (to_entry(row) for row in few.execute(query.where(newer) if after else query))


def _remembered_audit(connection: Connection, signer: Signer) -> ChainAudit:
    """The check that was remembered, or a new one where none was, or by another hand, or entries of it are gone."""
    statement = connection.execute(select(tables.verified.c.statement)).scalar()
    with suppress(BadData, *UNREADABLE):
        audit = ChainAudit.from_text(str(signer.loads(statement or "")))
        older = select(func.count()).select_from(entries).where(entries.c.sequence <= audit.length)
        if connection.execute(older).scalar() == audit.length:
            return audit
    return ChainAudit()


def _remember(connection: Connection, statement: str) -> None:
    connection.execute(delete(tables.verified))
    connection.execute(insert(tables.verified), {"id": 1, "statement": statement})


_WITH_KEY = select(entries).where(entries.c.answer_key == bindparam("wanted")).order_by(entries.c.sequence)
_ENDING = select(entries).where(entries.c.receipt == bindparam("wanted"), tables.is_ending())
_REMEMBERED = 100  # new entries that are worth another statement
_POLL = 0.05  # seconds between two looks whether a reservation has ended
