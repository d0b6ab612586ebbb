"""One thread watches all statements of this process: a thread for each costs more than many of them take."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_AGAIN = 0.01
_FAR = 3600.0


@dataclass(eq=False)
class _Running:
    """A statement that runs. Its lock is held while it is interrupted, so that its successor never is."""

    due: float
    late: threading.Event
    interrupt: Callable[[], None]
    turn: threading.Lock = field(default_factory=threading.Lock)
    ended: bool = False

    def is_due(self, now: float) -> bool:
        """Interrupt it if it is late. An interrupt between two statements or jobs is forgotten, so it is repeated
        until ours has ended."""
        if now < self.due:
            return False
        with self.turn:
            if not self.ended:
                self.late.set()
                self.interrupt()
        return True

    def stop(self) -> None:
        """Interrupt it though it is not late."""
        with self.turn:
            if not self.ended:
                self.interrupt()

    def end(self) -> None:
        with self.turn:
            self.ended = True


class _TimeoutThread:
    """Starts its thread with the first statement."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._running: set[_Running] = set()
        self._wakes = 0.0
        self._thread: threading.Thread | None = None

    def add(self, one: _Running) -> None:
        with self._change:
            self._running.add(one)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, daemon=True, name="crestline-watch")
                self._wakes = one.due
                self._thread.start()
            elif one.due < self._wakes:
                self._change.notify()

    def remove(self, one: _Running) -> None:
        one.end()
        with self._change:
            self._running.discard(one)

    def stop(self) -> None:
        with self._change:
            running = list(self._running)
        for one in running:
            one.stop()

    def _watch(self) -> None:
        while True:
            with self._change:
                now = time.monotonic()
                self._wakes = min((one.due for one in self._running), default=now + _FAR)
                if self._wakes > now:
                    self._change.wait(self._wakes - now)
            if self._interrupt_late():
                time.sleep(_AGAIN)

    def _interrupt_late(self) -> int:
        """Interrupt what is late, and say how many; a function, so that nothing holds a connection afterwards."""
        with self._change:
            running = list(self._running)
        now = time.monotonic()
        return sum(one.is_due(now) for one in running)


_WATCHES = [_TimeoutThread()]


def _start_after_fork() -> None:
    """A process that was forked has no thread yet."""
    _WATCHES[0] = _TimeoutThread()


os.register_at_fork(after_in_child=_start_after_fork)


@contextmanager
def interrupt_after(timeout: float, late: threading.Event, interrupt: Callable[[], None]) -> Iterator[None]:
    """Set `late` and interrupt what runs in the context once `timeout` seconds are over, until it has ended."""
    one = _Running(time.monotonic() + timeout, late, interrupt)
    _WATCHES[0].add(one)
    try:
        yield
    finally:
        _WATCHES[0].remove(one)


def interrupt_statements() -> None:
    """Interrupt every statement that runs now: a person wants the command to end.

    DuckDB notices Ctrl-C by itself, but then waits for its threads, which only stop when they are interrupted.
    """
    _WATCHES[0].stop()
