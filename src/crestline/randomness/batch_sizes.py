"""Batch sizes: trials at a time, so that their tables fit the cache and the memory."""

from __future__ import annotations

from collections.abc import Iterator

LONG = 1024  # columns from which batches are large enough to be drawn sparsely
_CELLS = 1 << 18  # cells of a table of short rows
# Few uniforms of a long row are drawn (sparse_uniforms.py); if all must be, they still fit the memory.
_SPARSE = 1 << 21


def batch_sizes(trials: int, columns: int) -> Iterator[int]:
    """Yield the number of trials of each batch, so that the table of one batch fits the cache."""
    size = max(1, (_CELLS if columns < LONG else _SPARSE) // max(1, columns))
    for start in range(0, trials, size):
        yield min(size, trials - start)
