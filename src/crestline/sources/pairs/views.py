"""The views of distinct (user, item) pairs from an engine, all of one state of the table (P18.6).

The sieve asks one statement after the other, and decides from what was released what it asks next. All of them must see
the same pairs, or somebody who arrives in between would be in one view and not in another:

DuckDB, Spark   one statement stores the distinct pairs: in a temporary table, or as a local checkpoint, whose loss
                makes a statement fail rather than read the table again
PostgreSQL      one transaction, `repeatable read`
others          one statement fetches the distinct pairs into this process
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.histogram.labels import Label
from crestline.histogram.observed import ObservedItems
from crestline.histogram.pairs import CELLS, Counts, Pairs, PairViews
from crestline.sources.engine.engines import Expression
from crestline.sources.engine.fetching import Rows
from crestline.sources.engine.running import Runner
from crestline.sources.expression.counting import USER, Counting
from crestline.sources.expression.picks import Pick, in_order, multiplicities
from crestline.sources.pairs.counting import (
    NUMBER,
    PairCounting,
    by_number,
    listing_of,
    numbered,
    ranked,
    with_users,
)


@contextmanager
def over_pairs(runner: Runner, counting: Counting) -> Iterator[PairViews]:
    """The distinct pairs of a question, in one snapshot that lasts as long as the context."""
    with ExitStack() as held:
        if runner.has_tables:
            yield _stored(runner, counting, held)
        elif runner.has_snapshots:
            held.enter_context(runner.snapshot())
            pairs, names = counting.pairs, counting.items.names
            over = PairCounting(counting, names, listing_of(counting, pairs))
            yield EnginePairs(runner, over, pairs, with_users(pairs, names), lambda expression: expression)
        else:
            yield _in_memory(runner, counting)


def _stored(runner: Runner, counting: Counting, held: ExitStack) -> EnginePairs:
    """Items as numbers, which every later statement groups and joins faster than texts."""
    with runner.table_of(counting.pairs) as pairs:
        listing = held.enter_context(runner.table_of(numbered(counting, pairs)))
        return held.enter_context(over_stored(runner, counting, pairs, listing))


@contextmanager
def over_stored(runner: Runner, counting: Counting, pairs: Expression, listing: Expression) -> Iterator[EnginePairs]:
    """Pairs and their numbered items that are stored already; the pairs are not needed for longer than this takes."""
    with ExitStack() as held:

        def store(expression: Expression) -> Expression:
            return held.enter_context(runner.table_of(expression))

        numbers = store(by_number(counting, pairs, listing))
        yield EnginePairs(runner, PairCounting(counting, (NUMBER,), listing), numbers, listing, store)


def _in_memory(runner: Runner, counting: Counting) -> Pairs:
    pairs, items = counting.pairs, counting.items
    rows = runner.rows(pairs.select(**{USER: counting.user.fetched(pairs[USER])}, **items.fetched(pairs)))
    users, labels = dict[object, int](), dict[tuple[object, ...], int]()
    coded = [(users.setdefault(row[0], len(users)), labels.setdefault(tuple(row[1:]), len(labels))) for row in rows]
    table = np.array(coded, dtype=np.int64).reshape(-1, 2)
    return Pairs(table[:, 0], table[:, 1], [items.label(values) for values in labels])


@dataclass(frozen=True)
class EnginePairs:
    """Pairs in an engine, and their items with the number of users of each. `keep` stores an expression that several
    statements need, where the engine can."""

    runner: Runner
    over: PairCounting
    pairs: Expression
    items: Expression
    keep: Callable[[Expression], Expression]
    floor: ClassVar[int] = 1  # a floor goes with groups

    def users_with(self, rank: int) -> int:
        ((smallest, many),) = self.runner.rows(ranked(self.items, rank))
        return int(smallest) if many == rank else 0

    def users_by_items(self) -> Counts:
        return _dense(self.runner.rows(self.over.cells(self.pairs)), CELLS)

    def loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        placed = self.keep(self.over.placed(self.pairs, key, buckets))
        return _dense(self.runner.rows(self.over.loads(placed, weights)), buckets)

    def within(self, key: bytes, kept: NDArray[np.bool_]) -> EnginePairs:
        alive = self.keep(self.over.within(self.pairs, key, np.flatnonzero(kept).tolist(), len(kept)))
        return EnginePairs(self.runner, self.over, alive, with_users(alive, self.over.item), self.keep)

    def observed(self, key: bytes, weights: Counts) -> ObservedItems:
        scores = self.keep(self.over.scores(self.pairs, key, weights))
        how_many = dict(self.runner.rows(multiplicities(scores)))

        def named(picks: Sequence[Pick]) -> list[Label]:
            rows = self.runner.rows(self.over.names(scores, picks)) if picks else []
            items = self.over.counting.items
            return in_order(picks, {(score, index): items.label(values) for score, index, *values in rows})

        return ObservedItems(how_many, unit=int(weights[0]), named=named)

    def slots(self, k_bar: int) -> Histogram:
        items = self.over.counting.items
        rows = self.runner.rows(self.over.top(self.pairs, k_bar))
        return Histogram.from_ranked([(items.label(row[:-1]), row[-1]) for row in rows], k_bar)


def _dense(rows: Rows, size: int) -> Counts:
    """Numbers by their place; places without a row are zero."""
    result = np.zeros(size, dtype=np.int64)
    for place, number in rows:
        result[place] = number
    return result
