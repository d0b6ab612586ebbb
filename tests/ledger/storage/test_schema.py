"""A ledger of another version is migrated, or it is said why not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Connection, Dialect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable
from tests.ledger.conftest import EPSILON, drawn, small_budget

from crestline.errors import BudgetMismatch, LedgerError
from crestline.ledger.entries import GENESIS
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage import schema
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


def next_version(monkeypatch: pytest.MonkeyPatch, migration: Callable[[Connection], None]) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, migration)


def add_column(connection: Connection) -> None:
    connection.execute(text("ALTER TABLE crestline_accounts ADD COLUMN note TEXT"))


@pytest.mark.parametrize("enter", [Ledger.open, lambda path: Ledger.create(path, small_budget(), dataset="new")])
def test_older_ledgers_are_migrated(
    path: Path, monkeypatch: pytest.MonkeyPatch, enter: Callable[[Path], Ledger]
) -> None:
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


def test_ledgers_too_old_to_migrate(path: Path) -> None:
    set_version(path, 0)
    with pytest.raises(LedgerError, match="knows no way from version 0 to 1"):
        Ledger.open(path)


def test_ledgers_from_the_future(path: Path) -> None:
    set_version(path, schema.VERSION + 1)
    with pytest.raises(LedgerError, match="upgrade crestline"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="upgrade crestline"):
        Ledger.create(path, small_budget(), dataset="new")


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


def test_there_is_a_way_from_every_version_that_was_ever_written() -> None:
    """The first was 1. A new version without a migration would lock everybody out of their books."""
    assert schema.VERSION >= 1
    assert all(step in schema.MIGRATIONS for step in range(1, schema.VERSION))


def test_the_first_step_that_is_missing_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 3)
    first = schema.VERSION - 3
    with pytest.raises(LedgerError, match=f"knows no way from version {first} to {first + 1}:"):
        Ledger.open(path)


def test_every_step_on_the_way_is_taken_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    start = schema.VERSION
    for step in (start, start + 1):
        monkeypatch.setitem(schema.MIGRATIONS, step, lambda _, step=step: taken.append(step))
    monkeypatch.setattr(schema, "VERSION", start + 2)
    for _ in range(2):
        Ledger.open(path).close()
    assert taken == [start, start + 1]


def test_new_ledgers_are_empty(tmp_path: Path) -> None:
    Store.create(tmp_path / "new.db", lambda: datetime.now(UTC), 30.0).close()
    assert stored(tmp_path / "new.db", "SELECT length FROM crestline_books") == 0
    assert stored(tmp_path / "new.db", "SELECT head FROM crestline_books") == GENESIS


def test_ledgers_of_this_version_need_no_migration() -> None:
    assert not schema.check(schema.VERSION, "books")


def test_the_head_row_is_the_first_and_only_one(tmp_path: Path) -> None:
    Store.create(tmp_path / "new.db", lambda: datetime.now(UTC), 30.0).close()
    assert stored(tmp_path / "new.db", "SELECT id FROM crestline_books") == 1
    assert stored(tmp_path / "new.db", "SELECT count(*) FROM crestline_books") == 1


@pytest.mark.parametrize("name", ["chain_head", "accounts", "entries"])
def test_no_number_is_given_by_the_database(name: str) -> None:
    """A number of its own choice would leave gaps, and entries are numbered without."""
    statement = str(CreateTable(getattr(schema, name)).compile(dialect=postgresql.dialect()))  # type: ignore[no-untyped-call] # SQLAlchemy
    assert "SERIAL" not in statement.upper()


@pytest.mark.parametrize("dialect", [sqlite.dialect(), postgresql.dialect()], ids=lambda dialect: dialect.name)  # type: ignore[no-untyped-call] # SQLAlchemy
def test_only_what_ends_a_reservation_is_unique_for_it(dialect: Dialect) -> None:
    (index,) = (index for index in schema.entries.indexes if index.unique)
    statement = str(CreateIndex(index).compile(dialect=dialect))
    assert statement.startswith("CREATE UNIQUE INDEX")
    assert statement.endswith("(receipt) WHERE kind IN ('settled', 'voided')")


def as_version_1(path: Path) -> None:
    """A ledger as the first version wrote it: no column for the users of a data set."""
    with sqlite3.connect(path) as raw:
        raw.execute("ALTER TABLE crestline_accounts DROP COLUMN user_column")
        raw.execute("DROP INDEX crestline_entries_numbered")
        raw.execute("ALTER TABLE crestline_entries DROP COLUMN number")
        raw.execute("UPDATE crestline_books SET version = 1")
    raw.close()


def test_ledgers_of_version_1_are_about_the_users_of_their_earliest_question(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with Ledger.create(file, small_budget(), dataset="loans", analysts={"ann": small_budget(3)}) as ledger:
        ledger.reserve(drawn(1), question={"k": 1})
        ledger.settle(ledger.reserve(drawn(1), question={"user": "reader"}, analyst="ann"), drawn(1))
        ledger.reserve(drawn(1), question={"user": "reader"})
    Ledger.create(file, small_budget(), dataset="quiet").close()
    as_version_1(file)
    with Ledger.open(file, dataset="loans") as ledger:
        assert ledger.user == "reader"
        assert ledger.verify().ok
        with pytest.raises(BudgetMismatch, match=r"'reader'.*'branch'"):
            ledger.reserve(drawn(1), question={"user": "branch"})
        ledger.reserve(drawn(1), question={"user": "reader"})
    with Ledger.open(file, dataset="quiet") as ledger:
        assert ledger.user is None
    assert stored(file, "SELECT count(*) FROM crestline_accounts WHERE user_column IS NOT NULL") == 1


def test_ledgers_of_version_1_with_an_edited_entry_are_migrated_and_found_out(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    with Ledger.create(file, small_budget()) as ledger:
        ledger.reserve(drawn(1), question={"user": "reader"})
        ledger.reserve(drawn(1), question={"user": "reader"})
    as_version_1(file)
    with sqlite3.connect(file) as raw:
        raw.execute("UPDATE crestline_entries SET body = '[' WHERE sequence = 2")
    raw.close()
    with Ledger.open(file) as ledger:
        assert ledger.user == "reader"
        assert not ledger.verify().ok


def test_on_a_server_version_1_is_migrated_too(postgres_database: str) -> None:
    with Ledger.create(postgres_database, small_budget()) as ledger:
        ledger.reserve(drawn(1), question={"user": "reader"})
    with psycopg.connect(postgres_database) as raw:
        raw.execute("ALTER TABLE crestline_accounts DROP COLUMN user_column")
        raw.execute("DROP INDEX crestline_entries_numbered")
        raw.execute("ALTER TABLE crestline_entries DROP COLUMN number")
        raw.execute("UPDATE crestline_books SET version = 1")
    with Ledger.open(postgres_database) as ledger:
        assert ledger.user == "reader"
        assert ledger.verify().ok
