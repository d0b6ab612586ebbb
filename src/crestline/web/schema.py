"""What the service keeps beside the ledger, in the same database: hashed tokens, sessions, requests that carry a key.

So every process on every host that shares a ledger shares these too, and one backup holds all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Column, Index, MetaData, Table, Text

from crestline.ledger.entries import Draft
from crestline.ledger.storage.addresses import open_database
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database

metadata = MetaData()

tokens = Table(
    "crestline_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("analyst", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("revoked", Text),
    Column("expires", Text),  # empty: never
)

sessions = Table(
    "crestline_sessions",
    metadata,
    Column("id", Text, primary_key=True),  # a hash of the cookie
    Column("token", Text, nullable=False),
    Column("ends", Text, nullable=False),
)

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
    """The same in the database of a ledger that is open already: its witness, if it has one, is told of tokens, too."""

    def build(books: Books) -> None:
        books.lock()  # two servers that start at once wait for each other
        metadata.create_all(books.connection)

    database.write(build)
    return database


TOKEN = ("id", "analyst", "salt", "hash", "revoked", "expires")  # what the chain says of a token


def token_entry_key(number: str) -> str:
    """Under which the entries about a token are found."""
    return f"token:{number}"


def note_token(books: Books, row: Mapping[str, object], time: datetime) -> None:
    """Write what holds of a token from now on into the chain. A row that says anything else is not believed."""
    details = {"token": {name: row[name] for name in TOKEN}}
    books.post(Draft("token", "", None, None, token_entry_key(str(row["id"])), details), time)
