"""Mechanisms over a public list of all items: counts by their multiplicities, so that any number of items is cheap."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.randomness.entropy import replay
from reproduction.data import Shelf
from reproduction.experiment import Cell, Measure, Numbers
from reproduction.metrics import score
from reproduction.simulate import Make


def over_public_items(lines: Mapping[str, Make]) -> Measure:
    """A measure over all items of the data; a cell's `extra` adds so many items of count one."""

    def measure(cell: Cell, shelf: Shelf) -> Numbers:
        counts = shelf.counts(cell.data)
        values, sizes = np.unique(counts, return_counts=True)
        many = dict(zip(values.tolist(), sizes.tolist(), strict=True))
        many[1] = many.get(1, 0) + int(dict(cell.more).get("extra", 0))
        drawn = lines[cell.label](cell).release_many(Histogram.from_multiplicities(many), cell.trials, replay(cell.key))
        first = {int(value): int((counts > value).sum()) for value in values}
        last = len(counts) - 1  # an added item has count one, as the last of the data has
        ranks = [[min(first[count] + place, last) for count, place in selection.items] for selection in drawn]
        return score(ranks, counts, cell.k)

    return measure
