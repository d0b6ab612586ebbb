"""Batches: every trial once, in tables as large as the cache allows."""

from __future__ import annotations

import pytest

from crestline.randomness import batch_sizes as trials
from crestline.randomness.batch_sizes import LONG, batch_sizes


@pytest.mark.parametrize("columns", [0, 1, 7, 300, LONG - 1, LONG, 5000, 10**7])
@pytest.mark.parametrize("wanted", [0, 1, 2, 1000, 10**6])
def test_every_trial_is_run_once_in_tables_that_fit(wanted: int, columns: int) -> None:
    sizes = list(batch_sizes(wanted, columns))
    assert sum(sizes) == wanted
    assert all(size >= 1 for size in sizes)
    room, width = trials._CELLS if columns < LONG else trials._SPARSE, max(1, columns)
    assert all(size == 1 or size * width <= room for size in sizes)
    assert all(size * width > room - width for size in sizes[:-1])  # no smaller than need be
