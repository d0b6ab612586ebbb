"""Work in children of this process, several at a time, each with bounds on its processor time, memory and patience."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, TypeVar

T = TypeVar("T")

MEMORY = 6 << 30
"""Bytes of addresses that a child may use: thrice what unchanged tests need. One that wants more is stopped."""


@dataclass(frozen=True)
class Child(Generic[T]):
    """A child at work for `what`. It is stopped once it has slept for `patience` seconds: some only wait.

    While it waits for a processor it does not sleep: on a busy machine no child is stopped that would not be otherwise.
    """

    what: T
    number: int
    patience: float
    start: float = field(default_factory=time.monotonic)

    def done(self) -> tuple[bool, int | None]:
        """Whether it has ended, and its exit code: None when it was stopped, for whatever it took too much of."""
        found, status = os.waitpid(self.number, os.WNOHANG)
        if found:
            self._sweep()
            code = os.waitstatus_to_exitcode(status)
            return True, None if code in (-signal.SIGXCPU, -signal.SIGKILL) else code
        if self.asleep < self.patience:
            return False, None
        self._sweep()
        os.waitpid(self.number, 0)
        return True, None

    @property
    def asleep(self) -> float:
        """Seconds in which it neither ran nor could have run. Where the system does not say, all since its start."""
        awake = 0.0
        with suppress(OSError):
            ran, ready, _ = Path(f"/proc/{self.number}/schedstat").read_text().split()
            awake = (int(ran) + int(ready)) / 1e9
        return time.monotonic() - self.start - awake

    def _sweep(self) -> None:
        """It may have left children of its own."""
        with suppress(ProcessLookupError):
            os.killpg(self.number, signal.SIGKILL)


def started(what: T, processor: float, work: Callable[[], int]) -> Child[T]:
    """A child that does the work within so many seconds of processor time."""
    number = os.fork()
    if number == 0:
        code = 1
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (int(processor) + 1, int(processor) + 2))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            code = work()
        except MemoryError:
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(code)
    with suppress(ProcessLookupError, PermissionError):  # so that it can be swept up even before it does this itself
        os.setpgid(number, number)
    return Child(what, number, 60 + 4 * processor)


def ended(children: Iterable[Child[T]], many: int) -> Iterator[tuple[Child[T], int | None]]:
    """Each child and its exit code as it ends; the next is started (taken from the iterable) when `many` are not."""
    waiting, busy, more = iter(children), list[Child[T]](), True
    try:
        while busy or more:
            while more and len(busy) < many:
                following = next(waiting, None)
                more = following is not None
                busy += [following] if following is not None else []
            for child in list(busy):
                over, code = child.done()
                if over:
                    busy.remove(child)
                    yield child, code
            time.sleep(0.005)
    finally:
        for child in busy:  # somebody has lost patience
            with suppress(ProcessLookupError):
                os.killpg(child.number, signal.SIGTERM)


def silence() -> None:
    """Nothing that this process says from here on is heard."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def in_child(processor: float, work: Callable[[], int]) -> int | None:
    """What the work returns in one child; None when it was stopped."""
    return next(code for _, code in ended([started(None, processor, work)], 1))
