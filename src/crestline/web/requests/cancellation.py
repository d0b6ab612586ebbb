"""Whether a question may still be charged: one whose asker has gone, or cancelled it, before that costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from crestline.web.problems import Problem

Step: TypeAlias = Literal["waiting", "begun", "counting", "unknown"]

GONE = 499
"""The status for a request whose sender has gone; it is not read."""


class Ticket:
    """One question: given up, or about to be charged, whichever comes first. `begun`: its turn has come."""

    def __init__(self) -> None:
        self.begun = False
        self._turn = threading.Lock()
        self._given_up = False
        self._charged = False

    @property
    def step(self) -> Step:
        """How far it has come. This depends on the queue and on the ledger, and on no row."""
        if not self.begun:
            return "waiting"
        return "counting" if self._charged else "begun"

    def cancel(self) -> bool:
        """The asker has gone. Whether that was in time: then it is not charged."""
        with self._turn:
            self._given_up = not self._charged
            return self._given_up

    def charge(self) -> None:
        """From here on it may be charged; refused where the asker has gone."""
        with self._turn:
            if self._given_up:
                raise asker_gone_problem()
            self._charged = True


class Tickets:
    """The questions with a key that wait or run in this process, by who asks."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], Ticket] = {}

    @contextmanager
    def open_ticket(self, who: str, key: str | None) -> Iterator[Ticket]:
        """The ticket of one question, known by its key until it has ended."""
        ticket = Ticket()
        if key is None:
            yield ticket
            return
        self._open[who, key] = ticket
        try:
            yield ticket
        finally:
            if self._open.get((who, key)) is ticket:
                del self._open[who, key]

    def step(self, who: str, key: str) -> Step:
        """How far a question has come, as far as this process knows."""
        ticket = self._open.get((who, key))
        return "unknown" if ticket is None else ticket.step


def asker_gone_problem() -> Problem:
    """The refusal that is not read."""
    return Problem(GONE, "gone", "The asker has gone; nothing was charged.")
