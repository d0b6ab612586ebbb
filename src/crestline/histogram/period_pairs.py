"""Pairs of several periods in memory: bounds and weights are for a user and a period (P16.2).

What stands for a user among `Pairs` is here a user in one period, who has, keeps and weighs what they would alone. An
item, or a bucket, then gets the largest of the weights that a user has there over all periods, and a user counts once:
in the number of users of an item, and among those who have so many items in one period.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.histogram.pairs import Counts, Naming, Pairs, SplitMixHashing, sorted_distinct


class PeriodPairs(Pairs):
    """Pairs of users and items, each once in every period."""

    _owners: Counts  # the user of each user in one period

    @classmethod
    def from_periods(
        cls, whose: tuple[Counts, Counts], items: Counts, named: Naming, hashing: SplitMixHashing
    ) -> PeriodPairs:
        """From the user and the period of each pair; hashes are those of users, whatever the period."""
        users, periods = whose
        numbers, period = np.unique(periods, return_inverse=True)
        alone, mine = np.unique(users * max(len(numbers), 1) + period, return_inverse=True)
        owners = alone // max(len(numbers), 1)
        return cls._with_owners(
            owners, cls.from_distinct(mine, items, named, replace(hashing, users=hashing.users[owners]))
        )

    @classmethod
    def _with_owners(cls, owners: Counts, pairs: Pairs) -> PeriodPairs:
        made = cls.__new__(cls)
        vars(made).update(vars(pairs))
        made._owners = owners
        return made

    @cached_property
    def _users_of_items(self) -> Counts:
        return self._distinct_over_periods._users_of_items

    def slots(self, k_bar: int) -> Histogram:
        return self._distinct_over_periods.slots(k_bar)

    @cached_property
    def _distinct_over_periods(self) -> Pairs:
        """Each user with each item once, whatever the periods."""
        width = int(self._items.max(initial=-1)) + 1
        users, items = np.divmod(
            sorted_distinct(self._owners[self._users] * max(width, 1) + self._items), max(width, 1)
        )
        return Pairs.from_distinct(users, items, self._named, self._hashing)

    @property
    def _most_items(self) -> Counts:
        """Of each user the number of items in the period in which they have the most."""
        many, most = self._items_of_users, np.zeros(int(self._owners.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(most, self._owners[: len(many)], many)
        return most

    def _sum_weights(self, users: Counts, places: Counts, weights: Counts, size: int) -> Counts:
        at = self._owners[users] * max(size, 1) + places
        order = np.lexsort((weights, at))
        last = np.append(at[order][1:] != at[order][:-1], True)[: len(order)]  # of equal ones the largest weight
        chosen = order[last]
        return super()._sum_weights(users[chosen], places[chosen], weights[chosen], size)

    def _take(self, users: Counts, items: Counts) -> Pairs:
        return self._with_owners(self._owners, super()._take(users, items))
