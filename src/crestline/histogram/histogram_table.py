"""Tables of histograms, one for each group, all of one width, for mechanisms that release them at once (P15.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label, Padding

Naming = Callable[[int, int], Label]  # from a row and a slot to the item there


@dataclass(frozen=True)
class HistogramTable:
    """The ranked, cut and padded counts of several groups (P0.5, P0.6).

    Attributes:
        groups: Label of each group.
        array: Counts of the `k_bar` slots of each group, largest first; zero where a slot is empty.
        next_counts: Count of rank `k_bar + 1` of each group.
        filled_slots: Number of slots of each group that hold an item.
        name: Function from a row and a slot to the item there; called only for released items.
        unit: Largest change of one count by one user.
    """

    groups: Sequence[Label]
    array: NDArray[np.int64]
    next_counts: NDArray[np.int64]
    filled_slots: NDArray[np.int64]
    name: Naming
    unit: int = 1

    @classmethod
    def from_histograms(cls, histograms: Iterable[tuple[Label, Histogram]]) -> HistogramTable:
        """Table from histograms with the same `k_bar` and unit.

        Raises:
            HistogramError: They differ in `k_bar` or unit.
        """
        labels, rows = [], []
        for label, histogram in histograms:
            labels.append(label)
            rows.append(histogram)
        if len({(row.k_bar, row.unit) for row in rows}) > 1:
            raise HistogramError("the histograms of one table have the same k_bar and the same unit")
        width = rows[0].k_bar if rows else 1
        return cls(
            labels,
            np.array([row.array for row in rows], dtype=np.int64).reshape(len(rows), width),
            np.array([row.next_count or 0 for row in rows], dtype=np.int64),
            np.array([row.filled for row in rows], dtype=np.int64),
            lambda row, slot: rows[row].name(slot),
            rows[0].unit if rows else 1,
        )

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # counts are private, and so is the number of groups
        return f"HistogramTable(k_bar={self.k_bar})"

    @property
    def k_bar(self) -> int:
        """Number of slots of each group."""
        return int(self.array.shape[1])

    @property
    def relative_counts(self) -> NDArray[np.int64]:
        """Counts less the next count of their group: only differences matter, and small numbers lose no digits."""
        return self.array - self.next_counts[:, None]

    def rows(self, first: int, last: int) -> HistogramTable:
        """Table of the groups from `first` up to `last`."""
        return self.take(np.arange(first, last))

    def take(self, rows: NDArray[np.int64]) -> HistogramTable:
        """Table of the groups with these numbers."""
        return HistogramTable(
            [self.groups[row] for row in rows.tolist()],
            self.array[rows],
            self.next_counts[rows],
            self.filled_slots[rows],
            lambda row, slot: self.name(int(rows[row]), slot),
            self.unit,
        )

    def histogram(self, row: int) -> Histogram:
        """Histogram of one group."""
        filled = int(self.filled_slots[row])
        items = tuple(self.name(row, slot) for slot in range(filled))
        empty = tuple(Padding(place) for place in range(self.k_bar - filled))
        counts = self.array[row].copy()
        return Histogram((*items, *empty), counts, int(self.next_counts[row]), unit=self.unit, filled=filled)

    def histograms(self) -> Iterator[Histogram]:
        """Histogram of each group."""
        return (self.histogram(row) for row in range(len(self)))


@dataclass(frozen=True)
class ListedTable:
    """Histograms over one public list of items, one for each group of a public list of groups."""

    groups: Sequence[Label]
    parts: Sequence[Histogram]

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # counts are private
        return f"ListedTable({len(self)} groups)"

    def histograms(self) -> Iterator[Histogram]:
        """Histogram of each group."""
        return iter(self.parts)


def build_ranked_table(
    groups: Sequence[Label],
    starts: NDArray[np.int64],
    counts: NDArray[np.int64],
    k_bar: int,
    name: Callable[[int], Label],
    unit: int = 1,
) -> HistogramTable:
    """Table from rows that an engine ranked.

    Args:
        groups: Label of each group.
        starts: Index of the first row of each group, and the number of all rows at the end; a group may have none.
        counts: Count of each row, in each group the largest first; at most `k_bar + 1` rows for each group.
        k_bar: Number of slots.
        name: Function from a row to its item.
        unit: Largest change of one count by one user.
    """
    sizes = np.diff(starts)
    table = np.zeros((len(groups), k_bar + 1), dtype=np.int64)
    row = np.repeat(np.arange(len(groups)), sizes)
    table[row, np.arange(len(counts)) - starts[row]] = counts
    return HistogramTable(
        groups,
        table[:, :k_bar],
        table[:, k_bar],
        np.minimum(sizes, k_bar),
        lambda group, slot: name(int(starts[group]) + slot),
        unit,
    )
