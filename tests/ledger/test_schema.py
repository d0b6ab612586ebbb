"""Books of another version are migrated, or it is said why not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from tests.ledger.conftest import EPSILON, drawn, small_budget

from crestline.errors import LedgerError
from crestline.ledger import schema
from crestline.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "books.db"
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


def next_version(monkeypatch: pytest.MonkeyPatch, migration: Callable[[Connection], None]) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, migration)


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE crestline_accounts ADD COLUMN note TEXT"))


@pytest.mark.parametrize("enter", [Ledger.open, lambda path: Ledger.create(path, small_budget(), dataset="new")])
def test_older_books_are_migrated(path: Path, monkeypatch: pytest.MonkeyPatch, enter: Callable[[Path], Ledger]) -> None:
    next_version(monkeypatch, add_column)
    with enter(path):
        pass
    assert stored(path, "SELECT version FROM crestline_books") == schema.VERSION
    assert stored(path, "SELECT count(note) FROM crestline_accounts") == 0
    with Ledger.open(path, dataset="default") as ledger:
        assert ledger.spent().loss == 2 * EPSILON
        assert ledger.verify().ok


def test_a_migration_is_done_altogether_or_not_at_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(connection: Connection) -> None:
        add_column(connection)
        connection.execute(text("SELECT nothing FROM nowhere"))

    next_version(monkeypatch, fails)
    with pytest.raises(LedgerError):
        Ledger.open(path)
    monkeypatch.undo()
    with Ledger.open(path) as ledger:
        assert ledger.verify().ok
    with pytest.raises(sqlite3.OperationalError):
        stored(path, "SELECT note FROM crestline_accounts")


def test_books_too_old_to_migrate(path: Path) -> None:
    set_version(path, 0)
    with pytest.raises(LedgerError, match="knows no way from version 0 to 1"):
        Ledger.open(path)


def test_books_from_the_future(path: Path) -> None:
    set_version(path, schema.VERSION + 1)
    with pytest.raises(LedgerError, match="upgrade crestline"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="upgrade crestline"):
        Ledger.create(path, small_budget(), dataset="new")


def test_books_that_lose_their_head_while_open(path: Path) -> None:
    with Ledger.open(path) as ledger:
        with sqlite3.connect(path) as raw:
            raw.execute("DELETE FROM crestline_books")
        raw.close()
        with pytest.raises(LedgerError, match="restore it from a backup"):
            ledger.reserve(drawn(1))


def test_books_without_their_head(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM crestline_books")
    raw.close()
    with pytest.raises(LedgerError, match="restore it from a backup"):
        Ledger.open(path)
