"""The deadline of the work of this thread: what waits for a socket, a lock or a turn waits no longer than that.

Work without a deadline waits as long as its own settings say. Work that has been charged is settled: it may take until
a second, later deadline, because what was paid for must not be lost.
"""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from psycopg import Connection

Result = TypeVar("Result")

_ENDS: ContextVar[tuple[float, float]] = ContextVar("deadline", default=(math.inf, math.inf))


@contextmanager
def end_within(seconds: float, settling: float = 0.0) -> Iterator[None]:
    """Set a deadline for the work in the context, unless an earlier one holds.

    Args:
        seconds: Time until the work must have ended.
        settling: Time after this in which what was charged may be settled (`settle_charged`).
    """
    end, last = _ENDS.get()
    own = time.monotonic() + seconds
    before = _ENDS.set((min(end, own), min(last, own + settling)))
    try:
        yield
    finally:
        _ENDS.reset(before)


@contextmanager
def settle_charged() -> Iterator[None]:
    """Let the work in the context take until the later deadline."""
    _, last = _ENDS.get()
    before = _ENDS.set((last, last))
    try:
        yield
    finally:
        _ENDS.reset(before)


def seconds_left(most: float = math.inf) -> float:
    """Seconds until the deadline, at least 0 and at most `most`."""
    return max(0.0, min(most, _ENDS.get()[0] - time.monotonic()))


def is_late(seconds: float = 0.0) -> bool:
    """Whether the deadline was reached that long ago."""
    return time.monotonic() >= _ENDS.get()[0] + seconds


@cache
def timed_connection() -> type[Connection[Any]]:
    """The class of connections of psycopg that are closed when a server stays silent until the deadline.

    libpq has no such limit: its own are for connecting, and for networks that lose packets.
    """
    from psycopg import Connection, OperationalError

    class TimedConnection(Connection[Any]):
        late = 0.0
        """Seconds beyond the deadline for a server that keeps time itself, and says so."""

        def wait(self, gen: Generator[Any, Any, Result], interval: float = 0.1, timeout: float | None = None) -> Result:
            """Complete a generator of psycopg on the socket; it is resumed every tenth of a second."""
            options = {} if timeout is None else {"timeout": timeout}  # not known to psycopg 3.2
            return super().wait(self._end_in_time(gen), interval, **options)

        def _end_in_time(self, gen: Generator[Any, Any, Result]) -> Generator[Any, Any, Result]:
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    if not ready and is_late(self.late):
                        self.pgconn.finish()
                        raise OperationalError("the server does not answer in time")
                    wanted = gen.send(ready)
            except StopIteration as end:
                result: Result = end.value
            return result

    return TimedConnection
