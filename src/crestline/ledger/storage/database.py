"""Where a ledger is kept: a SQLite file, PostgreSQL, or memory; and the three ways to use it.

    charge   an operation on the ledger; durable when it returns
    write    any other change, durable when it returns
    read     one consistent snapshot

Changes of one process that wait for each other are written together, in one serialised transaction (`group`). To each
of them it is as if it had been written alone: what it raises is its own, and where the database refuses one of them,
all are written again, each by itself.

SQLite serialises with BEGIN IMMEDIATE; PostgreSQL with a lock on the one row of `crestline_books`, which every writer
takes first. So the transaction of a writer sees everything that any earlier one did.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from crestline.errors import LedgerError
from crestline.ledger.storage import records
from crestline.ledger.storage.faults import DAMAGED, NOT_A_LEDGER, RETRIED, ledger_error, sqlstate
from crestline.ledger.storage.group import NOTHING, Group, Needs, Operation, Works
from crestline.ledger.storage.transaction import Transaction
from crestline.ledger.storage.witness import Witness

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_ATTEMPTS = 10  # how often a busy database is tried again
_WRITING = "crestline_writing"
_SMALLEST = 512  # bytes of the smallest SQLite file


class Database:
    """One database, opened. `address` names it in messages and holds no password."""

    def __init__(self, connect: Callable[[], Engine], address: str, *, one_connection: bool = False) -> None:
        self.address = address
        self._connect = connect
        self._turn = threading.RLock()
        self._everyone_waits = one_connection
        self._witness: Witness | None = None
        self._start()

    def attend(self, witness: Witness) -> None:
        """From now on, tell the witness of every change before anybody else is told, and believe it."""
        self._witness = witness

    def _start(self) -> None:
        self._process = os.getpid()
        self._group = Group(self._write_together)
        self._engine = self._connect()
        self._close = weakref.finalize(self, _dispose, self._engine, self._process)

    def charge(self, work: Callable[[Transaction], T], needs: Needs = NOTHING) -> T:
        """Run `work` on the ledger, under the lock of all writers. It may be run again, and by another thread."""
        return self._change(Operation(work, charges=True, needs=needs))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one serialised transaction; what it returns is durable. `work` may be run again on conflict."""
        return self._change(Operation(work, charges=False))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot, which no writer can change meanwhile."""
        self._follow_fork()

        def run() -> T:
            with self._engine.connect().execution_options(**self._read_options()) as connection, connection.begin():
                return work(connection)

        with self._turn if self._everyone_waits else nullcontext():
            return self._retried(run)

    def close(self) -> None:
        """Close all connections."""
        self._close()

    @property
    def _is_sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def _write_options(self) -> dict[str, Any]:
        return {_WRITING: True} if self._is_sqlite else {"isolation_level": "READ COMMITTED"}

    def _read_options(self) -> dict[str, Any]:
        return {} if self._is_sqlite else {"isolation_level": "REPEATABLE READ"}

    def _follow_fork(self) -> None:
        """Connections must not cross a fork. The old engine is kept, so that nothing of the parent's is closed here."""
        if self._process != os.getpid():
            self._inherited = self._engine
            self._close.detach()
            self._start()

    def _change(self, operation: Operation[T]) -> T:
        self._follow_fork()
        if not self._everyone_waits:
            return self._group.run(operation)
        with self._turn:  # in memory nothing is waited for
            self._write_together([operation])
        return operation.outcome()

    def _write_together(self, batch: list[Works]) -> None:
        """End every operation: all in one transaction, or, where the database refuses one of them, each in its own."""
        try:
            self._retried(lambda: self._commit(batch))
        except _EachAlone:
            for operation in batch:
                self._write_together([operation])
        except Exception as error:
            for operation in batch:  # nobody shares an exception with another thread
                operation.end(error=LedgerError(str(error)) if isinstance(error, LedgerError) else error)

    def _commit(self, batch: list[Works]) -> None:
        """One transaction. Whoever asked is told only after it: a commit that fails is everybody's failure."""
        options = self._write_options()
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            transaction = Transaction(connection, self.address, self._witness)
            if len(batch) > 1 or batch[0].charges or self._witness is not None:
                transaction.lock()
            transaction.load(operation.needs for operation in batch)
            outcomes = _alone(transaction, batch[0]) if len(batch) == 1 else _in_turn(transaction, batch)
            head = None if self._witness is None else records.head(connection)
        if self._witness is not None and head is not None:
            self._witness.note(head)  # after the commit, and before anybody is told: see `witness`
        for operation, (result, error) in zip(batch, outcomes, strict=True):
            operation.end(result=result, error=error)

    def _retried(self, run: Callable[[], T]) -> T:
        """Run it, again where it met another transaction in the database; what the database says is said plainly."""
        left = _ATTEMPTS
        while True:
            left -= 1
            try:
                return run()
            except SQLAlchemyError as error:
                if sqlstate(error) not in RETRIED or left == 0:
                    raise ledger_error(error, self.address) from None  # the cause repeats statement and password
            except UnicodeDecodeError:  # SQLite quotes a damaged schema in its error, and Python cannot read that
                raise LedgerError(f"ledger {self.address}: {DAMAGED}") from None


class _EachAlone(Exception):
    """The operations of a batch cannot be written together."""


Outcome = tuple[object, BaseException | None]


def _alone(transaction: Transaction, operation: Works) -> list[Outcome]:
    """What it raises ends the transaction."""
    result = operation.work(transaction if operation.charges else transaction.connection)
    transaction.flush()
    return [(result, None)]


def _in_turn(transaction: Transaction, batch: list[Works]) -> list[Outcome]:
    """Run a whole batch. A charge that is refused is undone by itself; any other failure asks for each alone."""
    try:
        outcomes = [_attempted(transaction, operation) for operation in batch]
        transaction.flush()
    except SQLAlchemyError as error:
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if lost or sqlstate(error) in RETRIED:
            raise
        raise _EachAlone from None
    except Exception:
        raise _EachAlone from None
    return outcomes


def _attempted(transaction: Transaction, operation: Works) -> Outcome:
    if not operation.charges:
        return transaction.aside(operation.work), None
    try:
        return transaction.attempt(operation.work), None
    except SQLAlchemyError:
        raise
    except Exception as error:
        return None, error


def open_database(address: str | os.PathLike[str], *, create: bool, timeout: float) -> Database:
    """The database at a path, a `sqlite:///` URL or a `postgresql://` URL; `timeout` bounds the wait for a lock."""
    text = os.fspath(address)
    if "://" not in text:
        return _sqlite_file(Path(text), create=create, timeout=timeout)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise LedgerError("the ledger's address cannot be read: write it as postgresql://user@host/database") from None
    if url.get_backend_name() == "sqlite" and url.database:
        return _sqlite_file(Path(url.database), create=create, timeout=timeout)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return _postgres(url, timeout)
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


def _sqlite_file(path: Path, *, create: bool, timeout: float) -> Database:
    if path.is_dir():
        raise LedgerError(f"ledger {path}: this is a directory; give the path of a file")
    if not path.parent.is_dir():
        raise LedgerError(f"ledger {path}: its directory does not exist; create it first")
    if not create and not path.exists():
        raise LedgerError(f"ledger {path}: there is no such file; make one with `crestline ledger create`")
    if not _fresh(path) and not _may_be_sqlite(path):
        raise LedgerError(f"ledger {path}: {NOT_A_LEDGER}")
    new = create and _fresh(path)
    if new:
        with suppress(OSError):  # SQLite says what is wrong
            path.touch(mode=0o600)  # what was asked is nobody else's business; its other files get the same mode
    address = f"{path.absolute().as_uri()}?mode={'rwc' if new else 'rw'}"

    def raw() -> sqlite3.Connection:
        connection = sqlite3.connect(address, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False)
        connection.text_factory = _text
        if new:
            connection.execute("PRAGMA journal_mode = WAL")  # kept in the file
        connection.execute("PRAGMA synchronous = FULL")  # a commit returns when the disk has it
        connection.execute("PRAGMA fullfsync = ON")  # macOS: and not only the disk's cache
        return connection

    def connect() -> Engine:
        engine = create_engine(
            "sqlite://", creator=raw, poolclass=QueuePool, pool_timeout=timeout, hide_parameters=True
        )
        event.listen(engine, "begin", _begin)
        return engine

    return Database(connect, str(path))


def _fresh(path: Path) -> bool:
    return not path.exists() or path.stat().st_size == 0


def _may_be_sqlite(path: Path) -> bool:
    """SQLite takes a file shorter than its header for an empty database, and writes over it; longer ones it checks.

    The file is not opened here: closing it would end every lock that this process holds on it (POSIX), and another
    process would then take away the log that our open connections still write to.
    """
    if not os.access(path, os.R_OK):
        raise LedgerError(f"ledger {path}: it cannot be read; check the permissions of the file")
    return path.stat().st_size >= _SMALLEST


def _postgres(url: URL, timeout: float) -> Database:
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
        event.listen(engine, "connect", _durable)
        return engine

    return Database(connect, address)


def _text(raw: bytes) -> str:
    """Text that somebody else wrote may not be text: it must come through, for `verify` to name it."""
    return raw.decode("utf-8", "surrogateescape")


def _begin(connection: Connection) -> None:
    """The driver starts no transactions of its own: a writer takes the lock at once, before it reads anything."""
    writing = connection.get_execution_options().get(_WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def _durable(raw: psycopg.Connection[tuple[object, ...]], _record: object) -> None:
    """A commit waits for the disk even where the server's default does not."""
    raw.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    raw.commit()


def _dispose(engine: Engine, process: int) -> None:
    if process == os.getpid():
        engine.dispose()
