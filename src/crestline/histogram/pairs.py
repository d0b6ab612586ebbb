"""Pairs of a user and an item, each once, and the few views of them that may be looked at (P18.3, P18.6).

`PairViews` is what a source provides, all in one snapshot. `Pairs` gives the same views of pairs in memory, so that
simulations and audits run without a database. Users and items are numbers there; labels name the items.
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

_SMALL = 31  # bits, of which two fit into a whole number of 64 with a sign
CELLS = 13
"""Users are counted by their number of items in the cells 1, 2, 3–4, 5–8, …; the last cell is open-ended."""


@runtime_checkable
class PairViews(Protocol):
    """What may be looked at. One user changes `users_with` by at most one, one cell of `users_by_items` by one, and the
    loads by a vector whose squares add up to at most one in units of `weights[0]`.

    Over several periods the rows of a user in one of them change the same by no more, but for `users_by_items`, where a
    user may go from one cell to another: two cells by one (P16.2). Caps and weights are then for a user and a period,
    and an item or a bucket gets the largest of the weights that a user has there."""

    @property
    def floor(self) -> int:
        """A public number: only items that at least so many users keep are observed. One, unless a question with groups
        has another; no other view knows of it."""
        ...

    def users_with(self, rank: int) -> int:
        """The number of users of the item that is the `rank`-th most popular; zero where there are fewer items."""
        ...

    def users_by_items(self) -> Counts:
        """How many users have 1, 2, 3–4, 5–8, … items, in `CELLS` cells. Users without an item are in none."""
        ...

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        """For every bucket the sum of `weights[d - 1]` over the users who have an item in it, where d is the number of
        *different* buckets of that user. The bucket of an item is a keyed hash of its label."""
        ...

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> PairViews:
        """The pairs whose items lie in buckets that were kept, by the hash of `bucket_loads` with the same key."""
        ...

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        """Every item that some user keeps, with its score: each user keeps at most `len(weights)` items, those of
        smallest keyed hash, and each of m kept items scores `weights[m - 1]`. With a floor, every item that so many
        users keep, with what its score is above it."""
        ...

    def slots(self, k_bar: int) -> Histogram:
        """The padded top `k_bar` items by number of users, and the next count: what slot mechanisms see (P0.6)."""
        ...


class PairHashing(Protocol):
    """Keyed hashes of pairs in memory. For every key, what is said of an item is said for all its users."""

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        """The bucket of each of the first so many items."""
        ...

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> Counts | NDArray[np.uint64]:
        """For every pair a number: each user keeps the items of the smallest."""
        ...


class Pairs:
    """Pairs in memory: `users` and `items` are arrays of equal length of whole numbers from zero on. `labels` names
    items by their numbers, which are in label order where the order of equal counts matters."""

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
        """Pairs that are known to be distinct, with a naming and with hashes of their own."""
        made = cls.__new__(cls)
        made._users, made._items, made._named, made._hashing = users, items, named, hashing
        return made

    def with_floor(self, floor: int) -> Self:
        """The same pairs with a floor under what is observed."""
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
        there = np.flatnonzero(scores)  # no weight is zero
        if self.floor > 1:
            there = np.flatnonzero(self._sum_weights(users, items, np.ones_like(users), size) >= self.floor)
            scores = scores - floor_reduction(self.floor, _full_weight(weights))
        ranked = there[np.argsort(-scores[there], kind="stable")]
        values, first, sizes = np.unique(-scores[ranked], return_index=True, return_counts=True)
        start = dict(zip((-values).tolist(), first.tolist(), strict=True))

        def label_picks(picks: Sequence[tuple[int, int]]) -> list[Label]:
            return self._named([int(ranked[start[score] + index]) for score, index in picks])

        how_many = dict(zip((-values).tolist(), sizes.tolist(), strict=True))
        return ObservedItems(how_many, unit=_full_weight(weights), floor=self.floor, named=label_picks)

    def slots(self, k_bar: int) -> Histogram:
        counts = np.bincount(self._items)
        largest = np.sort(counts)[::-1][: k_bar + 1]
        near = np.flatnonzero((counts > 0) & (counts >= largest[-1:].sum()))  # all others are left out in any case
        ranked = dict(zip(self._named(near.tolist()), counts[near].tolist(), strict=True))
        return Histogram.from_counts(ranked, k_bar)

    @cached_property
    def _users_of_items(self) -> Counts:
        """Numbers of users, largest first."""
        return np.sort(np.bincount(self._items))[::-1] if len(self._items) else np.zeros(0, dtype=np.int64)

    @cached_property
    def _items_of_users(self) -> Counts:
        return np.bincount(self._users)

    @property
    def _most_items(self) -> Counts:
        """By how many items a user is counted among others."""
        return self._items_of_users

    def _sum_weights(self, users: Counts, places: Counts, weights: Counts, size: int) -> Counts:
        """For each of so many items or buckets the sum of the weights that users have there."""
        result = np.zeros(size, dtype=np.int64)
        np.add.at(result, places, weights)
        return result

    def _take(self, users: Counts, items: Counts) -> Pairs:
        """Some of these pairs."""
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
    """Hashes made of numbers that stand for users and items: of keyed hashes of their labels; or, in simulations and
    audits, of the numbers by which they are called, where a number always means the same item."""

    users: Counts
    items: Counts

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        placed: Counts = (_hash_columns(key, self.items[:items]) % np.uint64(buckets)).astype(np.int64)
        return placed

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> NDArray[np.uint64]:
        return _hash_columns(key, self.users[users], self.items[items])


def _order_by_rank(users: Counts, items: Counts, places: Counts | NDArray[np.uint64]) -> Counts:
    """The order of pairs by user, then by place, then by item. Small numbers are compared as one: pairs that come user
    after user are sorted several times as fast."""
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
    """Quotients and rests. Of a power of two they are bits, which are found ten times as fast."""
    if by & (by - 1):
        return np.divmod(numbers, by)
    return numbers >> (by.bit_length() - 1), numbers & (by - 1)


def sorted_distinct(numbers: Counts) -> Counts:
    """Every number once, in order. Sorting is several times as fast as the hash table of `np.unique`."""
    ordered = np.sort(numbers)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def cell_of_count(many: Counts) -> Counts:
    """The cell of a user with so many items: 1 → 0, 2 → 1, 3–4 → 2, 5–8 → 3, …"""
    exponent: Counts = np.frexp(np.maximum(many, 1) - 1)[1].astype(np.int64)  # bits of m - 1: exact for whole numbers
    return np.minimum(exponent, CELLS - 1)


def _full_weight(weights: Counts) -> int:
    """The weight of a user with one item, which counts in full."""
    return int(weights[0])


def _hash_columns(key: bytes, *columns: Counts) -> NDArray[np.uint64]:
    """64 bits that depend on the key and the numbers: a keyed hash for pairs in memory (splitmix64, once per part).

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
