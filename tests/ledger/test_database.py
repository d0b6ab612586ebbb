"""Connections: forks, conflicts, drivers, and errors that are neither SQLite's nor PostgreSQL's."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tests.ledger.conftest import drawn, small_budget

from crestline.errors import LedgerError
from crestline.ledger import database
from crestline.ledger.database import memory_database
from crestline.ledger.faults import ledger_error
from crestline.ledger.ledger import Ledger

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


def test_a_ledger_survives_a_fork(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FORKED, str(tmp_path / "books.db")], check=True, timeout=60)


def test_a_ledger_on_a_server_survives_a_fork(postgres_database: str) -> None:
    subprocess.run([sys.executable, "-c", FORKED, postgres_database], check=True, timeout=60)


@pytest.mark.parametrize("conflicts", [0, 1, 9])
def test_conflicts_are_tried_again(conflicts: int) -> None:
    tries = 0

    def work(_: Connection) -> str:
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
    def work(_: Connection) -> None:
        raise OperationalError("", {}, Conflict())

    books = memory_database()
    with pytest.raises(LedgerError, match="too many clients write at once"):
        books.write(work)
    books.close()


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("psycopg")

    monkeypatch.setattr(database, "create_engine", missing)
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
    message = str(ledger_error(error, "books.db"))
    assert says in message
    assert message.startswith("ledger books.db: ")
    assert "s3cret" not in message


def test_unknown_codes_are_named() -> None:
    odd = sqlite3.OperationalError()
    odd.sqlite_errorname = "SQLITE_NOLFS"
    assert "SQLITE_NOLFS" in str(ledger_error(OperationalError("", {}, odd), "x"))
    strange = Conflict()
    strange.sqlstate = "XX001"
    assert "XX001" in str(ledger_error(OperationalError("", {}, strange), "x"))


LOOK = "import sys; from crestline.ledger.ledger import Ledger; print(Ledger.open(sys.argv[1]).spent().loss)"


def test_opening_books_a_second_time_keeps_the_locks_of_the_first(tmp_path: Path) -> None:
    """POSIX: whoever closes a file gives up all its locks on it. Another process would then remove the log in use."""

    def elsewhere() -> str:
        look = [sys.executable, "-c", LOOK, str(tmp_path / "books.db")]
        return subprocess.run(look, check=True, capture_output=True, text=True, timeout=120).stdout.strip()

    with Ledger.create(tmp_path / "books.db", small_budget()) as ledger:
        ledger.reserve(drawn(1))
        Ledger.open(tmp_path / "books.db").close()
        assert elsewhere() == str(ledger.spent().loss)
        ledger.reserve(drawn(1))
        assert elsewhere() == str(ledger.spent().loss)  # a charge made since is seen by everybody
