"""Connections: forks, conflicts, drivers, and errors that are neither SQLite's nor PostgreSQL's."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tests.ledger.conftest import drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage import addresses, database
from crestline.ledger.storage.addresses import memory_database
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.errors import ledger_error

FORKED = """
import os, sys
from tests.ledger.conftest import drawn, small_budget
from crestline.ledger.ledger import Ledger

ledger = Ledger.create(sys.argv[1], small_budget(100))
ledger.reserve(drawn(1))
for _ in range(4):
    if os.fork() == 0:
        for _ in range(5):
            ledger.settle(ledger.reserve(drawn(2)), drawn(1))
        os._exit(0)
for _ in range(5):
    ledger.settle(ledger.reserve(drawn(2)), drawn(1))
assert all(os.wait()[1] == 0 for _ in range(4))
assert ledger.verify().findings == ()
assert ledger.spent().loss * 10 == 1 + 4 * 5 + 5
"""


class Conflict(Exception):
    sqlstate = "40001"


@pytest.mark.engines
def test_a_ledger_survives_a_fork(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path / "ledger.db")], check=True, timeout=PATIENCE)


def test_a_ledger_on_a_server_survives_a_fork(postgres_database: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, postgres_database], check=True, timeout=PATIENCE)


@pytest.mark.parametrize("conflicts", [0, 1, 9])
def test_conflicts_are_tried_again(conflicts: int) -> None:
    tries = 0

    def work(_: Books) -> str:
        nonlocal tries
        tries += 1
        if tries <= conflicts:
            raise OperationalError("", {}, Conflict())
        return "done"

    books = memory_database()
    assert books.write(work) == "done"
    assert tries == conflicts + 1
    books.close()


def test_but_not_for_ever() -> None:
    def work(_: Books) -> None:
        raise OperationalError("", {}, Conflict())

    books = memory_database()
    with pytest.raises(LedgerError, match="too many clients write at once"):
        books.write(work)
    books.close()


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("psycopg")

    monkeypatch.setattr(addresses, "create_engine", missing)
    with pytest.raises(LedgerError, match=r"crestline\[postgres\]"):
        Ledger.open("postgresql://host/books")


@pytest.mark.parametrize("address", ["://x", "postgresql://host:port/x", "sqlite:///"])
def test_an_address_that_cannot_be_read(address: str) -> None:
    with pytest.raises(LedgerError, match=r"cannot be read|path or a postgresql"):
        Ledger.open(address)


def test_a_sqlite_url_is_a_path(tmp_path: Path) -> None:
    Ledger.create(f"sqlite:///{tmp_path / 'with space #1.db'}", small_budget()).close()
    with Ledger.open(tmp_path / "with space #1.db") as ledger:
        assert ledger.verify().ok


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PoolTimeout(), "at once in this process"),
        (ArgumentError("s3cret"), "ArgumentError"),
        (OperationalError("s3cret", {}, sqlite3.OperationalError("s3cret")), "not a ledger"),
        (OperationalError("s3cret", {}, Conflict("s3cret")), "too many clients"),
    ],
)
def test_no_error_quotes_its_cause(error: Any, says: str) -> None:
    message = str(ledger_error(error, "ledger.db"))
    assert says in message
    assert message.startswith("ledger ledger.db: ")
    assert "s3cret" not in message


def test_unknown_codes_are_named() -> None:
    odd = sqlite3.OperationalError()
    odd.sqlite_errorname = "SQLITE_NOLFS"
    assert "SQLITE_NOLFS" in str(ledger_error(OperationalError("", {}, odd), "x"))
    strange = Conflict()
    strange.sqlstate = "XX001"
    assert "XX001" in str(ledger_error(OperationalError("", {}, strange), "x"))


LOOK = "import sys; from crestline.ledger.ledger import Ledger; print(Ledger.open(sys.argv[1]).spent().loss)"


@pytest.mark.engines
def test_opening_ledgers_a_second_time_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """POSIX: whoever closes a file gives up all its locks on it. Another process would then remove the log in use."""

    def elsewhere() -> str:
        look = [sys.executable, "-c", LOOK, str(tmp_path / "ledger.db")]
        return subprocess.run(look, check=True, capture_output=True, text=True, timeout=PATIENCE).stdout.strip()

    with Ledger.create(tmp_path / "ledger.db", small_budget()) as ledger:
        ledger.reserve(drawn(1))
        Ledger.open(tmp_path / "ledger.db").close()
        assert elsewhere() == str(ledger.spent().loss)
        ledger.reserve(drawn(1))
        assert elsewhere() == str(ledger.spent().loss)  # a charge made since is seen by everybody


def test_only_conflicts_are_tried_again() -> None:
    """Any other error is raised at once; conflicts are tried as often as is said, and not once more."""
    for code, often in (("40001", database._ATTEMPTS), ("40P01", database._ATTEMPTS), ("23505", 1), ("", 1)):
        tries = 0

        def work(_: Books, code: str = code) -> None:
            nonlocal tries
            tries += 1
            conflict = Conflict()
            conflict.sqlstate = code
            raise OperationalError("", {}, conflict)

        books = memory_database()
        with pytest.raises(LedgerError):
            books.write(work)
        assert tries == often
        books.close()


def sqlite_books(path: Path) -> database.Database:
    return addresses.open_database(path, create=True, timeout=0.1)


def in_a_thread(work: Callable[[], object], seconds: float) -> threading.Thread:
    """A thread that had so much time to do this."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(seconds)
    return thread


def test_a_writer_holds_the_file_from_the_start_and_a_reader_does_not(tmp_path: Path) -> None:
    """The lock is taken before anything is read: what a writer read cannot change under its hands."""
    path = tmp_path / "ledger.db"
    Ledger.create(path, small_budget()).close()

    def is_free(_: object) -> bool:
        other = sqlite3.connect(path, isolation_level=None, timeout=0)
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        finally:
            other.close()
        return True

    books = sqlite_books(path)
    assert not books.write(is_free)
    assert books.read(is_free)
    books.close()


def test_readers_of_a_file_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.create(path, small_budget()).close()
    books = sqlite_books(path)
    reader = books.write(lambda _: in_a_thread(lambda: books.read(lambda _: None), 20))
    assert not reader.is_alive()
    books.close()


def test_a_connection_serves_one_thread_after_another(tmp_path: Path) -> None:
    books, seen = sqlite_books(tmp_path / "ledger.db"), list[object]()
    books.write(lambda books: books.connection.execute(text("CREATE TABLE t (x)")))
    in_a_thread(lambda: seen.append(books.read(lambda c: c.execute(text("SELECT count(*) FROM t")).scalar())), 20)
    assert seen == [0]
    books.close()


def test_an_address_with_a_mode_is_given_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some builds of SQLite take any name for an address; others would make a file with `?mode=` in its name."""
    given, connect = [], sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: given.append(options) or connect(*args, **options))
    books = sqlite_books(tmp_path / "ledger.db")
    books.read(lambda _: None)
    books.close()
    assert [options["uri"] for options in given] == [True]


def test_readers_of_ledgers_in_memory_wait_for_the_one_connection() -> None:
    books, seen = memory_database(), list[object]()

    def look() -> None:
        seen.append(books.read(lambda connection: connection.execute(text("SELECT count(*) FROM t")).scalar()))

    def work(books: Books) -> threading.Thread:
        connection = books.connection
        connection.execute(text("CREATE TABLE t (x)"))
        reader = in_a_thread(look, 0.3)
        assert reader.is_alive()  # it must not see what is not committed yet
        connection.execute(text("INSERT INTO t VALUES (1)"))
        return reader

    books.write(work).join(PATIENCE)
    assert seen == [1]
    books.close()


@pytest.mark.parametrize("address", [None, "ledger.db", "postgresql://ann:s3cret@127.0.0.1:1/books"])
def test_no_engine_shows_parameters(tmp_path: Path, address: str | None) -> None:
    """What is put in the ledger may be a question; drivers would put it in their errors."""
    if address is None:
        books = memory_database()
    else:
        books = addresses.open_database(address if ":" in address else tmp_path / address, create=True, timeout=1)
    assert books._engine.hide_parameters
    assert "s3cret" not in books.address
    books.close()


def test_the_wait_for_a_lock_on_a_server_is_the_one_asked_for(postgres_database: str) -> None:
    books = addresses.open_database(postgres_database, create=True, timeout=2.5)
    assert books.read(lambda connection: connection.execute(text("SHOW lock_timeout")).scalar()) == "2500ms"
    books.close()


def test_the_smallest_sqlite_file_has_512_bytes(tmp_path: Path) -> None:
    """SQLite's smallest page; shorter files it would take for empty ones, and write over."""
    for size, may in ((1, False), (511, False), (512, True), (4096, True)):
        path = tmp_path / f"{size}"
        path.write_bytes(bytes(size))
        assert addresses._may_be_sqlite(path) == may


def test_looking_into_an_empty_file_leaves_it_empty(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger.open(path)
    assert path.stat().st_size == 0
    assert [file.name for file in tmp_path.iterdir()] == ["ledger.db"]


def test_closing_lets_go_of_the_connections_of_this_process_only() -> None:
    class Engine:
        disposed = 0

        def dispose(self) -> None:
            self.disposed += 1

    engine: Any = Engine()
    database._dispose(engine, os.getpid() + 1)
    assert engine.disposed == 0
    database._dispose(engine, os.getpid())
    assert engine.disposed == 1
