"""Pairs of users and items as numbers in this process, while DuckDB keeps the names.

One statement stores the distinct pairs. Items are numbered in the order of their labels, users in any order, and the
numbers of all pairs are fetched. Every view is then an operation on arrays. Hashes are the engine's own, of the key and
the label, so that each view is, for each key, the very same as when the engine computes it (`EnginePairs`): how many
pairs there are decides where they are counted, and nothing else. Few pairs are fetched with their texts (`few`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crestline.errors import SourceError
from crestline.histogram.histogram import Histogram
from crestline.histogram.labels import Label
from crestline.histogram.observed import ObservedItems
from crestline.histogram.pairs import Counts, PairViews, sorted_distinct
from crestline.sources.engine.engines import Expression
from crestline.sources.engine.places import KEY, NOTHING, PICKS, Values
from crestline.sources.engine.running import Runner
from crestline.sources.expression.contribution import key_values
from crestline.sources.expression.counting import USER, Counting
from crestline.sources.pairs.arrays import CodedPairs
from crestline.sources.pairs.counting import (
    ITEM_KEY,
    NUMBER,
    OF_ITEM,
    OF_USER,
    PRIME,
    USER_KEY,
    PairCounting,
    by_number,
    most_popular,
    numbered,
)
from crestline.sources.pairs.few import FEW, fetched, few_pairs, may_be_fetched
from crestline.sources.pairs.views import over_stored

MOST_PAIRS = 1 << 22
"""Up to so many pairs are held in this process: 64 MB, and as much again while they are counted."""
CODE = "code"


@dataclass(frozen=True)
class Numbered:
    """Pairs that were numbered when a copy of a table was made: a column of it holds, for one user column and one item
    column, the number of the user times 2^bits and the number of the item.

    listing, users    as those of `PairTables`, of all rows
    """

    user: str
    column: str
    bits: int
    listing: Expression
    users: Expression


@dataclass(frozen=True)
class PairTables:
    """The statements of one shape of question: expressions over three temporary tables, whose names begin with `name`.

    pairs     the distinct pairs, as `counting` finds them
    listing   every item with its number, in label order
    users     every user with a number

    Where pairs were `numbered` before, nothing is stored.
    """

    counting: Counting
    runner: Runner
    name: str
    numbered: Numbered | None = None
    _placed: dict[int, Expression] = field(default_factory=dict, compare=False)
    _tops: dict[int, Expression] = field(default_factory=dict, compare=False)

    @cached_property
    def pairs(self) -> Expression:
        return self.runner.stored_as(f"{self.name}_pairs", self.counting.pairs)

    @cached_property
    def fetched(self) -> Expression:
        return fetched(self.counting, self.pairs)

    @cached_property
    def items_numbered(self) -> Expression:
        return numbered(self.counting, self.pairs)

    @cached_property
    def listing(self) -> Expression:
        if self.numbered is not None:
            return self.numbered.listing
        return self.runner.stored_as(f"{self.name}_items", self.items_numbered)

    def top(self, k_bar: int) -> Expression:
        """The first `k_bar + 1` items of the list by number of users descending, then by label ascending (P0.5)."""
        if k_bar not in self._tops:
            self._tops[k_bar] = most_popular(self.listing, self.counting.items, k_bar + 1)
        return self._tops[k_bar]

    @cached_property
    def users_numbered(self) -> Expression:
        import ibis

        return self.pairs.select(USER).distinct().mutate(**{CODE: ibis.row_number()})

    @cached_property
    def users(self) -> Expression:
        if self.numbered is not None:
            return self.numbered.users
        return self.runner.stored_as(f"{self.name}_users", self.users_numbered)

    @cached_property
    def codes(self) -> Expression:
        """The numbers of the user and of the item of every pair."""
        return by_number(self.counting, self.pairs, self.listing).inner_join(self.users, USER).select(CODE, NUMBER)

    @cached_property
    def numbers(self) -> Expression:
        """The numbered pair of every row that the question is about."""
        assert self.numbered is not None, "asked only where pairs were numbered"
        return self.counting.table.filter(*self.counting.conditions).select(self.numbered.column)

    @cached_property
    def _hashing(self) -> PairCounting:
        return PairCounting(self.counting, (NUMBER,), self.listing)

    @cached_property
    def of_users(self) -> Expression:
        return self._hashing.of_users(self.users, KEY).select(CODE, OF_USER)

    @cached_property
    def of_items(self) -> Expression:
        return self._hashing.of_items(KEY).select(NUMBER, OF_ITEM)

    def in_buckets(self, buckets: int) -> Expression:
        """Every item with its bucket."""
        if buckets not in self._placed:
            self._placed[buckets] = self._hashing.in_buckets(KEY, buckets)
        return self._placed[buckets]

    @cached_property
    def labels(self) -> Expression:
        """The labels of the items whose numbers stand in the place for picks."""
        import ibis

        one_row = ibis.literal(0).name("one").as_table()
        picks = one_row.select(**{NUMBER: ibis.literal(PICKS).split(",").unnest().cast("int64")})
        found = self.listing.semi_join(picks, NUMBER)
        return found.select(found[NUMBER], **self.counting.items.fetched(found))


@contextmanager
def over_codes(tables: PairTables, values: Values) -> Iterator[PairViews]:
    """The distinct pairs of a question with these values, in one snapshot that lasts as long as the context."""
    runner = tables.runner
    if tables.numbered is not None:
        (numbers,) = runner.columns(tables.numbers, values)
        found, bits = sorted_distinct(numbers), tables.numbered.bits
        yield CodedPairs.distinct(found >> bits, found & ((1 << bits) - 1), _Names(tables), _Hashes(tables))
        return
    try:
        many = runner.stored(f"{tables.name}_pairs", tables.counting.pairs, values)
        if many <= FEW and may_be_fetched(tables.counting):
            yield few_pairs(tables.counting, runner, tables.fetched)
            return
        runner.stored(f"{tables.name}_items", tables.items_numbered)
        if many > MOST_PAIRS:
            with over_stored(runner, tables.counting, tables.pairs, tables.listing) as pairs:
                runner.drop(f"{tables.name}_pairs")  # its numbers are enough
                yield pairs
            return
        yield StoredPairs(tables)
    finally:
        runner.drop(*(f"{tables.name}_{part}" for part in ("pairs", "items", "users")))


@dataclass(frozen=True)
class StoredPairs:
    """Pairs in tables of the engine. The most popular items are read from their list; before any other view the numbers
    of all pairs are fetched, once."""

    tables: PairTables
    floor: ClassVar[int] = 1  # a floor goes with groups

    @cached_property
    def coded(self) -> CodedPairs:
        """The pairs in this process."""
        tables, runner = self.tables, self.tables.runner
        runner.stored(f"{tables.name}_users", tables.users_numbered)
        users, items = runner.columns(tables.codes)
        return CodedPairs.distinct(users, items, _Names(tables), _Hashes(tables))

    def slots(self, k_bar: int) -> Histogram:
        items = self.tables.counting.items
        rows = self.tables.runner.bound_rows(self.tables.top(k_bar), NOTHING)
        return Histogram.from_ranked([(items.label(row[:-1]), row[-1]) for row in rows], k_bar)

    def users_with(self, rank: int) -> int:
        return self.coded.users_with(rank)

    def users_by_items(self) -> Counts:
        return self.coded.users_by_items()

    def loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        return self.coded.loads(key, buckets, weights)

    def within(self, key: bytes, kept: NDArray[np.bool_]) -> PairViews:
        return self.coded.within(key, kept)

    def observed(self, key: bytes, weights: Counts) -> ObservedItems:
        return self.coded.observed(key, weights)


@dataclass(frozen=True)
class _Names:
    """The labels of items, asked for when they are picked."""

    tables: PairTables

    def __call__(self, numbers: list[int]) -> list[Label]:
        if not numbers:
            return []
        items = self.tables.counting.items
        rows = self.tables.runner.bound_rows(self.tables.labels, {PICKS: ",".join(map(str, numbers))})
        known = {number: items.label(values) for number, *values in rows}
        if len(known) < len(set(numbers)):
            raise SourceError("what was counted changed before it was named; ask again")
        return [known[number] for number in numbers]


@dataclass(frozen=True)
class _Hashes:
    """The engine's hashes of labels, in the order of their numbers."""

    tables: PairTables
    _last: dict[tuple[bytes, int], Counts] = field(default_factory=dict)

    def buckets(self, key: bytes, buckets: int, items: int) -> Counts:
        """Asked twice for each key: to add the loads up, and to leave out what is in light buckets."""
        if (key, buckets) not in self._last:
            self._last.clear()
            self._last[key, buckets] = self._in_order(self.tables.in_buckets(buckets), key)
        return self._last[key, buckets]

    def places(self, key: bytes, users: Counts, items: Counts) -> Counts:
        of_users, of_items = (self._in_order(asked, key) for asked in (self.tables.of_users, self.tables.of_items))
        places: Counts = of_users[users] * (of_items[items] + 1) % PRIME
        return places

    def _in_order(self, asked: Expression, key: bytes) -> Counts:
        numbers, hashes = self.tables.runner.columns(asked, key_values(key, USER_KEY, ITEM_KEY))
        ordered = np.empty_like(hashes)
        ordered[numbers] = hashes
        return ordered
