"""Many trials at once, in tables small enough for the cache and the memory."""

from __future__ import annotations

from collections.abc import Iterator

from crestline.randomness.uniforms import LONG

_CELLS = 1 << 18  # mutate: memory and speed
# Long rows are drawn by heads of 16 bits, a quarter of a word.
_HEADS = 1 << 20  # mutate: memory and speed


def batches(trials: int, columns: int) -> Iterator[int]:
    """How many trials to run at a time, so that one table fits the cache."""
    size = max(1, (_CELLS if columns < LONG else _HEADS) // max(1, columns))
    for start in range(0, trials, size):
        yield min(size, trials - start)
