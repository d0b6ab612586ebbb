"""Where a ledger is kept: a SQLite file, PostgreSQL, or memory. Opens the database at an address."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool, StaticPool

from crestline.deadline import seconds_left, timed_connection
from crestline.errors import LedgerError
from crestline.ledger.storage.database import WRITING, Database
from crestline.ledger.storage.errors import NOT_A_LEDGER

if TYPE_CHECKING:
    import psycopg
    from sqlalchemy import Dialect

_SMALLEST = 512  # bytes of the smallest SQLite file
_PAUSE = 0.01  # seconds until a new file is tried again


def open_database(address: str | os.PathLike[str], *, create: bool, timeout: float) -> Database:
    """The database at a path, a `sqlite:///` URL or a `postgresql://` URL; `timeout` bounds the wait for a lock."""
    text = os.fspath(address)
    if "://" not in text:
        return _sqlite_database(Path(text), create=create, timeout=timeout)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise LedgerError("the ledger's address cannot be read: write it as postgresql://user@host/database") from None
    if url.get_backend_name() == "sqlite" and url.database:
        return _sqlite_database(Path(url.database), create=create, timeout=timeout)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return _postgres_database(url, timeout)
    raise LedgerError("a ledger is kept in a SQLite file or in PostgreSQL: give a path or a postgresql:// address")


def memory_database() -> Database:
    """A ledger that ends with the process: for a single question, and for demonstrations."""

    def connect() -> Engine:
        engine = create_engine(
            "sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False}, hide_parameters=True
        )
        event.listen(engine, "connect", lambda raw, _: setattr(raw, "isolation_level", None))
        event.listen(engine, "begin", _begin)
        return engine

    return Database(connect, "in memory", one_connection=True)


def _sqlite_database(path: Path, *, create: bool, timeout: float) -> Database:
    if path.is_dir():
        raise LedgerError(f"ledger {path}: this is a directory; give the path of a file")
    if not path.parent.is_dir():
        raise LedgerError(f"ledger {path}: its directory does not exist; create it first")
    if not create and not path.exists():
        raise LedgerError(f"ledger {path}: there is no such file; make one with `crestline ledger create`")
    if not _is_new_file(path) and not _may_be_sqlite(path):
        raise LedgerError(f"ledger {path}: {NOT_A_LEDGER}")
    new = create and _is_new_file(path)
    if new:
        with suppress(OSError):  # SQLite says what is wrong
            path.touch(mode=0o600)  # what was asked concerns its owner alone; its other files get the same mode
    address = f"{path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}"

    def open_raw_connection() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
        connection.text_factory = _decode_text
        if new:
            _use_write_ahead_log(connection, timeout)
        connection.execute("PRAGMA synchronous = FULL")  # a commit returns when the disk has it
        connection.execute("PRAGMA fullfsync = ON")  # macOS: and not only the disk's cache
        return connection

    def wait_in_time(connection: Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {round(seconds_left(timeout) * 1000)}")

    def connect() -> Engine:
        engine = create_engine(
            "sqlite://", creator=open_raw_connection, poolclass=QueuePool, pool_timeout=timeout, hide_parameters=True
        )
        event.listen(engine, "begin", wait_in_time)
        event.listen(engine, "begin", _begin)
        return engine

    return Database(connect, str(path))


def _use_write_ahead_log(connection: sqlite3.Connection, timeout: float) -> None:
    """Set the journal of a new file, which keeps it. SQLite does not wait here for others who do the same at once."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _is_new_file(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def _may_be_sqlite(path: Path) -> bool:
    """SQLite takes a file shorter than its header for an empty database, and writes over it; longer ones it checks.

    The file is not opened here: closing it would end every lock that this process holds on it (POSIX), and another
    process would then take away the log that our open connections still write to.
    """
    if not os.access(path, os.R_OK):
        raise LedgerError(f"ledger {path}: it cannot be read; check the permissions of the file")
    return path.stat().st_size >= _SMALLEST


def _postgres_database(url: URL, timeout: float) -> Database:
    address = url.set(password=None, query={}, drivername="postgresql").render_as_string()
    options = f"-c lock_timeout={round(timeout * 1000)}"
    patience = max(2, round(timeout))  # nought would be for ever, and libpq waits two seconds at least

    def connect() -> Engine:
        try:
            engine = create_engine(
                url.set(drivername="postgresql+psycopg"),
                connect_args={"connect_timeout": patience, "options": options},
                pool_pre_ping=True,
                pool_timeout=timeout,
                hide_parameters=True,
            )
        except ModuleNotFoundError:
            raise LedgerError("a ledger in PostgreSQL needs a driver: pip install 'crestline[postgres]'") from None
        event.listen(engine, "do_connect", _connect_in_time)
        event.listen(engine, "connect", _set_synchronous_commit)
        return engine

    return Database(connect, address)


def _connect_in_time(
    dialect: Dialect, record: object, given: Sequence[str], options: MutableMapping[str, Any]
) -> psycopg.Connection[Any]:
    """A connection that keeps the deadline of the thread that uses it."""
    patience = min(options["connect_timeout"], max(2, math.ceil(seconds_left(options["connect_timeout"]))))
    return timed_connection().connect(*given, **{**options, "connect_timeout": patience})


def _decode_text(raw: bytes) -> str:
    """Text that another program wrote may not be text: it must come through, for `verify` to name it."""
    return raw.decode("utf-8", "surrogateescape")


def _begin(connection: Connection) -> None:
    """The driver starts no transactions of its own: a writer takes the lock at once, before it reads anything."""
    writing = connection.get_execution_options().get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _set_synchronous_commit(raw: psycopg.Connection[tuple[object, ...]], _record: object) -> None:
    """A commit waits for the disk even where the server's default does not."""
    raw.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    raw.commit()
