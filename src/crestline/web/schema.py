"""What the service keeps beside the ledger, in the same database: requests that carry a key.

So every process on every host that shares a ledger shares these too, and one backup holds all of it.
"""

from __future__ import annotations

from sqlalchemy import Column, Index, MetaData, Table, Text

from crestline.ledger.storage.addresses import open_database
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database

metadata = MetaData()

requests = Table(
    "crestline_requests",
    metadata,
    Column("key", Text, primary_key=True),
    Column("question", Text, nullable=False),
    Column("outcome", Text),  # empty: begun, and not ended (or not yet)
    Column("created", Text, nullable=False),
)
Index("crestline_requests_created", requests.c.created)


def open_tables(ledger: str, *, timeout: float = 30.0) -> Database:
    """The tables of the service at a ledger's address. The ledger must be there already."""
    return service_tables(open_database(ledger, create=False, timeout=timeout))


def service_tables(database: Database) -> Database:
    """The same in the database of a ledger that is open already."""

    def build(books: Books) -> None:
        books.lock()  # two servers that start at once wait for each other
        metadata.create_all(books.connection)

    database.write(build)
    return database
