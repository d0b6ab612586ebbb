"""Whether a question may still be charged: one whose asker has gone, or cancelled it, before that costs nothing."""

from __future__ import annotations

import threading
from contextvars import ContextVar

from crestline.web.problems import Problem

GONE = 499
"""The status for a request whose sender has gone; nobody reads it."""


class Ticket:
    """One question: given up, or about to be charged, whichever comes first."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._given_up = False
        self._charged = False

    def give_up(self) -> bool:
        """The asker has gone. Whether that was in time: then it is not charged."""
        with self._turn:
            self._given_up = not self._charged
            return self._given_up

    def charge(self) -> None:
        """From here on it may be charged; refused where the asker has gone."""
        with self._turn:
            if self._given_up:
                raise gone()
            self._charged = True


_current: ContextVar[Ticket | None] = ContextVar("ticket", default=None)


def hold(ticket: Ticket) -> None:
    """From here on this task, and the threads that it starts, answer the question of this ticket."""
    _current.set(ticket)


def may_be_charged() -> None:
    """Called by whoever is about to charge for the question that this thread answers."""
    ticket = _current.get()
    if ticket is not None:
        ticket.charge()


def gone() -> Problem:
    """The refusal that nobody reads."""
    return Problem(GONE, "gone", "The asker has gone; nothing was charged.")
