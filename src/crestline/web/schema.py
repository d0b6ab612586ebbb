"""What the service keeps beside the ledger, in the same database: hashed tokens, sessions, requests that carry a key.

So every process on every host that shares a ledger shares these too, and one backup holds all of it. The tables have a
version of their own, which `open_tables` brings up to date.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime

from sqlalchemy import Column, Connection, Index, MetaData, Table, Text, insert, inspect, select, text, update

from crestline.errors import LedgerError
from crestline.ledger.entries import Draft, canonical_json
from crestline.ledger.storage.addresses import open_database
from crestline.ledger.storage.database import Database
from crestline.ledger.storage.queries import append, lock
from crestline.ledger.storage.schema import entries, version_table
from crestline.web.utc_clock import utc_now

VERSION = 6

metadata = MetaData()

service = version_table("crestline_service", metadata)

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
    """The tables of the service at a ledger's address, of this version. The ledger must be there already."""
    return service_tables(open_database(ledger, create=False, timeout=timeout))


def service_tables(database: Database) -> Database:
    """The same in the database of a ledger that is open already: its witness, if it has one, is told of tokens, too."""

    def build(connection: Connection) -> None:
        lock(connection)  # two servers that start at once wait for each other
        stored = _version(connection)
        if stored > VERSION:
            raise LedgerError(
                f"ledger {database.address}: the service's tables were written by a newer crestline (version {stored}, "
                f"this one knows {VERSION}): upgrade crestline"
            )
        _migrate(connection, stored)

    database.write(build)
    return database


def _version(connection: Connection) -> int:
    """The version of the tables that are there; 0 where there are none."""
    present = inspect(connection)
    if present.has_table(service.name):
        return int(connection.execute(select(service.c.version)).scalar_one())
    return 1 if present.has_table(tokens.name) else 0


def _migrate(connection: Connection, stored: int) -> None:
    """Make what is missing, in the transaction of the connection: all of it, or nothing."""
    if stored == VERSION:
        return
    for step in range(stored, VERSION) if stored else ():
        if step in MIGRATIONS:
            MIGRATIONS[step](connection)
    metadata.create_all(connection)
    for index in _INDEXES:
        connection.execute(text(index))
    if stored < 2:  # the table that holds the version is new
        connection.execute(insert(service).values(id=1, version=VERSION))
    else:
        connection.execute(update(service).values(version=VERSION))


def _add_expiry(connection: Connection) -> None:
    """Version 1 kept no version, and its tokens never expired."""
    metadata.create_all(connection, tables=[sessions, requests])  # checkouts from before 0.1 had tokens alone
    connection.execute(text("ALTER TABLE crestline_tokens ADD COLUMN expires TEXT"))
    connection.execute(text("CREATE INDEX IF NOT EXISTS crestline_requests_created ON crestline_requests (created)"))


TOKEN = ("id", "analyst", "salt", "hash", "revoked", "expires")  # what the chain says of a token


def token_entry_key(number: str) -> str:
    """Under which the entries about a token are found."""
    return f"token:{number}"


def note_token(connection: Connection, row: Mapping[str, object], time: datetime) -> None:
    """Write what holds of a token from now on into the chain. A row that says anything else is not believed."""
    details = {"token": {name: row[name] for name in TOKEN}}
    draft = Draft("token", "", None, None, token_entry_key(str(row["id"])), details)
    append(connection, lock(connection), draft, time)


def _chain_old_tokens(connection: Connection) -> None:
    """Version 3 kept tokens in their table alone: those that are there are believed this once."""
    for row in connection.execute(select(tokens).order_by(tokens.c.created)).mappings().all():
        note_token(connection, {name: row[name] for name in TOKEN}, utc_now())


def _renumber_outcomes(connection: Connection) -> None:
    """Version 4 kept what requests came to with the numbers of the ledger's entries: analysts are told their own."""
    kept = select(requests.c.key, requests.c.outcome).where(requests.c.outcome.is_not(None))
    for key, text_of_it in connection.execute(kept).all():
        outcome = json.loads(text_of_it)
        known = select(entries.c.number).where(entries.c.sequence == outcome["body"].get("id"))
        number = connection.execute(known).scalar()
        if number is not None:
            body = {**outcome["body"], "id": number}
            if body.get("bill"):
                body["bill"] = {**body["bill"], "receipt": number}
            changed = update(requests).where(requests.c.key == key)
            connection.execute(changed.values(outcome=canonical_json({**outcome, "body": body})))


# The newest entries of one analyst, of one data set, and of one analyst there: a page that shows a few of them reads no
# others, however long the ledger is. The entries are the ledger's, and it does without these indexes.
_INDEXES = (
    "CREATE INDEX IF NOT EXISTS crestline_entries_asked ON crestline_entries (analyst, sequence)",
    "CREATE INDEX IF NOT EXISTS crestline_entries_of ON crestline_entries (dataset, sequence)",
    "CREATE INDEX IF NOT EXISTS crestline_entries_asked_of ON crestline_entries (dataset, analyst, sequence)",
)

# Version n to n + 1.
MIGRATIONS: dict[int, Callable[[Connection], None]] = {
    1: _add_expiry,
    2: lambda connection: None,  # version 3 has one more index
    3: _chain_old_tokens,
    4: _renumber_outcomes,
    5: lambda connection: None,  # version 6 has two more indexes
}
