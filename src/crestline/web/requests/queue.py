"""Questions wait in a queue of limited length and run in threads of their own: nothing else waits for a database.

A question that finds no place, or waits for too long, is refused before anything is charged; one whose asker has gone
is not asked at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from crestline.deadline import seconds_left
from crestline.web.problems import Problem
from crestline.web.requests.cancellation import Ticket
from crestline.web.requests.cancellation import asker_gone_problem as asker_gone

if TYPE_CHECKING:
    import anyio

Result = TypeVar("Result")

_LOOK = 0.25  # seconds between two looks whether an asker is still there


class QuestionQueue:
    """The questions of one data set: `at_once` run, `waiting` more may wait, for `seconds` at most.

    `place` is entered while a question waits for its turn, by the caller that counts them.
    """

    def __init__(
        self,
        at_once: int,
        waiting: int,
        seconds: float,
        place: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._at_once = at_once
        self._places = at_once + waiting
        self._seconds = seconds
        self._place = place
        self._taken = 0
        self._closed = False
        self._threads: anyio.CapacityLimiter | None = None

    @property
    def waiting_or_running(self) -> int:
        """How many questions run or wait."""
        return self._taken

    def close(self) -> None:
        """From now on no question begins: those that wait are refused, and those that run go on. From any thread."""
        self._closed = True

    async def run_in_turn(
        self, question: Callable[[], Result], has_left: Callable[[], Awaitable[bool]], ticket: Ticket | None = None
    ) -> Result:
        """What `question` gives, run in a thread when its turn has come. `has_left` tells whether the asker has left.

        One who leaves while the question waits, or runs and is not charged yet, is not charged.
        """
        import anyio  # with the web server's packages, which a configuration can be checked without

        if self._closed:
            raise _closing_problem()
        if self._taken >= self._places:
            raise busy_problem("Too many questions are waiting for this data set.")
        self._taken += 1
        ticket, outcome = ticket or Ticket(), list[Result | Problem]()
        try:
            async with anyio.create_task_group() as both:
                both.start_soon(self._watch, ticket, has_left, both.cancel_scope)
                try:
                    outcome.append(await self._run_when_free(question, has_left, ticket))
                except Problem as problem:  # a group would wrap it
                    outcome.append(problem)
                both.cancel_scope.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self._taken -= 1
        if not outcome:
            raise _closing_problem() if self._closed else asker_gone()
        if isinstance(outcome[0], Problem):
            raise outcome[0]
        return outcome[0]

    async def _run_when_free(
        self, question: Callable[[], Result], has_left: Callable[[], Awaitable[bool]], ticket: Ticket
    ) -> Result:
        import anyio.to_thread

        threads = self._thread_limiter()
        with self._place(), anyio.move_on_after(seconds_left(self._seconds)) as waiting:
            await threads.acquire_on_behalf_of(waiting)
        if waiting.cancelled_caught:
            raise busy_problem("This data set was busy for too long.")
        try:
            if await has_left():
                raise asker_gone()
            if self._closed:
                raise _closing_problem()
            ticket.begun = True
            return await anyio.to_thread.run_sync(question, limiter=anyio.CapacityLimiter(1))
        finally:
            threads.release_on_behalf_of(waiting)

    async def _watch(self, ticket: Ticket, has_left: Callable[[], Awaitable[bool]], waiting: anyio.CancelScope) -> None:
        """Look now and then whether the asker is still there, and whether the service is ending; a question that waits
        for its turn is dropped at once.

        A thread cannot be cancelled: it is refused when it is about to charge, or ends its work.
        """
        import anyio

        while True:
            await anyio.sleep(_LOOK)
            if (self._closed and not ticket.begun) or await has_left():
                ticket.cancel()
                waiting.cancel()
                return

    def _thread_limiter(self) -> anyio.CapacityLimiter:
        """Made with the first question, since it belongs to the loop that it is made in."""
        import anyio

        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self._at_once)
        return self._threads


def busy_problem(why: str) -> Problem:
    """A refusal for want of room: free, and good for another try a second later."""
    return Problem(503, "busy", f"{why} Nothing was charged; try again in a moment.", wait=1)


def _closing_problem() -> Problem:
    return busy_problem("The service is ending.")
