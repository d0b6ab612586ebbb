"""The service's own tables: they have a version, older ones are brought up to date, newer ones are refused."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from crestline.errors import LedgerError
from crestline.ledger.storage.addresses import open_database
from crestline.ledger.storage.store import Store
from crestline.web.access.tokens import Tokens
from crestline.web.schema import VERSION, metadata, open_tables

# What a service of version 1 made: no version, no expiry.
FIRST = (
    "CREATE TABLE crestline_tokens (id TEXT NOT NULL PRIMARY KEY, analyst TEXT NOT NULL, salt TEXT NOT NULL, "
    "hash TEXT NOT NULL, created TEXT NOT NULL, revoked TEXT)",
    "CREATE TABLE crestline_sessions (id TEXT NOT NULL PRIMARY KEY, token TEXT NOT NULL, ends TEXT NOT NULL)",
    "CREATE TABLE crestline_requests (key TEXT NOT NULL PRIMARY KEY, question TEXT NOT NULL, outcome TEXT, "
    "created TEXT NOT NULL)",
)


def now() -> datetime:
    return datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    address = str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_database")
    Store.create(address, now, 5.0).close()
    return str(address)


def shapes(connection: Connection) -> dict[str, tuple[set[str], set[str]]]:
    """The columns and the indexes of every table of the service."""
    found = inspect(connection)
    return {
        name: (
            {column["name"] for column in found.get_columns(name)},
            {str(index["name"]) for index in found.get_indexes(name)},
        )
        for name in metadata.tables
    }


def test_tables_of_version_1_are_brought_up_to_date_and_tokens_hold(ledger: str, tmp_path: Path) -> None:
    Store.create(str(tmp_path / "new.db"), now, 5.0).close()
    new = open_tables(str(tmp_path / "new.db"))
    token = Tokens(new, now).create("ann")
    row = new.read(lambda connection: connection.execute(text("SELECT * FROM crestline_tokens")).mappings().one())
    old = open_database(ledger, create=False, timeout=5.0)

    def build(connection: Connection) -> None:
        for statement in FIRST:
            connection.execute(text(statement))
        kept = "INSERT INTO crestline_tokens VALUES (:id, :analyst, :salt, :hash, :created, :revoked)"
        connection.execute(text(kept), dict(row))

    old.write(build)
    old.close()
    tables = open_tables(ledger)
    open_tables(ledger).close()  # once is enough
    assert tables.read(shapes) == new.read(shapes)
    assert Tokens(tables, now).find_holder(token) == (row["id"], "ann")
    tables.close()
    new.close()


def test_tables_of_a_newer_service_are_refused(ledger: str) -> None:
    tables = open_tables(ledger)
    newer = text(f"UPDATE crestline_service SET version = {VERSION + 1}")
    tables.write(lambda connection: connection.execute(newer))
    tables.close()
    with pytest.raises(LedgerError, match=r"written by a newer crestline .* upgrade"):
        open_tables(ledger)
