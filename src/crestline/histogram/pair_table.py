"""The pairs of users and items of several groups: views of each group's own pairs, one group after the other (P15.1).

All pairs are held once, as numbers. The views of a group are made when it is its turn, and are as large as that group.
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
    """A keyed hash of the label of every user and of every item, by their numbers.

    Hashes with other keys are made of these. So they are functions of labels and keys alone, also where numbers depend
    on who else is in the data.
    """

    users: Counts
    items: Counts


@dataclass(frozen=True)
class PairColumns:
    """Distinct pairs as numbers: the group, the user and the item of each; over several periods its period as well."""

    groups: Counts
    users: Counts
    items: Counts
    periods: Counts | None = None

    def take(self, which: Counts | NDArray[np.bool_]) -> PairColumns:
        """Some of the pairs, or all of them in another order."""
        periods = None if self.periods is None else self.periods[which]
        return PairColumns(self.groups[which], self.users[which], self.items[which], periods)


@dataclass(frozen=True)
class PairTable:
    """Distinct pairs, group after group; items are numbered in label order, and named by their numbers.

    groups    the groups' labels, one for each row of the table
    starts    the pair at which each group begins, and the number of all pairs at the end
    pairs     the pairs
    digests   what stands for users and items where they are hashed
    floor     a public number: in each group only items that at least so many users keep are observed
    """

    groups: Sequence[Label]
    starts: Counts
    pairs: PairColumns
    digests: LabelHashes
    floor: int = 1

    @classmethod
    def from_pairs(cls, groups: Sequence[Label], pairs: PairColumns, digests: LabelHashes, floor: int = 1) -> PairTable:
        """From pairs in any order, whose groups are places among `groups`."""
        starts = np.cumsum(np.append(0, np.bincount(pairs.groups, minlength=len(groups))))
        ordered = pairs.take(np.lexsort((pairs.items, pairs.users, pairs.groups)))
        return cls(groups, starts, ordered, digests, floor)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # pairs are private, and so is the number of groups
        return "PairTable()"

    def histograms(self) -> Iterator[Pairs]:
        """The pairs of the groups, one by one."""
        return (self._pairs(slice(*self.starts[row : row + 2].tolist())) for row in range(len(self)))

    def _pairs(self, part: slice) -> Pairs:
        """The pairs of one group under numbers of their own, which are in the same order."""
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
