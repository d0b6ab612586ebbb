"""The tables of a ledger: their version is checked, also while a program runs, and what must be unique is."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Dialect
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.ledger.conftest import drawn, small_budget

from crestline.errors import LedgerError
from crestline.ledger.entries import GENESIS
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage import books, tables
from crestline.ledger.storage.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "ledger.db"
    with Ledger.create(file, small_budget()) as ledger:
        ledger.settle(ledger.reserve(drawn(3)), drawn(2))
    return file


def stored(path: Path, query: str) -> object:
    raw = sqlite3.connect(path)
    try:
        return raw.execute(query).fetchone()[0]
    finally:
        raw.close()


def set_version(path: Path, version: int) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE crestline_books SET version = ?", (version,))
    raw.close()


@pytest.mark.parametrize(("step", "advice"), [(1, "upgrade crestline"), (-1, "use the release that wrote it")])
def test_ledgers_of_another_version(path: Path, step: int, advice: str) -> None:
    set_version(path, tables.VERSION + step)
    with pytest.raises(LedgerError, match=advice):
        Ledger.open(path)
    with pytest.raises(LedgerError, match=advice):
        Ledger.create(path, small_budget(), dataset="new")


@pytest.mark.parametrize("step", [1, -1])
def test_a_program_that_runs_does_not_write_to_tables_of_another_version(path: Path, step: int) -> None:
    """Another program has changed the tables meanwhile."""
    with Ledger.open(path) as ledger:
        receipt = ledger.reserve(drawn(1))
        length = stored(path, "SELECT length FROM crestline_books")
        set_version(path, tables.VERSION + step)
        with pytest.raises(LedgerError, match="its tables have version"):
            ledger.reserve(drawn(1))
        with pytest.raises(LedgerError, match="its tables have version"):
            ledger.settle(receipt, drawn(1))
        with pytest.raises(LedgerError, match="its tables have version"):
            ledger.add_analyst("ann", small_budget())
        assert stored(path, "SELECT length FROM crestline_books") == length


def test_ledgers_that_lose_their_head_while_open(path: Path) -> None:
    with Ledger.open(path) as ledger:
        with sqlite3.connect(path) as raw:
            raw.execute("DELETE FROM crestline_books")
        raw.close()
        with pytest.raises(LedgerError, match="restore it from a backup"):
            ledger.reserve(drawn(1))


def test_ledgers_without_their_head(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM crestline_books")
    raw.close()
    with pytest.raises(LedgerError, match="restore it from a backup"):
        Ledger.open(path)


def test_new_ledgers_are_empty(tmp_path: Path) -> None:
    Store.create(tmp_path / "new.db", lambda: datetime.now(UTC), 30.0).close()
    assert stored(tmp_path / "new.db", "SELECT length FROM crestline_books") == 0
    assert stored(tmp_path / "new.db", "SELECT head FROM crestline_books") == GENESIS


def test_the_head_row_is_the_first_and_only_one(tmp_path: Path) -> None:
    Store.create(tmp_path / "new.db", lambda: datetime.now(UTC), 30.0).close()
    assert stored(tmp_path / "new.db", "SELECT id FROM crestline_books") == 1
    assert stored(tmp_path / "new.db", "SELECT count(*) FROM crestline_books") == 1


@pytest.mark.parametrize("name", ["chain_head", "accounts", "entries"])
def test_no_number_is_given_by_the_database(name: str) -> None:
    """A number of its own choice would leave gaps, and entries are numbered without."""
    statement = str(CreateTable(getattr(tables, name)).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call] # SQLAlchemy
    assert "SERIAL" not in statement.upper()


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)  # type: ignore[no-untyped-call] # SQLAlchemy
def test_a_reservation_is_ended_once_and_taken_up_once(dialect: Dialect) -> None:
    indexes = [index for index in tables.entries.indexes if index.unique]
    statements = sorted(str(CreateIndex(index).compile(dialect=dialect)) for index in indexes)
    assert all(statement.startswith("CREATE UNIQUE INDEX") for statement in statements)
    ends = [statement.partition(" ON crestline_entries ")[2] for statement in statements]
    assert ends[:2] == ["(receipt) WHERE kind = 'begun'", "(receipt) WHERE kind IN ('settled', 'voided')"]


def test_a_reservation_and_what_ended_it_are_found_by_indexes(path: Path) -> None:
    """Settling reads no other entry, however long the ledger is."""
    query = str(books._RESERVATION.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": False}))  # type: ignore[no-untyped-call] # SQLAlchemy
    raw = sqlite3.connect(path)
    plan = [row[-1] for row in raw.execute(f"EXPLAIN QUERY PLAN {query}", [2] * query.count("?"))]
    raw.close()
    assert not [step for step in plan if step.startswith("SCAN")], plan
