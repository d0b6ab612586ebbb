"""The relation: distinct (group, period, user, item) as numbers, and the views of it that a mechanism may use (P18.3).

A unit is one user in one group and one period: what bounds and weights are for (P15.1, P16.2). Without groups and
periods a unit is a user. `PairViews` is the interface that a source provides, all in one snapshot; `Relation` has it
for rows in this process, of a table, of a simulation or of an audit; `GroupedRelation` is one relation for each group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
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

_BITS = 63  # of a signed integer that holds several numbers
_RANK_BITS = 31
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


class Hashing(Protocol):
    """Keyed hashes of the labels of users and items, which are named by their numbers.

    A hash is a function of the key and of labels alone: were it one of numbers, which depend on who else is there, one
    user could move the items of all others.
    """

    def buckets(self, key: bytes, buckets: int, items: Counts) -> Counts:
        """The bucket of each of these items."""
        ...

    def ranks(self, key: bytes, users: Counts, items: Counts) -> Counts:
        """A number of 31 bits for each user and item; each user keeps the items with the smallest."""
        ...


@dataclass(frozen=True)
class Rows:
    """Rows of a user and an item as numbers from zero on, in any order and as often as they are there."""

    users: Counts
    items: Counts
    periods: Counts | None = None
    groups: Counts | None = None

    def take(self, which: Counts | NDArray[np.bool_]) -> Rows:
        """The rows at these positions."""
        parts = (self.users, self.items, self.periods, self.groups)
        return Rows(*(None if part is None else part[which] for part in parts))  # type: ignore[arg-type] # as before


class Relation:
    """Distinct pairs of a user and an item, or of a user and period and an item, in this process.

    Args:
        users: Number of the user of each pair, from zero.
        items: Number of the item of each pair, from zero, in label order.
        labels: Label of each item; by default its number.

    Raises:
        ParameterError: The arrays differ in length or are not one-dimensional.
    """

    floor: int = 1

    def __init__(self, users: Counts, items: Counts, labels: Sequence[Label] | None = None) -> None:
        if users.shape != items.shape or users.ndim != 1:
            raise ParameterError("pairs need one item for each user: two arrays of equal length")
        numbers = np.arange(max(users.max(initial=-1), items.max(initial=-1)) + 1)
        names: Naming = list if labels is None else lambda chosen: [labels[item] for item in chosen]
        self._fill(Rows(users, items), names, SplitMixHashing(numbers, numbers))

    @classmethod
    def from_rows(cls, rows: Rows, names: Naming, hashing: Hashing, floor: int = 1) -> Self:
        """Relation of one group. Items are numbered in label order, named by `names`; hashes are those of `hashing`."""
        made = cls.__new__(cls)
        made._fill(rows, names, hashing)
        made.floor = floor
        return made

    def _fill(self, rows: Rows, names: Naming, hashing: Hashing) -> None:
        self._names, self._hashing, self._several = names, hashing, rows.periods is not None
        if rows.periods is None:
            users, self._items = distinct_rows(rows.users, rows.items)
            first = changes(users)
        else:
            least = rows.periods.min(initial=0)
            users, periods, self._items = distinct_rows(rows.users, rows.periods - least, rows.items)
            first = changes(users, periods)
        self._units, self._users = np.cumsum(first) - 1, users[first]

    def with_floor(self, floor: int) -> Self:
        """Copy with a floor for observed items."""
        made = copy(self)
        made.floor = floor
        return made

    def pairs(self) -> tuple[Counts, Counts]:
        """Number of the user, and of the item, of each row."""
        return self._users[self._units], self._items

    def users_with(self, rank: int) -> int:
        counts = self._counts_in_order
        return int(counts[rank - 1]) if rank <= len(counts) else 0

    def users_by_items(self) -> Counts:
        many = np.bincount(self._units)
        if self._several and len(many):  # the largest number in one period
            many = np.maximum.reduceat(many, np.flatnonzero(changes(self._users)))
        cells: Counts = np.bincount(cell_of_count(many), minlength=CELLS)
        return cells

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        places = self._place_rows(key, buckets)
        first = np.flatnonzero(changes(self._units, places))  # indices are several times as fast as a mask
        units = self._units[first]
        return self._sum_weights(units, places[first], weights[np.bincount(units)[units] - 1], buckets)

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> Self:
        places = self._place_rows(key, len(kept_buckets))
        alive = np.flatnonzero(kept_buckets[places])
        units = self._units[alive]
        first = changes(units)
        made = self.__class__.__new__(self.__class__)
        made._names, made._hashing, made._several, made.floor = self._names, self._hashing, self._several, self.floor
        made._units, made._users, made._items = np.cumsum(first) - 1, self._users[units[first]], self._items[alive]
        made._bucket_places = ((key, len(kept_buckets)), places[alive])
        return made

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        units, items = self._keep_items(key, len(weights))
        many, size = np.bincount(units), int(items.max(initial=-1)) + 1
        scores = self._sum_weights(units, items, weights[many[units] - 1], size)
        there = np.flatnonzero(scores)  # weights are positive, so an item with a user has a positive score
        if self.floor > 1:
            there = np.flatnonzero(self._sum_weights(units, items, np.ones_like(units), size) >= self.floor)
            scores = scores - floor_reduction(self.floor, _full_weight(weights))
        ranked = there[np.argsort(-scores[there], kind="stable")]
        values, first, sizes = np.unique(-scores[ranked], return_index=True, return_counts=True)
        start = dict(zip((-values).tolist(), first.tolist(), strict=True))

        def number_picks(picks: Sequence[tuple[int, int]]) -> list[int]:
            return [int(ranked[start[score] + index]) for score, index in picks]

        def label_picks(picks: Sequence[tuple[int, int]]) -> list[Label]:
            return self._names(number_picks(picks))

        def users_of(picks: Sequence[tuple[int, int]]) -> list[int]:
            counts: list[int] = self._users_of_items[number_picks(picks)].tolist()
            return counts

        how_many, unit = dict(zip((-values).tolist(), sizes.tolist(), strict=True)), _full_weight(weights)
        return ObservedItems(how_many, unit=unit, floor=self.floor, named=label_picks, users_of=users_of)

    def slots(self, k_bar: int) -> Histogram:
        counts, largest = self._users_of_items, self._counts_in_order[: k_bar + 1]
        near = np.flatnonzero((counts > 0) & (counts >= largest[-1:].sum()))  # no other item can be in a slot
        first = near[np.argsort(-counts[near], kind="stable")][: k_bar + 1]
        return Histogram.from_ranked(list(zip(self._names(first.tolist()), counts[first].tolist(), strict=True)), k_bar)

    @cached_property
    def _users_of_items(self) -> Counts:
        """Number of users of each item; a user counts once over all periods."""
        items = distinct_rows(*self.pairs())[1] if self._several else self._items
        return np.bincount(items)

    @cached_property
    def _counts_in_order(self) -> Counts:
        """Number of users of each item, the largest first."""
        return np.sort(self._users_of_items)[::-1]

    def _sum_weights(self, units: Counts, places: Counts, weights: Counts, size: int) -> Counts:
        """Sum over users of the largest weight of a user at each of `size` places, which are items or buckets."""
        if self._several:
            users = self._users[units]
            order = np.lexsort((weights, places, users))
            last = order[np.append(changes(users[order], places[order])[1:], True)[: len(order)]]
            places, weights = places[last], weights[last]
        result = np.zeros(size, dtype=np.int64)
        np.add.at(result, places, weights)
        return result

    def _keep_items(self, key: bytes, cap: int) -> tuple[Counts, Counts]:
        """Units and items of the rows that are left when each unit keeps the `cap` items of smallest hash."""
        many = np.bincount(self._units)
        over = many[self._units] > cap
        if not over.any():
            return self._units, self._items
        units, items = distinct_rows(self._units[over], self._items[over])  # in label order, which decides ties
        beyond = rows_beyond(cap, units, self._hashing.ranks(key, self._users[units], items), _RANK_BITS)
        return (
            np.append(self._units[~over], np.delete(units, beyond)),
            np.append(self._items[~over], np.delete(items, beyond)),
        )

    def _place_rows(self, key: bytes, buckets: int) -> Counts:
        """The bucket of the item of each row. Rows of a unit are put in order of buckets, which changes no view; what
        is left after a round with the same key is in order already."""
        if self._bucket_places[0] != (key, buckets):
            there = np.flatnonzero(np.bincount(self._items))
            found = np.zeros(int(self._items.max(initial=-1)) + 1, dtype=np.int64)
            found[there] = self._hashing.buckets(key, buckets, there)
            self._units, places, self._items = distinct_rows(self._units, found[self._items], self._items)
            self._bucket_places = ((key, buckets), places)
        return self._bucket_places[1]

    @cached_property
    def _bucket_places(self) -> tuple[tuple[bytes, int] | None, Counts]:
        return None, np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class SplitMixHashing:
    """Hashes derived from a number for each user and item.

    The numbers are keyed hashes of labels, or, in simulations and audits, the numbers of users and items themselves,
    where a number always denotes the same item.
    """

    users: Counts
    items: Counts

    def buckets(self, key: bytes, buckets: int, items: Counts) -> Counts:
        placed: Counts = (_hash_columns(key, self.items[items]) % np.uint64(buckets)).astype(np.int64)
        return placed

    def ranks(self, key: bytes, users: Counts, items: Counts) -> Counts:
        hashed = _hash_columns(key, self.users[users], self.items[items])
        return (hashed >> np.uint64(64 - _RANK_BITS)).astype(np.int64)


@dataclass(frozen=True)
class GroupedRelation:
    """Distinct rows of several groups, from which the relation of each group is made in turn (P15.1).

    Rows are stored once, group after group; the relation of one group needs only memory for that group, and its items
    are named by their numbers.

    Attributes:
        groups: Label of each group.
        starts: Index of the first row of each group, and the number of all rows at the end.
        rows: The rows.
        hashing: Hashes derived from keyed hashes of labels.
        floor: A public number: in each group an item is observed if this number of users keep it.
    """

    groups: Sequence[Label]
    starts: Counts
    rows: Rows
    hashing: SplitMixHashing
    floor: int = 1

    @classmethod
    def from_rows(cls, groups: Sequence[Label], rows: Rows, hashing: SplitMixHashing, floor: int = 1) -> Self:
        """Relation from rows whose group numbers are indices of `groups`."""
        assert rows.groups is not None, "rows of groups have one"
        periods = () if rows.periods is None else (rows.periods - rows.periods.min(initial=0),)
        which, users, *found, items = distinct_rows(rows.groups, rows.users, *periods, rows.items)
        starts = np.cumsum(np.append(0, np.bincount(which, minlength=len(groups))))
        return cls(groups, starts, Rows(users, items, *found), hashing, floor)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:  # rows are private, and so is the number of groups
        return "GroupedRelation()"

    def histograms(self) -> Iterator[Relation]:
        """Relation of each group."""
        return (self._relation(slice(*self.starts[row : row + 2].tolist())) for row in range(len(self)))

    def _relation(self, part: slice) -> Relation:
        """The relation of one group, with items numbered anew in the same order."""
        items, item = np.unique(self.rows.items[part], return_inverse=True)

        def name_by_number(chosen: list[int]) -> list[Label]:
            return [*items[chosen].tolist()]

        hashing = replace(self.hashing, items=self.hashing.items[items])
        periods = None if self.rows.periods is None else self.rows.periods[part]
        return Relation.from_rows(Rows(self.rows.users[part], item, periods), name_by_number, hashing, self.floor)


def distinct_rows(*columns: Counts) -> list[Counts]:
    """The distinct rows of columns of whole numbers from zero on, in order.

    One number holds a whole row where it fits, and is sorted several times as fast.
    """
    first, *others = columns
    widths = [int(column.max(initial=0)).bit_length() for column in others]
    if int(first.max(initial=0)).bit_length() + sum(widths) > _BITS:
        order = np.lexsort(columns[::-1])
        in_order = [column[order] for column in columns]
        return [column[changes(*in_order)] for column in in_order]
    packed = first.astype(np.int64)
    for column, width in zip(others, widths, strict=True):
        packed <<= width
        packed |= column
    packed.sort()
    packed, found = packed[np.flatnonzero(changes(packed))], list[Counts]()
    for width in reversed(widths):
        found.append(packed & ((1 << width) - 1))
        packed = packed >> width
    return [packed, *reversed(found)]


def cell_of_count(many: Counts) -> Counts:
    """Cell of a user with each number of items: 1 → 0, 2 → 1, 3–4 → 2, 5–8 → 3, …"""
    exponent: Counts = np.frexp(np.maximum(many, 1) - 1)[1].astype(np.int64)  # bits of m - 1: exact for whole numbers
    return np.minimum(exponent, CELLS - 1)


def changes(*columns: Counts) -> NDArray[np.bool_]:
    """Whether a row differs from the one before it; the first does."""
    found = np.zeros(len(columns[0]), dtype=np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def rows_beyond(cap: int, units: Counts, ranks: Counts, bits: int) -> Counts:
    """Indices of the rows that are not among the `cap` of smallest rank of their unit; of equal ranks the first row is
    kept. Rows come unit after unit, and ranks have this number of bits."""
    first = changes(units)
    number, begins = np.cumsum(first) - 1, np.flatnonzero(first)
    start: Counts = begins[number]
    place: Counts = np.arange(len(units)) - start
    width = int(place.max(initial=0)).bit_length()
    if len(begins).bit_length() + bits + width > _BITS:
        ordered: Counts = np.lexsort((place, ranks, number))[place >= cap]
        return ordered
    packed = (((number << bits) | ranks) << width) | place
    packed.sort()
    beyond: Counts = (start + (packed & ((1 << width) - 1)))[place >= cap]
    return beyond


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
