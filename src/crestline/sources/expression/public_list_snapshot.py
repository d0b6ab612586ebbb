"""One snapshot for one question over a public list: names are read from the very rows that were counted.

Counting and naming are two statements, with the mechanism between them. If the second saw a row that the first did not,
that row alone could decide which item is named. So both are asked of one state of the table:

DuckDB        one statement stores the list with its counts in a temporary table; both are asked of that table. A
              transaction would not do: a view may read files, and files are replaced without asking DuckDB.
PostgreSQL    one transaction, `repeatable read`
others        one statement fetches the items that somebody has, with their counts, into this process; the second reads
              the public list alone, for names of items that nobody has
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.item_names import Pick, labels_in_order
from crestline.sources.expression.public_list import DomainCounting

Labels: TypeAlias = Callable[[Sequence[Any]], list[Label]]


@contextmanager
def open_public_list(runner: Runner, over: DomainCounting, key: bytes) -> Iterator[tuple[Histogram, Labels]]:
    """How many items of the list have each count, and the labels of its `(count, index)` pairs, in one snapshot."""
    if runner.stores_public_lists:
        with runner.temporary_table(over.every_count(key)) as every:
            yield _read_in_engine(runner, over, every)
    elif runner.has_snapshots:
        with runner.snapshot():
            yield _read_in_engine(runner, over, over.every_count(key))
    else:
        yield _read_in_memory(runner, over, key)


def _read_in_engine(runner: Runner, over: DomainCounting, every: Expression) -> tuple[Histogram, Labels]:
    """Both statements to the engine."""

    def labels(picks: Sequence[Pick]) -> list[Label]:
        rows = runner.rows(over.names(every, picks)) if picks else []
        return labels_in_order(picks, {(count, index): over.items.label(values) for count, index, *values in rows})

    rows = runner.rows(over.multiplicities(every))
    return Histogram.from_multiplicities(dict(rows), unit=over.counting.step), labels


def _read_in_memory(runner: Runner, over: DomainCounting, key: bytes) -> tuple[Histogram, Labels]:
    """The items that somebody has are held here; of the others only their places in the list are needed."""
    ((size,),) = runner.rows(over.size())
    found = sorted(runner.rows(over.counted_items(key)), key=lambda row: row[0])
    taken, seen, known = [place for place, *_ in found], Counter[int](), dict[Pick, Label]()
    for _, count, *values in found:
        known[count, seen[count]] = over.items.label(values)
        seen[count] += 1

    def labels(picks: Sequence[Pick]) -> list[Label]:
        places = {(count, index): index_of_free_place(index, taken) for count, index in picks if count == 0}
        rows = runner.rows(over.items_at(places.values())) if places else []
        names = {place: over.items.label(values) for place, *values in rows}
        unseen = {pick: names[place] for pick, place in places.items() if place in names}
        return labels_in_order(picks, known | unseen)

    return Histogram.from_multiplicities({0: max(0, size - len(found)), **seen}, unit=over.counting.step), labels


def index_of_free_place(index: int, taken: Sequence[int]) -> int:
    """The place of the item number `index` among those whose places are not in `taken`, which is sorted.

    >>> [free_place(index, [0, 2, 3]) for index in range(3)]
    [1, 4, 5]
    """
    # taken[i] - i counts the free places before taken[i], and never falls
    return index + bisect_right(range(len(taken)), index, key=lambda i: taken[i] - i)
