"""The views of distinct (user, item) pairs from an engine, all of one state of the table (P18.6).

The sieve asks one statement after the other, and decides from what was released what it asks next. All of them must see
the same pairs, or somebody who arrives in between would be in one view and not in another:

in this process one statement fetches the rows, and arrays are counted (`fetched`); rows that take more than a public
                bound are counted in the engine, as below
with tables     one statement stores the distinct pairs: in a temporary table, or as a local checkpoint (Spark), whose
                loss makes a statement fail rather than read the table again
PostgreSQL      one transaction, `repeatable read`
others          refused: numbers of rows, hashed in this process in place of labels, let one user move the items of all
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from crestline.errors import NotSent, SourceError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import CELLS, Counts, PairViews
from crestline.question import NO_SNAPSHOT
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.fetch import Rows
from crestline.sources.engine.runner import Runner
from crestline.sources.engine.sent_flag import nothing_was_sent
from crestline.sources.expression.counting import Counting
from crestline.sources.expression.item_names import Pick, count_multiplicities, labels_in_order
from crestline.sources.pairs.counting import (
    NUMBER,
    PairCounting,
    count_users,
    distinct_items,
    number_items,
    pairs_by_number,
    rank_threshold,
)
from crestline.sources.pairs.fetched import RelationQuery


@contextmanager
def open_pairs(runner: Runner, counting: Counting) -> Iterator[PairViews]:
    """The distinct pairs of a question, in one snapshot that lasts as long as the context."""
    relation = RelationQuery(counting).read(runner) if runner.has_batches else None
    if relation is not None:
        yield relation
        return
    with open_engine_pairs(runner, counting) as pairs:
        yield pairs


@contextmanager
def open_engine_pairs(runner: Runner, counting: Counting) -> Iterator[PairViews]:
    """The same, counted in the engine."""
    with ExitStack() as held:
        if runner.has_tables:
            yield _store_pairs(runner, counting, held)
        elif runner.has_snapshots:
            held.enter_context(runner.snapshot())
            pairs, names = counting.pairs, counting.items.names
            over = PairCounting(counting, names, distinct_items(counting, pairs))
            yield EnginePairs(runner, over, pairs, count_users(pairs, names), lambda expression: expression)
        else:  # refused before the charge; a transaction of somebody else began since then
            raise (NotSent if nothing_was_sent() else SourceError)(NO_SNAPSHOT)


def _store_pairs(runner: Runner, counting: Counting, stack: ExitStack) -> EnginePairs:
    """Items as numbers, which every later statement groups and joins faster than texts."""

    def store(expression: Expression) -> Expression:
        return stack.enter_context(runner.temporary_table(expression))

    with runner.temporary_table(counting.pairs) as pairs:
        listing = store(number_items(counting, pairs))
        numbers = store(pairs_by_number(counting, pairs, listing))
    return EnginePairs(runner, PairCounting(counting, (NUMBER,), listing), numbers, listing, store)


@dataclass(frozen=True)
class EnginePairs:
    """Pairs in an engine, and their items with the number of users of each. `keep` stores an expression that several
    statements need, where the engine can."""

    runner: Runner
    expressions: PairCounting
    pairs: Expression
    items: Expression
    keep: Callable[[Expression], Expression]
    floor: ClassVar[int] = 1  # a floor goes with groups

    def users_with(self, rank: int) -> int:
        ((smallest, many),) = self.runner.rows(rank_threshold(self.items, rank))
        return int(smallest) if many == rank else 0

    def users_by_items(self) -> Counts:
        return _dense_counts(self.runner.rows(self.expressions.users_by_cell(self.pairs)), CELLS)

    def bucket_loads(self, key: bytes, buckets: int, weights: Counts) -> Counts:
        placed = self.keep(self.expressions.users_in_buckets(self.pairs, key, buckets))
        return _dense_counts(self.runner.rows(self.expressions.bucket_loads(placed, weights)), buckets)

    def pairs_in_buckets(self, key: bytes, kept_buckets: NDArray[np.bool_]) -> EnginePairs:
        alive = self.keep(
            self.expressions.pairs_in_buckets(self.pairs, key, np.flatnonzero(kept_buckets).tolist(), len(kept_buckets))
        )
        return EnginePairs(self.runner, self.expressions, alive, count_users(alive, self.expressions.item), self.keep)

    def observed_items(self, key: bytes, weights: Counts) -> ObservedItems:
        scores = self.keep(self.expressions.item_scores(self.pairs, key, weights))
        how_many = dict(self.runner.rows(count_multiplicities(scores)))

        def fetch_labels(picks: Sequence[Pick]) -> list[Label]:
            rows = self.runner.rows(self.expressions.pick_labels(scores, picks)) if picks else []
            items = self.expressions.counting.items
            return labels_in_order(picks, {(score, index): items.label(values) for score, index, *values in rows})

        def fetch_users(picks: Sequence[Pick]) -> list[int]:
            rows = self.runner.rows(self.expressions.pick_users(scores, self.items, picks)) if picks else []
            known = {(int(score), int(index)): int(users) for score, index, users in rows}
            return [known[score, index] for score, index in picks]

        return ObservedItems(how_many, unit=int(weights[0]), named=fetch_labels, users_of=fetch_users)

    def slots(self, k_bar: int) -> Histogram:
        items = self.expressions.counting.items
        rows = self.runner.rows(self.expressions.top_counts(self.pairs, k_bar))
        return Histogram.from_ranked([(items.label(row[:-1]), row[-1]) for row in rows], k_bar)


def _dense_counts(rows: Rows, size: int) -> Counts:
    """Numbers by their place; places without a row are zero."""
    result = np.zeros(size, dtype=np.int64)
    for place, number in rows:
        result[place] = number
    return result
