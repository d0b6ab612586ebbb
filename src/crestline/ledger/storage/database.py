"""The database of a ledger, and the three ways to use it (`addresses` opens one).

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
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from crestline.errors import LedgerError
from crestline.ledger.storage import queries
from crestline.ledger.storage.checks.witness import Witness
from crestline.ledger.storage.errors import DAMAGED, RETRIED, ledger_error, sqlstate
from crestline.ledger.storage.group_commit import NOTHING, CommitQueue, Operation, PreloadKeys, Works
from crestline.ledger.storage.transaction import Known, Transaction

T = TypeVar("T")

_ATTEMPTS = 10  # how often a busy database is tried again
WRITING = "crestline_writing"  # the option of a connection whose transaction will write


class Database:
    """One database, opened. `address` names it in messages and holds no password."""

    def __init__(self, connect: Callable[[], Engine], address: str, *, one_connection: bool = False) -> None:
        self.address = address
        self._connect = connect
        self._turn = threading.RLock()
        self._everyone_waits = one_connection
        self._witness: Witness | None = None
        self._connect_in_process()

    def use_witness(self, witness: Witness) -> None:
        """From now on, tell the witness of every change before anybody else is told, and believe it."""
        self._witness = witness

    def _connect_in_process(self) -> None:
        self._process = os.getpid()
        self._known: Known | None = None
        self._group = CommitQueue(self._write_together)
        self._engine = self._connect()
        self._close = weakref.finalize(self, _dispose, self._engine, self._process)

    def charge(self, work: Callable[[Transaction], T], needs: PreloadKeys = NOTHING) -> T:
        """Run `work` on the ledger, under the lock of all writers. It may be run again, and by another thread."""
        return self._change(Operation(work, charges=True, needs=needs))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one serialised transaction; what it returns is durable. `work` may be run again on conflict."""
        return self._change(Operation(work, charges=False))

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot, which no writer can change meanwhile."""
        self._reconnect_after_fork()

        def run() -> T:
            with self._engine.connect().execution_options(**self._read_options()) as connection, connection.begin():
                return work(connection)

        with self._turn if self._everyone_waits else nullcontext():
            return self._run_with_retries(run)

    def close(self) -> None:
        """Close all connections."""
        self._close()

    @property
    def _is_sqlite(self) -> bool:
        return self._engine.dialect.name == "sqlite"

    def _write_options(self) -> dict[str, Any]:
        return {WRITING: True} if self._is_sqlite else {"isolation_level": "READ COMMITTED"}

    def _read_options(self) -> dict[str, Any]:
        return {} if self._is_sqlite else {"isolation_level": "REPEATABLE READ"}

    def _reconnect_after_fork(self) -> None:
        """Connections must not cross a fork. The old engine is kept, so that nothing of the parent's is closed here."""
        if self._process != os.getpid():
            self._inherited = self._engine
            self._close.detach()
            self._connect_in_process()

    def _change(self, operation: Operation[T]) -> T:
        self._reconnect_after_fork()
        if not self._everyone_waits:
            return self._group.commit_operation(operation)
        with self._turn:  # in memory nothing is waited for
            self._write_together([operation])
        return operation.outcome()

    def _write_together(self, batch: list[Works]) -> None:
        """End every operation: all in one transaction, or, where the database refuses one of them, each in its own."""
        try:
            self._run_with_retries(lambda: self._commit_batch(batch))
        except _BatchFailed:
            for operation in batch:
                self._write_together([operation])
        except Exception as error:
            for operation in batch:  # nobody shares an exception with another thread
                operation.end(error=LedgerError(str(error)) if isinstance(error, LedgerError) else error)

    def _commit_batch(self, batch: list[Works]) -> None:
        """One transaction. Whoever asked is told only after it: a commit that fails is everybody's failure."""
        options = self._write_options()
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            transaction = Transaction(connection, self.address, self._witness, self._known)
            if len(batch) > 1 or batch[0].charges or self._witness is not None:
                transaction.lock()
            transaction.load(operation.needs for operation in batch)
            outcomes = _run_alone(transaction, batch[0]) if len(batch) == 1 else _run_batch(transaction, batch)
            head = None if self._witness is None else queries.load_head(connection)
        self._known = transaction.known  # it was committed
        if self._witness is not None and head is not None:
            self._witness.note_head(head)  # after the commit, and before anybody is told: see `witness`
        for operation, (result, error) in zip(batch, outcomes, strict=True):
            operation.end(result=result, error=error)

    def _run_with_retries(self, run: Callable[[], T]) -> T:
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


class _BatchFailed(Exception):
    """The operations of a batch cannot be written together."""


Outcome = tuple[object, BaseException | None]


def _run_alone(transaction: Transaction, operation: Works) -> list[Outcome]:
    """What it raises ends the transaction."""
    result = operation.work(transaction if operation.charges else transaction.connection)
    transaction.flush()
    return [(result, None)]


def _run_batch(transaction: Transaction, batch: list[Works]) -> list[Outcome]:
    """Run a whole batch. A charge that is refused is undone by itself; any other failure asks for each alone."""
    try:
        outcomes = [_attempt_operation(transaction, operation) for operation in batch]
        transaction.flush()
    except SQLAlchemyError as error:
        lost = isinstance(error, DBAPIError) and error.connection_invalidated
        if lost or sqlstate(error) in RETRIED:
            raise
        raise _BatchFailed from None
    except Exception:
        raise _BatchFailed from None
    return outcomes


def _attempt_operation(transaction: Transaction, operation: Works) -> Outcome:
    if not operation.charges:
        return transaction.run_raw(operation.work), None
    try:
        return transaction.undo_on_failure(operation.work), None
    except SQLAlchemyError:
        raise
    except Exception as error:
        return None, error


def _dispose(engine: Engine, process: int) -> None:
    if process == os.getpid():
        engine.dispose()
