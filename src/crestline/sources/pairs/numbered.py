"""Pairs as arrays of numbers, where items are numbered in the order of their labels."""

from __future__ import annotations

import numpy as np

from crestline.histogram.histogram import Histogram
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.pairs import Counts, Pairs


class NumberedPairs(Pairs):
    """Pairs whose items are numbered in the order of their labels. They are put in order when that makes a view faster;
    counts of items and of users need none."""

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        self._sort_pairs()
        return super().bucket_loads(key, buckets, weights)

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        self._sort_pairs()
        return super().observed_items(key, weights)

    def slots(self, k_bar: int) -> Histogram:
        counts = np.bincount(self._items)
        there = np.flatnonzero(counts)
        first = there[np.lexsort((there, -counts[there]))][: k_bar + 1].tolist()
        return Histogram.from_ranked(list(zip(self._named(first), counts[first].tolist(), strict=True)), k_bar)

    def _sort_pairs(self) -> None:
        """Pairs user after user, and in the order of their items. The same pairs are left: no view changes."""
        if (self._users[1:] >= self._users[:-1]).all():
            return
        bits = int(self._items.max(initial=0)).bit_length()
        pairs = np.sort((self._users << bits) | self._items)
        self._users, self._items = pairs >> bits, pairs & ((1 << bits) - 1)
