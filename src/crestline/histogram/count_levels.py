"""Count levels: the items of equal count of a public list (D9).

Items of one level are alike, so a mechanism needs one draw for each level, regardless of its size. Ranks count from 0
through all levels, the largest count first; a histogram names the item at a rank.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import CountHistogram, Histogram

Kept = TypeVar("Kept")

Indices = NDArray[np.int64]

LARGEST_DOMAIN = 2**62
_MOST_LISTED = 100_000  # more would take too much memory to list


@dataclass(frozen=True)
class CountLevels:
    """Levels of equal counts.

    Attributes:
        counts: The distinct counts, largest first.
        starts: Rank of the first item of each level, and the number of all items at the end.
    """

    counts: Indices
    starts: Indices

    @property
    def items(self) -> int:
        """Number of items."""
        return int(self.starts[-1])

    @property
    def number_of_levels(self) -> int:
        """Number of distinct counts."""
        return len(self.counts)

    @cached_property
    def sizes(self) -> Indices:
        """Number of items of each level."""
        return np.diff(self.starts)

    def leading_counts(self, many: int) -> Indices:
        """Counts of the first `many` ranks."""
        last = int(np.searchsorted(self.starts, many))
        kept = np.minimum(self.starts[1 : last + 1], many) - self.starts[:last]
        return np.repeat(self.counts[:last], kept)

    def counts_at(self, ranks: Indices) -> Indices:
        """Counts of these ranks."""
        return self.counts[np.searchsorted(self.starts, ranks, side="right") - 1]

    def all_counts(self) -> Indices:
        """Counts of all ranks, for exact laws of short lists.

        Raises:
            ParameterError: There are more than 100,000 items.
        """
        if self.items > _MOST_LISTED:
            raise ParameterError(
                "the public list has too many items to write out: exact laws are for small histograms only"
            )
        return np.repeat(self.counts, self.sizes)


_KNOWN: WeakKeyDictionary[Histogram, CountLevels] = WeakKeyDictionary()


def count_levels(histogram: Histogram) -> CountLevels:
    """Count levels of a histogram over a public list; cached as long as the histogram lives.

    Raises:
        HistogramError: The histogram does not have the whole public list, or 2^62 items or more.
    """
    found = _KNOWN.get(histogram)
    if found is None:
        found = _KNOWN[histogram] = _build_levels(histogram)
    return found


def _build_levels(histogram: Histogram) -> CountLevels:
    size = histogram.domain_size
    if size is None or (histogram.k_bar < size):
        raise HistogramError(
            "this mechanism needs the whole public list: use Histogram.over_domain without k_bar, or "
            "Histogram.from_multiplicities; for an unknown domain choose another mechanism"
        )
    if size >= LARGEST_DOMAIN:
        raise HistogramError("the public list is too long: fewer than 2^62 items can be ranked")
    if isinstance(histogram, CountHistogram):
        counts, sizes = histogram.distinct_counts
        starts = np.concatenate([[0], np.cumsum(np.array(sizes, dtype=np.int64))]).astype(np.int64)
        return CountLevels(counts, starts)
    return levels_of_counts(histogram.array)


def levels_of_counts(ranked: Indices) -> CountLevels:
    """Count levels of counts that are sorted, the largest first."""
    size = len(ranked)
    edges = np.flatnonzero(ranked[1:] != ranked[:-1]) + 1
    starts = np.concatenate([np.zeros(min(1, size), dtype=np.int64), edges, [size]]).astype(np.int64)
    return CountLevels(ranked[starts[:-1]], starts)


class PerHistogramCache(Generic[Kept]):
    """Cache of values computed from a histogram, one for each setting; a value lives as long as its histogram."""

    def __init__(self) -> None:
        self._kept: WeakKeyDictionary[Histogram, dict[Hashable, Kept]] = WeakKeyDictionary()

    def get(self, histogram: Histogram, setting: Hashable, make: Callable[[], Kept]) -> Kept:
        """The value for a histogram and a setting; `make` computes it if it is missing."""
        kept = self._kept.setdefault(histogram, {})
        if setting not in kept:
            kept[setting] = make()
        return kept[setting]
