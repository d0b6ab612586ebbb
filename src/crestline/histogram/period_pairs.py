"""Pairs of several periods in memory, with bounds and weights for each user and period (P16.2).

A user of the underlying `Pairs` is here a user in one period, with items, bound and weight of that period alone. An
item, or a bucket, then gets the largest weight that a user has there in any period, and a user counts once: in the
number of users of an item, and in the cell of the largest number of items in one period.
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
        """Pairs from the users and periods in `whose`, and the items; hashes of users do not depend on the period."""
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
    def _users_by_item(self) -> Counts:
        return self._distinct_over_periods._users_by_item

    def slots(self, k_bar: int) -> Histogram:
        return self._distinct_over_periods.slots(k_bar)

    @cached_property
    def _distinct_over_periods(self) -> Pairs:
        """Each user with each item once, regardless of the period."""
        width = int(self._items.max(initial=-1)) + 1
        users, items = np.divmod(
            sorted_distinct(self._owners[self._users] * max(width, 1) + self._items), max(width, 1)
        )
        return Pairs.from_distinct(users, items, self._named, self._hashing)

    @property
    def _most_items(self) -> Counts:
        """Number of items of each user in the period with the most."""
        many, most = self._items_of_users, np.zeros(int(self._owners.max(initial=-1)) + 1, dtype=np.int64)
        np.maximum.at(most, self._owners[: len(many)], many)
        return most

    def _sum_weights(self, users: Counts, places: Counts, weights: Counts, size: int) -> Counts:
        at = self._owners[users] * max(size, 1) + places
        order = np.lexsort((weights, at))
        last = np.append(at[order][1:] != at[order][:-1], True)[: len(order)]  # the largest weight of a user and place
        chosen = order[last]
        return super()._sum_weights(users[chosen], places[chosen], weights[chosen], size)

    def _take(self, users: Counts, items: Counts) -> Pairs:
        return self._with_owners(self._owners, super()._take(users, items))
