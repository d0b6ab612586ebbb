"""Histogram: the ranked, cut and padded counts of P0.5 and P0.6.

A mechanism sees `k_bar` slots with their counts, and `next_count`, the count of the first item left out. For a public
list the histogram may hold every item (`over_domain`) or only the number of items with each count
(`from_multiplicities`). The histogram of an empty table is valid.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.exact_numbers import whole_number
from crestline.histogram.label_order import Label, Padding, label_order

# Larger counts are capped: that is monotone and 1-Lipschitz, so it reduces utility, never privacy, and no error needs
# to reveal that a count was large.
LARGEST_COUNT = 2**62

Anything = TypeVar("Anything")
Counts = Mapping[Label, int] | Iterable[tuple[Label, int]]


class Histogram:
    """The slots that a mechanism sees.

    Create one with `from_counts`, `over_domain`, `from_ranked` or `from_multiplicities`.

    Attributes:
        items: Labels of the slots, the largest count first; `Padding` where a slot is empty.
        counts: Their counts, in the same order.
        next_count: Count of rank `k_bar + 1`; None if no item of a public list was left out.
        domain_size: Size of the public list; None if the domain is unknown.
        unit: Largest change of one count by one user: 1 for distinct users, more for scaled sums.
        filled: Number of slots with an item; empty slots come after them.
        padded: Whether missing rows were replaced by empty slots (P0.6).
    """

    def __init__(
        self,
        items: Sequence[Label],
        counts: NDArray[np.int64],
        next_count: int | None,
        *,
        domain_size: int | None = None,
        unit: int = 1,
        padded: bool = True,
        filled: int | None = None,
    ) -> None:
        counts.setflags(write=False)
        self.items = items
        self.array = counts
        self.next_count = next_count
        self.domain_size = domain_size
        self.unit = unit
        self.padded = padded
        self.filled = _filled_slots(items, domain_size) if filled is None else filled
        self._kept: tuple[object, Any] | None = None

    @property
    def step(self) -> int:
        """`unit` under its earlier name."""
        return self.unit

    @classmethod
    def from_counts(cls, counts: Counts, k_bar: int, *, unit: int = 1, pad: bool = True) -> Histogram:
        """Rank counts, ties in byte order of labels; keep `k_bar` slots and the next count; pad with empty slots.

        >>> Histogram.from_counts({"a": 5, "b": 3, "c": 3, "d": 1}, k_bar=3).items
        ('a', 'b', 'c')

        Args:
            counts: Number of users of each item, as a mapping or as pairs.
            k_bar: Number of slots.
            unit: Largest change of one count by one user.
            pad: Whether to pad. Without padding only Gumbel noise is private (P1.8), and every other mechanism refuses
                the histogram.

        Raises:
            ParameterError: A count is not an integer or negative, an item is listed twice, or `k_bar` is not positive.
        """
        whole_number(k_bar, "k_bar")
        best = heapq.nsmallest(k_bar + 1, _positive_counts(counts), key=lambda pair: (-pair[1], label_order(pair[0])))
        return cls.from_ranked(best, k_bar, unit=unit, pad=pad)

    @classmethod
    def from_ranked(
        cls, rows: Sequence[tuple[Label, int]], k_bar: int, *, unit: int = 1, pad: bool = True
    ) -> Histogram:
        """Histogram from at most `k_bar + 1` rows that are ranked already, as a source returns them."""
        missing = k_bar + 1 - len(rows)
        items = tuple(label for label, _ in rows[:k_bar]) + tuple(Padding(i) for i in range(min(missing, k_bar)))
        column = np.zeros(k_bar + 1, dtype=np.int64)
        column[: len(rows)] = [min(count, LARGEST_COUNT) for _, count in rows[: k_bar + 1]]
        kept = k_bar if pad else min(len(rows), k_bar)
        filled = min(len(rows), k_bar)
        return cls(items[:kept], column[:kept].copy(), int(column[k_bar]), unit=unit, padded=pad, filled=filled)

    @classmethod
    def over_domain(cls, counts: Counts, k_bar: int | None = None, *, unit: int = 1) -> Histogram:
        """Histogram over a public list; `counts` must include its items of count zero. It has no padding.

        Args:
            counts: Number of users of every item of the list, as a mapping or as pairs.
            k_bar: Number of slots to keep; the mechanism knows the number of items left out. By default all items.
            unit: Largest change of one count by one user.

        Raises:
            ParameterError: A count is not an integer or negative, an item is listed twice, or `k_bar` is not positive.
        """
        pairs = list(_check_counts(counts))
        size = len(pairs)
        kept = size if k_bar is None else min(whole_number(k_bar, "k_bar"), size)
        column = np.fromiter((count for _, count in pairs), dtype=np.int64, count=size)
        order = _rank_counts(column, [label for label, _ in pairs])
        ranked = column[order]
        next_count = int(ranked[kept]) if kept < size else None
        items = tuple(pairs[i][0] for i in order[:kept])
        return cls(items, ranked[:kept].copy(), next_count, domain_size=size, unit=unit)

    @classmethod
    def from_multiplicities(cls, how_many: Mapping[int, int], *, unit: int = 1) -> CountHistogram:
        """Histogram over a public list of which only the number of items with each count is known (D9).

        Args:
            how_many: Number of items with each count.
            unit: Largest change of one count by one user.

        Raises:
            ParameterError: A number is not an integer or is negative.
        """
        return CountHistogram(how_many, unit=unit)

    @property
    def k_bar(self) -> int:
        """Number of slots."""
        return len(self.array)

    def cut_to(self, k_bar: int) -> Histogram:
        """The histogram with at most `k_bar` slots; its next count is that of the first slot cut off."""
        if k_bar >= self.k_bar:
            return self
        return Histogram(
            self.items[:k_bar],
            self.array[:k_bar],
            int(self.array[k_bar]),
            domain_size=self.domain_size,
            unit=self.unit,
            padded=self.padded,
            filled=min(self.filled, k_bar),
        )

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Counts of the slots as a tuple."""
        return tuple(self.array.tolist())

    @cached_property
    def distinct_counts(self) -> tuple[NDArray[np.int64], tuple[int, ...]]:
        """The distinct counts, largest first, and the number of slots with each."""
        values, sizes = np.unique(self.array, return_counts=True)
        return values[::-1].copy(), tuple(int(size) for size in sizes[::-1])

    def name(self, position: int) -> Label:
        """Item at a rank, counted from 0."""
        return self.items[position]

    def names(self, positions: Sequence[int]) -> tuple[Label, ...]:
        """Items at several ranks."""
        if len(positions) < 2:  # `itemgetter` returns a tuple only for two or more
            return tuple(self.items[position] for position in positions)
        items: tuple[Label, ...] = itemgetter(*positions)(self.items)
        return items

    def keep(self, owner: object, make: Callable[[], Anything]) -> Anything:
        """The value that `make` returns for `owner`, cached until another owner asks.

        It must depend only on these counts and on the owner.
        """
        kept = self._kept
        if kept is None or kept[0] is not owner:
            self._kept = kept = owner, make()
        found: Anything = kept[1]
        return found

    def labels_of_rows(self, positions: NDArray[np.int64]) -> Iterator[tuple[Label, ...]]:
        """Items at the ranks of each row of an array, which must have columns."""
        return zip(*self._labels.take(positions).T.tolist(), strict=True)

    @cached_property
    def _labels(self) -> NDArray[np.object_]:
        return np.fromiter(self.items, dtype=np.object_, count=len(self.items))

    def __repr__(self) -> str:  # counts are private: they must not reach a log or a traceback
        return f"Histogram(k_bar={self.k_bar})"


class CountHistogram(Histogram):
    """A public list by the number of items with each count; its items are `(count, index within that count)` pairs."""

    def __init__(self, how_many: Mapping[int, int], *, unit: int = 1) -> None:
        groups = sorted(
            ((_count(count), whole_number(size, "how_many", at_least=0)) for count, size in how_many.items())
        )
        groups = [(count, size) for count, size in reversed(groups) if size]
        self._values = np.array([count for count, _ in groups], dtype=np.int64)
        self._sizes = tuple(size for _, size in groups)
        starts = [0]
        for size in self._sizes:
            starts.append(starts[-1] + size)
        self._starts = starts
        super().__init__((), np.zeros(0, dtype=np.int64), None, domain_size=starts[-1], unit=unit, filled=starts[-1])

    @property
    def k_bar(self) -> int:
        return self._starts[-1]

    @property
    def distinct_counts(self) -> tuple[NDArray[np.int64], tuple[int, ...]]:  # stored already, so it needs no cache
        return self._values, self._sizes

    def names(self, positions: Sequence[int]) -> tuple[Label, ...]:
        return tuple(map(self.name, positions))

    def name(self, position: int) -> Label:
        from bisect import bisect_right

        group = bisect_right(self._starts, position) - 1
        return (int(self._values[group]), position - self._starts[group])


def _filled_slots(items: Sequence[Label], domain_size: int | None) -> int:
    """Number of slots with an item: all of a public list, otherwise those before the first empty slot."""
    if domain_size is not None:
        return len(items)
    return next((place for place, item in enumerate(items) if isinstance(item, Padding)), len(items))


def _positive_counts(counts: Counts) -> Iterable[tuple[Label, int]]:
    return (pair for pair in _check_counts(counts) if pair[1] > 0)


def _check_counts(counts: Counts) -> Iterable[tuple[Label, int]]:
    pairs = counts.items() if isinstance(counts, Mapping) else counts
    seen: set[Label] = set()
    for label, count in pairs:
        if label in seen:
            raise ParameterError("an item is listed twice; add up its counts first")
        seen.add(label)
        yield label, _count(count)


def _count(value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ParameterError("counts must be whole numbers; for other scores give `unit` and scaled whole numbers")
    if value < 0:
        raise ParameterError("counts must not be negative")
    return min(int(value), LARGEST_COUNT)


def _rank_counts(column: NDArray[np.int64], labels: list[Label]) -> NDArray[np.int64]:
    """Positions by descending count; ties are in label order, which is computed only where there are ties."""
    order = np.argsort(-column, kind="stable")
    ranked = column[order]
    edges = np.flatnonzero(np.diff(ranked) != 0) + 1
    for group in np.split(order, edges):
        if len(group) > 1:
            group[:] = sorted(group.tolist(), key=lambda i: label_order(labels[i]))
    return order
