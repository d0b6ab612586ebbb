"""What a ledger says: each method reads one consistent snapshot of its database, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import Connection, select

from crestline.errors import LedgerError
from crestline.ledger.entries import Entry
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.storage import queries, schema
from crestline.ledger.storage.charged_accounts import ChargedAccount, load_charged_accounts, load_periods
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.queries import Account, payers_or_refuse
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
        return self._database.read(lambda connection: queries.load_settlement(connection, receipt))

    def reservation_of_number(self, analyst: str, number: int) -> int | None:
        """The reservation that an analyst knows by this number of their own."""
        return self._database.read(lambda connection: queries.reservation_of_number(connection, analyst, number))

    def entry(self, sequence: int) -> Entry | None:
        """The entry with this number."""
        return self._database.read(lambda connection: queries.load_entry(connection, sequence))

    def datasets(self) -> list[str]:
        """Every data set that has a budget."""
        return self._database.read(queries.dataset_names)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """All accounts, or those of one data set, its own first."""
        return self._database.read(lambda connection: queries.load_accounts(connection, dataset))

    def payers(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts that a question of this analyst is charged to."""
        return self._database.read(lambda connection: load_payers_or_refuse(connection, dataset, analyst))

    def charged_accounts(self, dataset: str, analyst: str | None, reach: PeriodCharge | None) -> list[ChargedAccount]:
        """The accounts that a question about these periods is charged to, and how many times."""

        def load_accounts(connection: Connection) -> list[ChargedAccount]:
            payers = load_payers_or_refuse(connection, dataset, analyst)
            return [part for payer in payers for part in load_charged_accounts(connection, payer, reach).parts]

        return self._database.read(load_accounts)

    def periods(self, dataset: str, analyst: str | None) -> list[Account]:
        """The accounts of all periods, then of all windows, that were asked about; the payer's own."""

        def work(connection: Connection) -> list[Account]:
            return load_periods(connection, load_payers_or_refuse(connection, dataset, analyst)[-1])

        return self._database.read(work)

    def open_reservations(self, dataset: str | None = None) -> list[Entry]:
        """Reservations that were never settled; they stay charged."""
        return self._database.read(lambda connection: queries.open_reservations(connection, dataset))

    def reserved_ahead(self, dataset: str | None = None) -> list[Entry]:
        """Those of the open reservations that were made ahead, for a question that has not been asked yet."""

        def work(connection: Connection) -> list[Entry]:
            taken = queries.numbers_taken_up(connection)
            found = queries.open_reservations(connection, dataset)
            return [entry for entry in found if entry.is_reserved_ahead and entry.sequence not in taken]

        return self._database.read(work)

    def entries(self, dataset: str | None = None, last: int | None = None, analyst: str | None = None) -> list[Entry]:
        """Entries in order; only those of one data set, of one analyst, only the last so many, if asked for."""
        query = select(schema.entries).order_by(schema.entries.c.sequence.desc()).limit(last)
        if dataset is not None:
            query = query.where(schema.entries.c.dataset == dataset)
        if analyst is not None:
            query = query.where(schema.entries.c.analyst == analyst)
        found = self._database.read(lambda connection: [queries.to_entry(row) for row in connection.execute(query)])
        return found[::-1]

    def checksum(self) -> str:
        """How long the ledger is, and the hash of the last entry: kept elsewhere, it makes any rewriting visible."""
        head = self._database.read(queries.load_head)
        return f"{head.length}:{head.hash}"

    def verify(self, checksum: str | None = None) -> Verification:
        """Check every entry, balance and user column against each other, all as of one moment."""

        def check(connection: Connection) -> Verification:
            head, balances = queries.load_head(connection), queries.load_balances(connection)
            users = queries.load_users(connection)
            return verify(queries.all_entries(connection), head.length, head.hash, balances, users, checksum)

        return self._database.read(check)

    def read_all_entries(self, work: Callable[[Iterator[Entry]], T]) -> T:
        """Hand all entries, of one moment, to `load_accounts`, which need not keep them."""
        return self._database.read(lambda connection: work(queries.all_entries(connection)))

    def refuse_damaged(self) -> None:
        """Check everything, and refuse a ledger that does not hold."""
        found = self.verify()
        if not found.ok:
            raise LedgerError(
                f"ledger {self.address} does not hold: {found.findings[0]} ({len(found.findings)} found). Run "
                "`crestline ledger verify`, and put the newest copy back"
            )


def load_payers_or_refuse(connection: Connection, dataset: str, analyst: str | None) -> list[Account]:
    """Who pays: the data set, and the analyst if budgets for analysts are kept under it."""
    known = queries.load_payers(connection, dataset, analyst)
    return payers_or_refuse(known, dataset, analyst, lambda: queries.has_analysts(connection, dataset))
