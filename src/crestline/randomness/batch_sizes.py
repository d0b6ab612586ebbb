"""Many trials at once, in tables small enough for the cache and the memory."""

from __future__ import annotations

from collections.abc import Iterator

LONG = 1024  # from here on another way is quicker
_CELLS = 1 << 18  # cells of a table, for memory and speed
# Of long rows little is ever drawn (sparse.py); if all of it must be, it still fits the memory.
_SPARSE = 1 << 21


def batch_sizes(trials: int, columns: int) -> Iterator[int]:
    """How many trials to run at a time, so that one table fits the cache."""
    size = max(1, (_CELLS if columns < LONG else _SPARSE) // max(1, columns))
    for start in range(0, trials, size):
        yield min(size, trials - start)
