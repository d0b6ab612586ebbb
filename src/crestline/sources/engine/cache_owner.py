"""For whom the work of this thread is done: what is remembered for one person is not used for another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_ASKER: ContextVar[str] = ContextVar("asker", default="")


def cache_owner() -> str:
    """The name of whoever asks; empty where it does not matter."""
    return _ASKER.get()


@contextmanager
def use_cache_of(name: str) -> Iterator[None]:
    """Keep what is remembered in the context apart from what is remembered for others: from the time a question takes
    nobody is to learn what somebody else has asked."""
    before = _ASKER.set(name)
    try:
        yield
    finally:
        _ASKER.reset(before)
