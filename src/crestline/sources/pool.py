"""Several connections to one table: opened when they are needed, replaced when they were lost, used in turn.

A connection is taken before anything is charged. Where none can be had, the question is refused at no cost.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from crestline.deadline import seconds_left
from crestline.errors import QuestionError, SourceError, SourceUnavailable
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import Limits, Question
from crestline.sources.source import Reading, Source
from crestline.sources.wrappers import ForwardingSource

Result = TypeVar("Result")

_SHORTEST_PAUSE = 0.1


@dataclass(frozen=True)
class PoolLimits:
    """How much is asked of a database at once.

    connections   at most so many are open
    waiting       at most so many questions wait for one of them; the next is refused at once
    seconds       a question that has waited for so long is refused
    pause         after a connection that could not be opened, none is opened for as long as that took, and for at most
                  so many seconds; then one question at a time tries
    """

    connections: int = 1
    waiting: int = 64
    seconds: float = 10.0
    pause: float = 5.0


class Pool(ForwardingSource):
    """A source with connections of its own. `open_source` opens one; the first is opened at once, so that what is wrong
    with
    an address is said when it is given. `clock` gives seconds."""

    def __init__(
        self,
        open_source: Callable[[], Source],
        limits: PoolLimits = PoolLimits(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opened = open_source
        self._allowed = limits
        self._clock = clock
        self._turn = threading.Condition()
        self._newest = open_source()
        self._idle = [self._newest]
        self._busy = 0
        self._waiting = 0
        self._blocked_until = -math.inf
        self._is_lost = False  # whether the last connection could not be opened
        self._is_trying = False

    @property
    def inner(self) -> Source:
        """The source on the newest connection: its name and its columns are the same on every one."""
        return self._newest

    @property
    def limits(self) -> Limits:
        return self._ask_newest(lambda source: source.limits)

    def check(self, question: Question, view: View = SLOTS) -> None:
        self._ask_newest(lambda source: source.check(question, view))

    def version(self) -> str | None:
        return self._ask_newest(lambda source: source.version())

    def _ask_newest(self, action: Callable[[Source], Result]) -> Result:
        """What the source on the newest connection says; one that was lost is replaced first, where one can be had."""
        try:
            return action(self._newest)
        except SourceError:  # the engine was asked over it
            pass
        with self.ready():
            return action(self._newest)

    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> AbstractContextManager[Reading]:
        """What a question reads, on the newest connection, whoever else is using it: `ready` gives one of one's own."""
        return self._newest.reading(question, key, view)

    @contextmanager
    def ready(self) -> Iterator[Source]:
        """A connection that answers, for one question alone."""
        self._acquire_place()
        try:
            with ExitStack() as held:
                yield self._answering_connection(held)
        finally:
            self._release_place()

    def _acquire_place(self) -> None:
        """Wait for one of the places, in a queue of limited length and for a limited time."""
        allowed = self._allowed
        with self._turn:
            if self._busy >= allowed.connections:
                if self._waiting >= allowed.waiting:
                    raise SourceUnavailable("too many questions are waiting for this database", wait=1)
                self._wait_for_place(self._clock() + seconds_left(allowed.seconds))
            self._busy += 1

    def _wait_for_place(self, deadline: float) -> None:
        self._waiting += 1
        try:
            while self._busy >= self._allowed.connections:
                left = deadline - self._clock()
                if left <= 0:
                    raise SourceUnavailable("this database was busy for too long", wait=1)
                self._turn.wait(left)
        finally:
            self._waiting -= 1

    def _release_place(self) -> None:
        with self._turn:
            self._busy -= 1
            self._turn.notify()

    def _answering_connection(self, stack: ExitStack) -> Source:
        """A connection that was used before, if one still answers, and otherwise a new one."""
        while (source := self._pop_idle()) is not None:
            try:
                ready = stack.enter_context(source.ready())
            except SourceUnavailable:
                continue  # it was lost, and nobody holds it any more
            stack.callback(self._push_idle, source)
            self._newest = source
            return ready
        source = self._open_connection()
        stack.callback(self._push_idle, source)
        return stack.enter_context(source.ready())

    def _pop_idle(self) -> Source | None:
        with self._turn:
            return self._idle.pop() if self._idle else None

    def _push_idle(self, source: Source) -> None:
        with self._turn:
            self._idle.append(source)

    def _open_connection(self) -> Source:
        """Open a connection; refuse at once where another question finds out whether one can be opened again."""
        with self._turn:
            allowed = not self._is_lost or (self._clock() >= self._blocked_until and not self._is_trying)
            self._is_trying |= allowed
        if allowed:
            begun = self._clock()
            try:
                self._newest, self._is_lost = self._opened(), False
                return self._newest
            except (SourceError, QuestionError):  # it cannot be reached, or the table is not there any more
                now = self._clock()
                self._blocked_until = now + min(self._allowed.pause, max(_SHORTEST_PAUSE, now - begun))
                self._is_lost = True
            finally:
                self._is_trying = False
        # The whole pause, and not what is left of it: that would tell when somebody else asked.
        raise SourceUnavailable("this database cannot be reached at the moment", wait=math.ceil(self._allowed.pause))
