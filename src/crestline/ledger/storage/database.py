"""The database of a ledger: one snapshot to read, one serialised transaction to write (`addresses` opens one).

Changes of one process that wait for each other share one commit: the first to come writes at once, and what others
bring meanwhile is written by the first of them, for all. To each change it is as if it had been written alone: what
it raises is its own, and where the database refuses one of them, all are written again, each by itself. There is no
thread of its own that a fork, a signal or the end of the program could lose.

SQLite serialises with BEGIN IMMEDIATE; PostgreSQL with a lock on the one row of `crestline_books`, which every writer
takes first. So the transaction of a writer sees everything that any earlier one did.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from crestline.deadline import seconds_left
from crestline.errors import LedgerError
from crestline.ledger.storage.books import Balances, Books
from crestline.ledger.storage.errors import DAMAGED, RETRIED, ledger_error, sqlstate
from crestline.ledger.storage.witness import Witness, WitnessError

T = TypeVar("T")
Job: TypeAlias = tuple[Callable[[Books], Any], "Future[Any]"]  # a change, and its outcome

_ATTEMPTS = 10  # how often a busy database is tried again
WRITING = "crestline_writing"  # the option of a connection whose transaction will write


class Database:
    """One database, opened. `address` names it in messages and holds no password."""

    def __init__(self, connect: Callable[[], Engine], address: str, *, one_connection: bool = False) -> None:
        self.address = address
        self._connect = connect
        self._alone = threading.RLock() if one_connection else nullcontext()
        self._witness: Witness | None = None
        self._needs_witness = True
        self._connect_in_process()

    def use_witness(self, witness: Witness | None) -> None:
        """Tell the witness of every change from now on, before its outcome is returned, and believe it."""
        self._witness = witness

    @property
    def witness(self) -> Witness | None:
        """The witness of every change."""
        return self._witness

    @contextmanager
    def without_witness(self) -> Iterator[None]:
        """Write to a ledger that has a witness without telling it: for its owner, who replaces what it knows."""
        used, self._witness, self._needs_witness = self._witness, None, False
        try:
            yield
        finally:
            self._witness, self._needs_witness = used, True

    def _connect_in_process(self) -> None:
        self._process = os.getpid()
        self._known: Balances | None = None
        self._turn = threading.Condition()
        self._is_writing = False
        self._waiting: list[Job] = []
        self._engine = self._connect()
        self._close = weakref.finalize(self, _dispose, self._engine, self._process)

    def write(self, change: Callable[[Books], T]) -> T:
        """Run `change` in one serialised transaction and return its result, which is durable.

        It may run in another thread, in one transaction with other changes, and again after a conflict. It must decide
        first and post last: a change that raises must not have posted or written anything.
        """
        self._reconnect_after_fork()
        job: Job = (change, Future())
        leads, batch = False, list[Job]()
        try:
            with self._turn:
                self._waiting.append(job)
                self._turn.wait_for(lambda: job[1].done() or not self._is_writing, _timeout())
                if self._is_writing and not job[1].done():
                    late = "another change took too long" if job in self._waiting else "the commit took too long"
                    raise LedgerError(f"ledger {self.address}: {late}; what was reserved stays charged: try again")
                if not job[1].done():
                    leads = self._is_writing = True
                    batch, self._waiting = self._waiting, []
            self._commit(batch)
        finally:
            with self._turn:
                if leads:
                    self._is_writing = False
                if job in self._waiting:  # this thread was interrupted, or was late
                    self._waiting.remove(job)
                for _, future in batch:
                    if not future.done():
                        future.set_exception(LedgerError("the ledger was interrupted: what was reserved stays charged"))
                self._turn.notify_all()
        outcome: T = job[1].result()
        return outcome

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on one consistent snapshot, which no writer can change meanwhile, and return its result."""
        self._reconnect_after_fork()

        def run() -> T:
            with self._engine.connect().execution_options(**self._read_options()) as connection, connection.begin():
                return work(connection)

        with self._alone:
            return self._run_with_retries(run)

    def close(self) -> None:
        """Close all connections."""
        self._close()

    def _commit(self, batch: list[Job]) -> None:
        """Complete every job: in one transaction for all, or, where the database refuses it, in one for each."""
        if not batch:
            return
        try:
            with self._alone:
                outcomes = self._run_with_retries(lambda: self._run_batch(batch))
        except _BatchFailed:
            for job in batch:
                self._commit([job])
        except Exception as error:
            for _, future in batch:  # no exception is shared with another thread
                shared = len(batch) > 1 and isinstance(error, LedgerError)
                future.set_exception(LedgerError(str(error)) if shared else error)
        else:
            for (_, future), (result, failure) in zip(batch, outcomes, strict=True):
                if failure is None:
                    future.set_result(result)
                else:
                    future.set_exception(failure)

    def _run_batch(self, batch: list[Job]) -> list[tuple[object, Exception | None]]:
        """One transaction. Outcomes are returned after it only: a commit that fails is a failure of all."""
        options = self._write_options()
        with self._engine.connect().execution_options(**options) as connection, connection.begin():
            books = Books(connection, self.address, self._witness, self._known, needs_witness=self._needs_witness)
            try:
                outcomes = [_attempt(change, books, alone=len(batch) == 1) for change, _ in batch]
                books.flush()
            except Exception as error:
                if len(batch) == 1 or _fails_all(error):
                    raise
                raise _BatchFailed from None
        self._known = books.committed_balances()
        books.confirm()  # after the commit, and before any outcome is returned: see `witness`
        return outcomes

    def _run_with_retries(self, run: Callable[[], T]) -> T:
        """The result of `run`, again after a conflict with another transaction; database errors become plain words."""
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

    def _write_options(self) -> dict[str, Any]:
        is_sqlite = self._engine.dialect.name == "sqlite"
        return {WRITING: True} if is_sqlite else {"isolation_level": "READ COMMITTED"}

    def _read_options(self) -> dict[str, Any]:
        return {} if self._engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}

    def _reconnect_after_fork(self) -> None:
        """Connections must not cross a fork. The old engine is kept, so that nothing of the parent's is closed here."""
        if self._process != os.getpid():
            self._inherited = self._engine
            self._close.detach()
            self._connect_in_process()


class _BatchFailed(Exception):
    """The changes of a batch cannot be written together."""


def _timeout() -> float | None:
    """Seconds that this thread may wait; None where it has no deadline."""
    left = seconds_left()
    return None if left == math.inf else left


def _attempt(change: Callable[[Books], Any], books: Books, *, alone: bool) -> tuple[object, Exception | None]:
    """The result of a change, or its own error; an error of the database ends the transaction for all."""
    posted = books.number_posted
    try:
        return change(books), None
    except (SQLAlchemyError, UnicodeDecodeError, WitnessError):
        raise
    except Exception as error:
        if alone or books.number_posted > posted:  # it broke the rule: nothing of this transaction is written
            raise
        return None, error


def _fails_all(error: Exception) -> bool:
    """Whether an error is that of every change: the witness is at fault, or the whole batch is tried again, after a
    conflict or where the connection was lost."""
    if not isinstance(error, SQLAlchemyError):
        return isinstance(error, WitnessError)
    return sqlstate(error) in RETRIED or bool(getattr(error, "connection_invalidated", False))


def _dispose(engine: Engine, process: int) -> None:
    if process == os.getpid():
        engine.dispose()
