"""The pairs of users and items of several groups, from which the pairs of each group are made in turn (P15.1).

All pairs are stored once, as numbers; those of one group need only memory for that group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.label_order import Label
from crestline.histogram.pairs import Counts, Pairs, SplitMixHashing
from crestline.histogram.period_pairs import PeriodPairs


@dataclass(frozen=True)
class LabelHashes:
    """Keyed hashes of the label of every user and of every item, indexed by their numbers.

    Hashes with other keys are derived from these, so they depend on labels and keys alone, even where numbers depend on
    the other users in the data.
    """

    users: Counts
    items: Counts


@dataclass(frozen=True)
class PairColumns:
    """Columns of distinct pairs as numbers: group, user, item, and the period if there are several."""

    groups: Counts
    users: Counts
    items: Counts
    periods: Counts | None = None

    def take(self, which: Counts | NDArray[np.bool_]) -> PairColumns:
        """The pairs at these positions."""
        periods = None if self.periods is None else self.periods[which]
        return PairColumns(self.groups[which], self.users[which], self.items[which], periods)


@dataclass(frozen=True)
class PairTable:
    """Distinct pairs, group after group; items are numbered in label order, and named by their numbers.

    Attributes:
        groups: Label of each group.
        starts: Index of the first pair of each group, and the number of all pairs at the end.
        pairs: The pairs.
        digests: Hashes of the labels of users and items.
        floor: A public number: in each group an item is observed if this number of users keep it.
    """

    groups: Sequence[Label]
    starts: Counts
    pairs: PairColumns
    digests: LabelHashes
    floor: int = 1

    @classmethod
    def from_pairs(cls, groups: Sequence[Label], pairs: PairColumns, digests: LabelHashes, floor: int = 1) -> PairTable:
        """Table from pairs in any order, whose group numbers are indices of `groups`."""
        starts = np.cumsum(np.append(0, np.bincount(pairs.groups, minlength=len(groups))))
        ordered = pairs.take(np.lexsort((pairs.items, pairs.users, pairs.groups)))
        return cls(groups, starts, ordered, digests, floor)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # pairs are private, and so is the number of groups
        return "PairTable()"

    def histograms(self) -> Iterator[Pairs]:
        """Pairs of each group."""
        return (self._pairs(slice(*self.starts[row : row + 2].tolist())) for row in range(len(self)))

    def _pairs(self, part: slice) -> Pairs:
        """The pairs of one group, with users and items numbered anew in the same order."""
        users, user = np.unique(self.pairs.users[part], return_inverse=True)
        items, item = np.unique(self.pairs.items[part], return_inverse=True)

        def label_picks(chosen: list[int]) -> list[Label]:
            return [*items[chosen].tolist()]

        hashing = SplitMixHashing(self.digests.users[users], self.digests.items[items])
        if self.pairs.periods is None:
            return Pairs.from_distinct(user, item, label_picks, hashing).with_floor(self.floor)
        return PeriodPairs.from_periods((user, self.pairs.periods[part]), item, label_picks, hashing).with_floor(
            self.floor
        )
