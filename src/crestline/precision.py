"""The one place that sets the precision of ball arithmetic: the library has one for the whole process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from flint import ctx

BITS = 160  # enough bits; balls carry their own error
_TURN = RLock()


@contextmanager
def precision(bits: int = BITS) -> Iterator[None]:
    """Ball arithmetic with `bits` bits; a lower precision widens the balls and never makes them wrong.

    Threads take turns: otherwise one would work with the bits of another, and leave them behind for everybody.
    """
    with _TURN, ctx.workprec(bits):
        yield


def current_bits() -> int:
    """The precision in force; it stays what it is only inside `precision`."""
    return int(ctx.prec)
