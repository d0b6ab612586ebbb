"""The observed items of several groups: the number of items of each group that have each score (P15.1, P17.2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems

Indices = NDArray[np.int64]
Pick: TypeAlias = tuple[int, int, int]  # a row of the table, a score, and an index among the row's items of that score


@dataclass(frozen=True)
class ObservedTable:
    """Classes of equal scores, group after group, in each group the largest score first.

    Attributes:
        groups: Label of each group.
        starts: Index of the first class of each group, and the number of all classes at the end.
        scores: Score of each class.
        sizes: Number of items in each class.
        names: Function from picked items to their labels; called once for a whole release.
        unit: Largest score of an item from one user.
        floor: A public number: only items that this number of users keep are observed, with scores reduced by it.
    """

    groups: Sequence[Label]
    starts: Indices
    scores: Indices
    sizes: Indices
    names: Callable[[Sequence[Pick]], Sequence[Label]]
    unit: int = 1
    floor: int = 1

    @classmethod
    def from_histograms(cls, histograms: Sequence[tuple[Label, ObservedItems]]) -> ObservedTable:
        """Table from the observed items of each group, all with the same unit and floor."""
        parts = [part for _, part in histograms]

        def names(picks: Sequence[Pick]) -> list[Label]:
            places = [(parts[row], int(np.flatnonzero(parts[row].scores == score)[0]), at) for row, score, at in picks]
            return [part.name(int(part.starts[group]) + at) for part, group, at in places]

        none = np.zeros(0, dtype=np.int64)
        return cls(
            [label for label, _ in histograms],
            np.cumsum([0, *(len(part.scores) for part in parts)]),
            np.concatenate([none, *(part.scores for part in parts)]),
            np.concatenate([none, *(np.diff(part.starts) for part in parts)]),
            names,
            parts[0].unit if parts else 1,
            parts[0].floor if parts else 1,
        )

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # scores are private, and so is the number of groups
        return "ObservedTable()"

    def histograms(self) -> Iterator[ObservedItems]:
        """Observed items of each group."""
        for row in range(len(self)):
            part = slice(int(self.starts[row]), int(self.starts[row + 1]))
            how_many = dict(zip(self.scores[part].tolist(), self.sizes[part].tolist(), strict=True))
            yield ObservedItems(how_many, unit=self.unit, floor=self.floor, named=partial(self._label_picks, row))

    def _label_picks(self, row: int, picks: Sequence[tuple[int, int]]) -> Sequence[Label]:
        return self.names([(row, score, place) for score, place in picks])
