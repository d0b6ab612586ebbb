"""Measure a mechanism on counts: one vectorised call of `release_many` for each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.randomness.entropy import replay
from crestline.reproduce.data import Shelf
from crestline.reproduce.experiment import Cell, Measure, Numbers
from crestline.reproduce.metrics import score

Make = Callable[[Cell], Any]


def simulated(lines: Mapping[str, Make]) -> Measure:
    """A measure that makes the mechanism of a cell's label and scores its releases.

    A factory gets the cell (k, k_bar, epsilon, delta) and returns anything with `release_many`; where it has a `k_bar`
    of its own, the mechanism sees as many slots as that.
    """

    def measure(cell: Cell, shelf: Shelf) -> Numbers:
        mechanism = lines[cell.label](cell)
        counts = shelf.counts(cell.data)
        seen = ranked(counts, getattr(mechanism, "k_bar", None) or cell.k_bar)
        drawn = mechanism.release_many(seen, cell.trials, replay(cell.key))
        return score([selection.items for selection in drawn], counts, cell.k)

    return measure


def ranked(counts: NDArray[np.int64], k_bar: int) -> Histogram:
    """The best `k_bar` slots and the next count; items are ranks, so that a selection needs no look-up."""
    rows = list(enumerate(counts[: k_bar + 1].tolist()))
    return Histogram.from_ranked([row for row in rows if row[1] > 0], k_bar)
