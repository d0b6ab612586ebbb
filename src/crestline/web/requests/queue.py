"""Questions wait in a queue of limited length and run in threads of their own: nothing else waits for a database.

A question that finds no place, or waits for too long, is refused before anything is charged; one whose asker has gone
is not asked at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

from crestline.web.problems import Problem

if TYPE_CHECKING:
    import anyio

Result = TypeVar("Result")

GONE = 499
"""The status for a request whose sender has gone; nobody reads it."""


class QuestionQueue:
    """The questions of one data set: `at_once` run, `waiting` more may wait, for `seconds` at most.

    `place` is entered while a question waits for its turn, by whoever counts them.
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
        self._threads: anyio.CapacityLimiter | None = None

    @property
    def length(self) -> int:
        """How many questions run or wait."""
        return self._taken

    async def run(self, question: Callable[[], Result], gone: Callable[[], Awaitable[bool]]) -> Result:
        """What `question` gives, run in a thread when its turn has come. `gone` tells whether the asker has left."""
        import anyio.to_thread  # with the web server's packages, which a configuration can be checked without

        if self._taken >= self._places:
            raise busy("Too many questions are waiting for this data set.")
        self._taken += 1
        try:
            threads = self._limiter()
            with self._place(), anyio.move_on_after(self._seconds) as waiting:
                await threads.acquire_on_behalf_of(waiting)
            if waiting.cancelled_caught:
                raise busy("This data set was busy for too long.")
            try:
                if await gone():
                    raise Problem(GONE, "gone", "The asker has gone; nothing was charged.")
                return await anyio.to_thread.run_sync(question, limiter=anyio.CapacityLimiter(1))
            finally:
                threads.release_on_behalf_of(waiting)
        finally:
            self._taken -= 1

    def _limiter(self) -> anyio.CapacityLimiter:
        """Made with the first question, since it belongs to the loop that it is made in."""
        import anyio

        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self._at_once)
        return self._threads


def busy(why: str) -> Problem:
    """A refusal for want of room: free, and good for another try a second later."""
    return Problem(503, "busy", f"{why} Nothing was charged; try again in a moment.", wait=1)
