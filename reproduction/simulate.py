"""Measure a mechanism on counts: one vectorised call of `release_many` for each cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.randomness.entropy import replay
from reproduction.data import Shelf
from reproduction.experiment import Cell, Estimate, Measure, Numbers
from reproduction.metrics import score

Make = Callable[[Cell], Any]
More = Callable[[Sequence[Sequence[int]], NDArray[np.int64], int], Numbers]


def _nothing(ranks: Sequence[Sequence[int]], counts: NDArray[np.int64], k: int) -> Numbers:
    return {}


def simulated(lines: Mapping[str, Make], more: More = _nothing) -> Measure:
    """A measure that makes the mechanism of a cell's label and scores its releases.

    A factory gets the cell (k, k_bar, epsilon, delta) and returns anything with `release_many`; where it has a `k_bar`
    of its own, the mechanism sees as many slots as that. `more` scores the released ranks in further ways.
    """

    def measure(cell: Cell, shelf: Shelf) -> Numbers:
        mechanism = lines[cell.label](cell)
        counts = shelf.counts(cell.data)
        seen = ranked(counts, getattr(mechanism, "k_bar", None) or cell.k_bar)
        drawn = mechanism.release_many(seen, cell.trials, replay(cell.key))
        ranks = [tuple(selection.items) for selection in drawn]
        return {**score(ranks, counts, cell.k), **more(ranks, counts, cell.k)}

    return measure


def spread(lines: Mapping[str, Make], more: More = _nothing, *, draws: int = 24, share: float = 0.02) -> Measure:
    """How much a cell's numbers move with the data: every count moved at random by up to `share`, `draws` times.

    For data that were put together again. The value is the mean over such data, the error their standard deviation (not
    that of the mean): what the published number may differ by. A cell's trials are shared out among the draws.
    """

    def measure(cell: Cell, shelf: Shelf) -> Numbers:
        mechanism, entropy = lines[cell.label](cell), replay(cell.key)
        counts = shelf.counts(cell.data)
        found: list[Numbers] = []
        for _ in range(draws):
            moved = _moved(counts, share, entropy.words(4).tolist())
            seen = ranked(moved, getattr(mechanism, "k_bar", None) or cell.k_bar)
            drawn = mechanism.release_many(seen, max(2, cell.trials // draws), entropy)
            ranks = [tuple(selection.items) for selection in drawn]
            found.append({**score(ranks, moved, cell.k), **more(ranks, moved, cell.k)})
        columns = {name: np.array([numbers[name].value for numbers in found]) for name in found[0]}
        return {name: Estimate(float(values.mean()), float(values.std(ddof=1))) for name, values in columns.items()}

    return measure


def _moved(counts: NDArray[np.int64], share: float, key: list[int]) -> NDArray[np.int64]:
    factors = np.random.default_rng(key).uniform(1 - share, 1 + share, len(counts))
    moved: NDArray[np.int64] = np.sort(np.rint(counts * factors).astype(np.int64))[::-1].copy()
    return moved


def ranked(counts: NDArray[np.int64], k_bar: int) -> Histogram:
    """The best `k_bar` slots and the next count; items are ranks, so that a selection needs no look-up."""
    rows = list(enumerate(counts[: k_bar + 1].tolist()))
    return Histogram.from_ranked([row for row in rows if row[1] > 0], k_bar)
