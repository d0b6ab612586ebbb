"""Precision of ball arithmetic, set only here, since the library has one for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from flint import ctx

BITS = 160  # more bits make balls smaller, fewer never make them wrong
_TURN = RLock()


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Compute with `bits` bits inside the context; a lower precision widens the balls and never makes them wrong.

    Threads take turns: otherwise one would compute with the precision of another, or leave its own behind.
    """
    with _TURN, ctx.workprec(bits):
        yield


def current_bits() -> int:
    """The precision now; only inside `precision` no other thread changes it."""
    return int(ctx.prec)
