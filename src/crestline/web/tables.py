"""What the service keeps beside the ledger, in the same database: hashed tokens, sessions, requests that carry a key.

So every process on every host that shares a ledger shares these too, and one backup holds all of it.
"""

from __future__ import annotations

from sqlalchemy import Column, Connection, MetaData, Table, Text

from crestline.ledger.storage.database import Database, open_database
from crestline.ledger.storage.records import lock

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


def open_tables(ledger: str, *, timeout: float = 30.0) -> Database:
    """The tables of the service at a ledger's address. The ledger must be there already."""
    database = open_database(ledger, create=False, timeout=timeout)

    def build(connection: Connection) -> None:
        lock(connection)  # two servers that start at once wait for each other
        metadata.create_all(connection)

    database.write(build)
    return database
