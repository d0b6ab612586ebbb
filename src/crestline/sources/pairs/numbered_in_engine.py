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
from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.pairs import Counts, PairViews, sorted_distinct
from crestline.sources.engine.bind_parameters import KEY, NOTHING, PICKS, Values
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.contribution import key_values
from crestline.sources.expression.counting import USER, Counting
from crestline.sources.pairs.counting import (
    ITEM_KEY,
    NUMBER,
    OF_ITEM,
    OF_USER,
    PRIME,
    USER_KEY,
    PairCounting,
    number_items,
    pairs_by_number,
    top_items,
)
from crestline.sources.pairs.fetched import FEW, fetch_pairs, may_be_fetched, result_columns
from crestline.sources.pairs.numbered import NumberedPairs
from crestline.sources.pairs.pair_views import open_stored_pairs

MOST_PAIRS = 1 << 26
"""Largest number of pairs that are counted in this process: 1 GiB, and as much again while they are counted."""
CODE = "code"


@dataclass(frozen=True)
class PairColumn:
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

    Where pairs were `pair_column` before, nothing is stored.
    """

    counting: Counting
    runner: Runner
    name: str
    pair_column: PairColumn | None = None
    _placed: dict[int, Expression] = field(default_factory=dict, compare=False)
    _tops: dict[int, Expression] = field(default_factory=dict, compare=False)

    @cached_property
    def pairs(self) -> Expression:
        return self.runner.stored_table(f"{self.name}_pairs", self.counting.pairs)

    @cached_property
    def fetched_pairs(self) -> Expression:
        return result_columns(self.counting, self.pairs)

    @cached_property
    def numbered_items(self) -> Expression:
        return number_items(self.counting, self.pairs)

    @cached_property
    def item_list(self) -> Expression:
        if self.pair_column is not None:
            return self.pair_column.listing
        return self.runner.stored_table(f"{self.name}_items", self.numbered_items)

    def top_items(self, k_bar: int) -> Expression:
        """The first `k_bar + 1` items of the list by number of users descending, then by label ascending (P0.5)."""
        if k_bar not in self._tops:
            self._tops[k_bar] = top_items(self.item_list, self.counting.items, k_bar + 1)
        return self._tops[k_bar]

    @cached_property
    def numbered_users(self) -> Expression:
        import ibis

        return self.pairs.select(USER).distinct().mutate(**{CODE: ibis.row_number()})

    @cached_property
    def users(self) -> Expression:
        if self.pair_column is not None:
            return self.pair_column.users
        return self.runner.stored_table(f"{self.name}_users", self.numbered_users)

    @cached_property
    def pair_numbers(self) -> Expression:
        """The numbers of the user and of the item of every pair."""
        return (
            pairs_by_number(self.counting, self.pairs, self.item_list).inner_join(self.users, USER).select(CODE, NUMBER)
        )

    @cached_property
    def numbers(self) -> Expression:
        """The numbered pair of every row that the question is about."""
        assert self.pair_column is not None, "asked only where pairs were numbered"
        return self.counting.table.filter(*self.counting.conditions).select(self.pair_column.column)

    @cached_property
    def _hash_expressions(self) -> PairCounting:
        return PairCounting(self.counting, (NUMBER,), self.item_list)

    @cached_property
    def user_hashes(self) -> Expression:
        return self._hash_expressions.user_factors(self.users, KEY).select(CODE, OF_USER)

    @cached_property
    def item_hashes(self) -> Expression:
        return self._hash_expressions.item_factors(KEY).select(NUMBER, OF_ITEM)

    def items_with_buckets(self, buckets: int) -> Expression:
        """Every item with its bucket."""
        if buckets not in self._placed:
            self._placed[buckets] = self._hash_expressions.items_with_buckets(KEY, buckets)
        return self._placed[buckets]

    @cached_property
    def labels(self) -> Expression:
        """The labels of the items whose numbers stand in the place for picks."""
        import ibis

        one_row = ibis.literal(0).name("one").as_table()
        picks = one_row.select(**{NUMBER: ibis.literal(PICKS).split(",").unnest().cast("int64")})
        found = self.item_list.semi_join(picks, NUMBER)
        return found.select(found[NUMBER], **self.counting.items.result_columns(found))


@contextmanager
def open_numbered_pairs(tables: PairTables, values: Values) -> Iterator[PairViews]:
    """The distinct pairs of a question with these values, in one snapshot that lasts as long as the context."""
    runner = tables.runner
    if tables.pair_column is not None:
        (numbers,) = runner.columns(tables.numbers, values)
        found, bits = sorted_distinct(numbers), tables.pair_column.bits
        yield NumberedPairs.from_distinct(found >> bits, found & ((1 << bits) - 1), _Names(tables), _Hashes(tables))
        return
    try:
        many = runner.store_rows(f"{tables.name}_pairs", tables.counting.pairs, values)
        if many <= FEW and may_be_fetched(tables.counting):
            yield fetch_pairs(tables.counting, runner, tables.fetched_pairs)
            return
        runner.store_rows(f"{tables.name}_items", tables.numbered_items)
        if many > MOST_PAIRS:
            with open_stored_pairs(runner, tables.counting, tables.pairs, tables.item_list) as pairs:
                runner.drop_tables(f"{tables.name}_pairs")  # its numbers are enough
                yield pairs
            return
        yield StoredPairs(tables)
    finally:
        runner.drop_tables(*(f"{tables.name}_{part}" for part in ("pairs", "items", "users")))


@dataclass(frozen=True)
class StoredPairs:
    """Pairs in tables of the engine. The most popular items are read from their list; before any other view the numbers
    of all pairs are fetched, once."""

    tables: PairTables
    floor: ClassVar[int] = 1  # a floor goes with groups

    @cached_property
    def numbered_pairs(self) -> NumberedPairs:
        """The pairs in this process."""
        tables, runner = self.tables, self.tables.runner
        runner.store_rows(f"{tables.name}_users", tables.numbered_users)
        users, items = runner.columns(tables.pair_numbers)
        return NumberedPairs.from_distinct(users, items, _Names(tables), _Hashes(tables))

    def slots(self, k_bar: int) -> Histogram:
        items = self.tables.counting.items
        rows = self.tables.runner.run_prepared(self.tables.top_items(k_bar), NOTHING)
        return Histogram.from_ranked([(items.label(row[:-1]), row[-1]) for row in rows], k_bar)

    def users_with(self, rank: int) -> int:
        return self.numbered_pairs.users_with(rank)

    def users_by_items(self) -> Counts:
        return self.numbered_pairs.users_by_items()

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        return self.numbered_pairs.bucket_loads(key, buckets, weights)

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> PairViews:
        return self.numbered_pairs.pairs_in_buckets(key, kept_buckets)

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        return self.numbered_pairs.observed_items(key, weights)


@dataclass(frozen=True)
class _Names:
    """The labels of items, asked for when they are picked."""

    tables: PairTables

    def __call__(self, numbers: list[int]) -> list[Label]:
        if not numbers:
            return []
        items = self.tables.counting.items
        rows = self.tables.runner.run_prepared(self.tables.labels, {PICKS: ",".join(map(str, numbers))})
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
            self._last[key, buckets] = self._fetch_in_order(self.tables.items_with_buckets(buckets), key)
        return self._last[key, buckets]

    def pair_ranks(self, key: bytes, users: Counts, items: Counts) -> Counts:
        of_users, of_items = (
            self._fetch_in_order(asked, key) for asked in (self.tables.user_hashes, self.tables.item_hashes)
        )
        places: Counts = of_users[users] * (of_items[items] + 1) % PRIME
        return places

    def _fetch_in_order(self, asked: Expression, key: bytes) -> Counts:
        numbers, hashes = self.tables.runner.columns(asked, key_values(key, USER_KEY, ITEM_KEY))
        ordered = np.empty_like(hashes)
        ordered[numbers] = hashes
        return ordered
