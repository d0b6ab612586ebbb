"""What a ledger says: each method reads one consistent snapshot of its database, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import Connection, select

from crestline.errors import LedgerError
from crestline.ledger.entries import Entry
from crestline.ledger.periods import Reach
from crestline.ledger.storage import records, schema
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.drawn import Part, drawn_from, load_periods
from crestline.ledger.storage.records import Account, checked_payers
from crestline.ledger.verify import Verification, verify

T = TypeVar("T")


class StoreReader:
    """The accounts and entries of a ledger in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

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

    def settlement(self, receipt: int) -> Entry | None:
        """The entry that settled this reservation."""
        return self._database.read(lambda connection: records.settlement_of(connection, receipt))

    def reservation_told(self, analyst: str, number: int) -> int | None:
        """The reservation that an analyst knows by this number of their own."""
        return self._database.read(lambda connection: records.reservation_told(connection, analyst, number))

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
        return self._database.read(lambda connection: payers_of(connection, dataset, analyst))

    def drawn(self, dataset: str, analyst: str | None, reach: Reach | None) -> list[Part]:
        """The accounts that a question about these periods is charged to, and how many times."""

        def work(connection: Connection) -> list[Part]:
            payers = payers_of(connection, dataset, analyst)
            return [part for payer in payers for part in drawn_from(connection, payer, reach).parts]

        return self._database.read(work)

    def periods(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts of all periods, then of all windows, that were asked about; the payer's own."""

        def work(connection: Connection) -> list[Account]:
            return load_periods(connection, payers_of(connection, dataset, analyst)[-1])

        return self._database.read(work)

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

    def refuse_damaged(self) -> None:
        """Check everything, and refuse a ledger that does not hold."""
        found = self.verify()
        if not found.ok:
            raise LedgerError(
                f"ledger {self.address} does not hold: {found.findings[0]} ({len(found.findings)} found). Run "
                "`crestline ledger verify`, and put the newest copy back"
            )


def payers_of(connection: Connection, dataset: str, analyst: str | None) -> list[Account]:
    """Who pays: the data set, and the analyst if budgets for analysts are kept under it."""
    known = records.load_payers(connection, dataset, analyst)
    return checked_payers(known, dataset, analyst, lambda: records.has_analysts(connection, dataset))
