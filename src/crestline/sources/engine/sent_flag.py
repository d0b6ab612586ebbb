"""Whether anything of a question was sent to its engine: decides whether a failure can be given back.

Only what is certain counts. A question is unsent until the moment before its first statement is handed to the driver;
from then on the engine may have read rows, whatever the driver says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_sent: ContextVar[bool] = ContextVar("sent", default=True)  # where nobody watches, anything may have been sent


@contextmanager
def track_sending() -> Iterator[None]:
    """Around one question, in one thread: nothing of it has been sent yet."""
    token = _sent.set(False)
    try:
        yield
    finally:
        _sent.reset(token)


def mark_sent() -> None:
    """From now on something may have been sent. Called before every statement that can read a row."""
    _sent.set(True)


def nothing_was_sent() -> bool:
    """Whether certainly nothing was sent."""
    return not _sent.get()
