"""Group commit: all who wait to write are written together, in one transaction, and each returns once it is durable.

Nobody waits for company: the first to come writes at once, for itself. Those who come meanwhile wait, and the first of
them then writes for all of them. So one writer alone is as quick as ever, and many share the cost of one commit. There
is one writer at a time in a process, and no thread of its own that a fork, a signal or the end of the program could
lose.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeAlias, TypeVar, cast

from crestline.errors import LedgerError

T = TypeVar("T")
Works: TypeAlias = "Operation[Any]"


@dataclass(frozen=True)
class PreloadKeys:
    """What an operation is known to look up, so that it is read for all operations of a batch at once: reservations
    by their numbers, and stored answers by their keys."""

    receipts: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()


NOTHING = PreloadKeys()


@dataclass(eq=False)
class Operation(Generic[T]):
    """Something to be done inside a transaction, and what it came to.

    work      is handed the transaction; it may be run again, after everything was rolled back
    charges   whether it goes through the `Transaction` of the ledger, and can be forgotten by itself; otherwise it is
              handed the connection
    """

    work: Callable[[Any], T]
    charges: bool
    needs: PreloadKeys = NOTHING
    result: T | None = None
    error: BaseException | None = None
    has_ended: bool = False
    leads: bool = False  # its thread is the next to write
    was_written: bool = False  # its thread has begun to write
    _woken: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._woken.acquire()

    def end(self, *, result: T | None = None, error: BaseException | None = None) -> None:
        """Say what it came to."""
        self.result, self.error, self.has_ended = result, error, True

    def wake_waiter(self) -> None:
        """Let the thread go on that waits for it."""
        self._woken.release()

    def wait(self) -> None:
        """Sleep until `wake_waiter`."""
        self._woken.acquire()

    def outcome(self) -> T:
        """What it came to, in the thread that asked for it."""
        if self.error is not None:
            raise self.error
        return cast("T", self.result)


class CommitQueue:
    """The writers of one process. `write` must end every operation of a batch, durably or with an error."""

    def __init__(self, write: Callable[[list[Works]], None]) -> None:
        self._write = write
        self._guard = threading.Lock()
        self._waiting: list[Works] = []
        self._busy = False

    def commit_operation(self, operation: Operation[T]) -> T:
        """Do it, together with others if others wait; returns when it is durable."""
        with self._guard:
            operation.leads = not self._busy
            if self._busy:
                self._waiting.append(operation)
            self._busy = True
        try:
            if not operation.leads:
                operation.wait()
            if not operation.has_ended:
                self._write_waiting_batch(operation)
        except BaseException:
            self._pass_turn_on(operation)
            raise
        return operation.outcome()

    def _write_waiting_batch(self, own: Works) -> None:
        """Write for everybody who waits, and leave the turn to the first of those who come meanwhile."""
        with self._guard:
            batch = [own, *(other for other in self._waiting if other is not own)]
            self._waiting, own.was_written = [], True
        try:
            self._write(batch)
        finally:
            for operation in batch:
                if not operation.has_ended:  # this thread was interrupted
                    operation.end(error=LedgerError("the ledger was interrupted: what was reserved stays charged"))
            with self._guard:
                following = self._next()
            for operation in [*batch[1:], *following]:
                operation.wake_waiter()

    def _pass_turn_on(self, own: Works) -> None:
        """A thread that is interrupted while it waits leaves its turn to the next, so that nobody waits for ever."""
        with self._guard:
            if own in self._waiting:
                self._waiting.remove(own)
            following = self._next() if own.leads and not own.was_written else []
        for operation in following:
            operation.wake_waiter()

    def _next(self) -> list[Works]:
        """Whose turn it is now; nobody's where nobody waits."""
        self._busy = bool(self._waiting)
        following = self._waiting[:1]
        for operation in following:
            operation.leads = True
        return following
