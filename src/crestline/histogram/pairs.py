"""Pairs of a user and an item, each once, and the views of them that a mechanism may use (P18.3, P18.6).

`PairViews` is the interface that a source provides, all in one snapshot. `Pairs` has the same views for pairs in
memory, so that simulations and audits run without a database; its users and items are numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems, floor_reduction

Counts = NDArray[np.int64]
Naming: TypeAlias = Callable[[list[int]], list[Label]]  # from items' numbers to their labels, in their order

_SMALL = 31  # bits of a number, so that two numbers fit into a signed integer of 64 bits
CELLS = 13
"""Number of cells 1, 2, 3–4, 5–8, … of a user's number of items; the last cell has no upper end."""


@runtime_checkable
class PairViews(Protocol):
    """Views of pairs, with their sensitivities.

    One user changes `users_with` by at most one, one cell of `users_by_items` by one, and the loads by a vector whose
    squares add up to at most one in units of `weights[0]`.

    Over several periods the rows of a user in one of them change these by no more, except `users_by_items`, where a
    user may move from one cell to another: two cells change by one (P16.2). Caps and weights then apply to a user and a
    period, and an item or a bucket gets the largest weight that a user has there.
    """

    @property
    def floor(self) -> int:
        """A public number: an item is observed if this number of users keep it. No other view depends on it."""
        ...

    def users_with(self, rank: int) -> int:
        """Number of users of the item at `rank`, counted from one; zero if there are fewer items."""
        ...

    def users_by_items(self) -> Counts:
        """Number of users with 1, 2, 3–4, 5–8, … items, in `CELLS` cells; users without an item are in none."""
        ...

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        """For every bucket the sum of `weights[d - 1]` over the users with an item in it.

        d is the number of *distinct* buckets of the user. The bucket of an item is a keyed hash of its label.
        """
        ...

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> PairViews:
        """The pairs whose items are in the buckets of `kept_buckets`, by the hash of `bucket_loads` with that key."""
        ...

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        """Every item that a user keeps, with its score.

        Each user keeps at most `len(weights)` items, those of smallest keyed hash, and each of m kept items scores
        `weights[m - 1]`. With a floor, only items that this number of users keep, with scores reduced by the floor.
        """
        ...

    def slots(self, k_bar: int) -> Histogram:
        """The padded top `k_bar` items by number of users, and the next count: the view of slot mechanisms (P0.6)."""
        ...


class PairHashing(Protocol):
    """Keyed hashes of pairs in memory; for every key, the bucket of an item is the same for all its users."""

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        """The bucket of each of the first `items` items."""
        ...

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> Counts | NDArray[np.uint64]:
        """A number for every pair; each user keeps the items with the smallest."""
        ...


class Pairs:
    """Pairs in memory.

    Args:
        users: Number of the user of each pair, from zero.
        items: Number of the item of each pair, from zero; in label order where the order of equal counts matters.
        labels: Label of each item; by default its number.

    Raises:
        ParameterError: The arrays differ in length or are not one-dimensional.
    """

    floor: int = 1

    def __init__(self, users: Counts, items: Counts, labels: Sequence[Label] | None = None) -> None:
        if users.shape != items.shape or users.ndim != 1:
            raise ParameterError("pairs need one item for each user: two arrays of equal length")
        width = int(items.max(initial=-1)) + 1
        distinct = sorted_distinct(users.astype(np.int64) * max(width, 1) + items)
        self._users, self._items = np.divmod(distinct, max(width, 1))
        self._named: Naming = _to_labels if labels is None else lambda chosen: [labels[item] for item in chosen]
        numbers = np.arange(max(self._users.max(initial=-1), self._items.max(initial=-1)) + 1)
        self._hashing: PairHashing = SplitMixHashing(numbers, numbers)

    @classmethod
    def from_distinct(cls, users: Counts, items: Counts, named: Naming, hashing: PairHashing) -> Self:
        """Pairs that are distinct already, with a function from items to labels, and with given hashes."""
        made = cls.__new__(cls)
        made._users, made._items, made._named, made._hashing = users, items, named, hashing
        return made

    def with_floor(self, floor: int) -> Self:
        """Copy with a floor for observed items."""
        made = copy(self)
        made.floor = floor
        return made

    def users_with(self, rank: int) -> int:
        counts = self._users_of_items
        return int(counts[rank - 1]) if rank <= len(counts) else 0

    def users_by_items(self) -> Counts:
        many = self._most_items[self._most_items > 0]
        cells: Counts = np.bincount(cell_of_count(many), minlength=CELLS)
        return cells

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        placed = sorted_distinct(self._users * buckets + self._buckets(key, buckets)[self._items])
        users, bucket = _divide_with_rest(placed, buckets)
        different = np.bincount(users)
        return self._sum_weights(users, bucket, weights[different[users] - 1], buckets)

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> Pairs:
        alive = kept_buckets[self._buckets(key, len(kept_buckets))[self._items]]
        return self._take(self._users[alive], self._items[alive])

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        users, items = self._cap_items(key, len(weights))
        many, size = np.bincount(users), int(items.max(initial=-1)) + 1
        scores = self._sum_weights(users, items, weights[many[users] - 1], size)
        there = np.flatnonzero(scores)  # weights are positive, so an item with a user has a positive score
        if self.floor > 1:
            there = np.flatnonzero(self._sum_weights(users, items, np.ones_like(users), size) >= self.floor)
            scores = scores - floor_reduction(self.floor, _full_weight(weights))
        ranked = there[np.argsort(-scores[there], kind="stable")]
        values, first, sizes = np.unique(-scores[ranked], return_index=True, return_counts=True)
        start = dict(zip((-values).tolist(), first.tolist(), strict=True))

        def number_picks(picks: Sequence[tuple[int, int]]) -> list[int]:
            return [int(ranked[start[score] + index]) for score, index in picks]

        def label_picks(picks: Sequence[tuple[int, int]]) -> list[Label]:
            return self._named(number_picks(picks))

        def users_of(picks: Sequence[tuple[int, int]]) -> list[int]:
            counts: list[int] = self._users_by_item[number_picks(picks)].tolist()
            return counts

        how_many = dict(zip((-values).tolist(), sizes.tolist(), strict=True))
        unit = _full_weight(weights)
        return ObservedItems(how_many, unit=unit, floor=self.floor, named=label_picks, users_of=users_of)

    def slots(self, k_bar: int) -> Histogram:
        counts = self._users_by_item
        largest = self._users_of_items[: k_bar + 1]
        near = np.flatnonzero((counts > 0) & (counts >= largest[-1:].sum()))  # no other item can be in a slot
        ranked = dict(zip(self._named(near.tolist()), counts[near].tolist(), strict=True))
        return Histogram.from_counts(ranked, k_bar)

    @cached_property
    def _users_by_item(self) -> Counts:
        """Number of users of each item, by its number."""
        return np.bincount(self._items)

    @cached_property
    def _users_of_items(self) -> Counts:
        """Number of users of each item, the largest first."""
        return np.sort(self._users_by_item)[::-1]

    @cached_property
    def _items_of_users(self) -> Counts:
        return np.bincount(self._users)

    @property
    def _most_items(self) -> Counts:
        """Number of items by which each user is assigned to a cell."""
        return self._items_of_users

    def _sum_weights(self, users: Counts, places: Counts, weights: Counts, size: int) -> Counts:
        """Sum of the weights at each of `size` places, which are items or buckets."""
        result = np.zeros(size, dtype=np.int64)
        np.add.at(result, places, weights)
        return result

    def _take(self, users: Counts, items: Counts) -> Pairs:
        """The pairs with these users and items, which must be among the pairs."""
        return self.from_distinct(users, items, self._named, self._hashing).with_floor(self.floor)

    def _cap_items(self, key: bytes, cap: int) -> tuple[Counts, Counts]:
        over = self._items_of_users[self._users] > cap
        if not over.any():
            return self._users, self._items
        users, items = self._users[over], self._items[over]
        order = _order_by_rank(users, items, self._hashing.pair_ranks(key, users, items))
        first = np.cumsum(np.append(0, np.bincount(users)))
        place = np.arange(len(users)) - first[users[order]]
        kept = order[place < cap]
        return np.append(self._users[~over], users[kept]), np.append(self._items[~over], items[kept])

    def _buckets(self, key: bytes, buckets: int) -> Counts:
        return self._hashing.buckets(key, buckets, int(self._items.max(initial=-1)) + 1)


@dataclass(frozen=True)
class SplitMixHashing:
    """Hashes derived from a number for each user and item.

    The numbers are keyed hashes of labels, or, in simulations and audits, the numbers of users and items themselves,
    where a number always denotes the same item.
    """

    users: Counts
    items: Counts

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        placed: Counts = (_hash_columns(key, self.items[:items]) % np.uint64(buckets)).astype(np.int64)
        return placed

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> NDArray[np.uint64]:
        return _hash_columns(key, self.users[users], self.items[items])


def _order_by_rank(users: Counts, items: Counts, places: Counts | NDArray[np.uint64]) -> Counts:
    """Order of pairs by user, then by rank, then by item.

    Small numbers are compared as one integer: pairs that come user after user are then sorted several times as fast.
    """
    if (
        max(int(places.max(initial=0)), int(users.max(initial=0))) >> _SMALL
        or (np.diff(items)[np.diff(users) == 0] < 0).any()
    ):
        return np.lexsort((items, places, users))
    order: Counts = np.argsort((users << _SMALL) | places.astype(np.int64), kind="stable")
    return order


def _to_labels(chosen: list[int]) -> list[Label]:
    return [*chosen]


def _divide_with_rest(numbers: Counts, by: int) -> tuple[Counts, Counts]:
    """Quotients and remainders; for a power of two by bit operations, which are ten times as fast."""
    if by & (by - 1):
        return np.divmod(numbers, by)
    return numbers >> (by.bit_length() - 1), numbers & (by - 1)


def sorted_distinct(numbers: Counts) -> Counts:
    """The distinct numbers in order; several times as fast as the hash table of `np.unique`."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def cell_of_count(many: Counts) -> Counts:
    """Cell of a user with each number of items: 1 → 0, 2 → 1, 3–4 → 2, 5–8 → 3, …"""
    exponent: Counts = np.frexp(np.maximum(many, 1) - 1)[1].astype(np.int64)  # bits of m - 1: exact for whole numbers
    return np.minimum(exponent, CELLS - 1)


def _full_weight(weights: Counts) -> int:
    """Weight of a user with one item, which is the full weight."""
    return int(weights[0])


def _hash_columns(key: bytes, *columns: Counts) -> NDArray[np.uint64]:
    """64 bits from the key and the numbers: splitmix64, once for each column.

    Privacy holds for every fixed hash; a fresh random key makes the choice unbiased.
    """
    state = np.full(columns[0].shape, np.uint64(int.from_bytes(key[:8].ljust(8, b"\0"), "little")))
    extra = np.uint64(int.from_bytes(key[8:16].ljust(8, b"\0"), "little"))
    with np.errstate(over="ignore"):
        for column in columns:
            state = state + column.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + extra
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return state
