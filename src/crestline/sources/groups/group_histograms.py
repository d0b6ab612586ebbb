"""Groups from an engine: tables of histograms, all of one state of the table, some groups at a time (P15).

DuckDB, Spark   one statement ranks the items of every group and stores what is left, in a temporary table or as a local
                checkpoint; some groups at a time are fetched from there, so that this process never holds all of them
PostgreSQL      one statement, whose rows the server keeps and sends some at a time
others          one statement, whose rows are fetched at once

A public list of groups holds no private row, so it is read by a statement of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from crestline.histogram.histogram import LARGEST_COUNT
from crestline.histogram.histogram_table import HistogramTable, build_ranked_table
from crestline.histogram.label_order import Label
from crestline.sources.engine.bind_parameters import KEY, NOTHING, Values
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.fetch import Rows
from crestline.sources.engine.runner import Runner
from crestline.sources.groups.counting import GroupCounting, group_key_values

_ROWS = 1 << 18  # rows that are fetched at a time, at most: memory
_NUMBER = -1  # the column of a group's number


@contextmanager
def open_group_histograms(runner: Runner, over: GroupCounting, key: bytes) -> Iterator[Iterable[HistogramTable]]:
    """The histograms of all groups, in one snapshot that lasts as long as the context."""
    every = None if over.public_groups is None else [over.groups.label(row) for row in runner.rows(over.all_groups())]
    top = over.group_tops(key)
    if runner.has_tables:
        with runner.temporary_table(top) as stored:
            yield _tables(
                over, _group_batches(over, lambda *ends: runner.rows(over.order_groups(stored, *ends))), every
            )
    elif runner.has_snapshots:
        with runner.snapshot(), runner.row_batches(over.order_groups(top), _ROWS) as parts:
            yield _tables(over, whole_groups(parts, _NUMBER), every)
    else:
        yield _tables(over, [runner.rows(over.order_groups(top))], every)


@dataclass(frozen=True)
class GroupTables:
    """The statements of one shape of question with groups, over one temporary table of this name (DuckDB)."""

    over: GroupCounting
    runner: Runner
    name: str
    _parts: dict[tuple[int, int], Expression] = field(default_factory=dict, compare=False)

    @cached_property
    def stored_tops(self) -> Expression:
        """What is stored, with places for the key of a release."""
        return self.over.group_tops(KEY)

    def rows(self, first: int, last: int) -> Rows:
        """The stored rows of the groups of some numbers."""
        if (first, last) not in self._parts:
            stored = self.runner.stored_table(self.name, self.stored_tops)
            self._parts[first, last] = self.over.order_groups(stored, first, last)
        return self.runner.run_prepared(self._parts[first, last], NOTHING)


@contextmanager
def open_prepared_groups(tables: GroupTables, key: bytes, values: Values) -> Iterator[Iterable[HistogramTable]]:
    """The same as `open_group_histograms` without a public list, by statements that may have been written before."""
    try:
        tables.runner.store_rows(tables.name, tables.stored_tops, {**values, **group_key_values(key)})
        yield _tables(tables.over, _group_batches(tables.over, tables.rows), None)
    finally:
        tables.runner.drop_tables(tables.name)


def whole_groups(parts: Iterable[Rows], number: int) -> Iterator[Rows]:
    """Rows that come group after group, some at a time, cut between groups; `number` is the column of a group's."""
    held: Rows = []
    for rows in filter(None, parts):
        last = bisect_left(held, held[-1][number], key=lambda row: row[number]) if held else 0  # numbers ascend
        if last:
            yield held[:last]
            held = held[last:]
        held += rows
    if held:
        yield held


def _group_batches(over: GroupCounting, rows_of: Callable[[int, int], Rows]) -> Iterator[Rows]:
    """The rows of some groups at a time, by the ends of their numbers, until there are no more."""
    size, first = max(1, _ROWS // (over.counting.question.slots + 1)), 0
    while rows := rows_of(first, first + size):
        yield rows
        if rows[-1][-1] < first + size - 1:  # groups are numbered without gaps
            return
        first += size


def _tables(over: GroupCounting, parts: Iterable[Rows], every: list[Label] | None) -> Iterator[HistogramTable]:
    """One table for each part; of a public list also the groups that nobody has, and no other groups."""
    missing = None if every is None else dict.fromkeys(every)
    for rows in parts:
        table = _histogram_table(over, rows)
        if missing is not None:
            known = [group in missing for group in table.groups]
            for group in table.groups:
                missing.pop(group, None)
            table = table if all(known) else table.take(np.flatnonzero(known))
        yield table
    if missing:
        yield _empty_histograms(over, list(missing))


def _histogram_table(over: GroupCounting, rows: Rows) -> HistogramTable:
    """Rows of whole groups as a table: group columns, item columns, count, place, number."""
    wide, items = len(over.groups.names), over.counting.items
    places = np.fromiter((row[-2] for row in rows), dtype=np.int64, count=len(rows))
    counts = np.fromiter((min(row[-3], LARGEST_COUNT) for row in rows), dtype=np.int64, count=len(rows))
    begins = np.flatnonzero(places == 0)
    groups = [over.groups.label(rows[begin][:wide]) for begin in begins.tolist()]
    starts = np.append(begins, len(rows))
    question, step = over.counting.question, over.counting.step
    return build_ranked_table(groups, starts, counts, question.slots, lambda row: items.label(rows[row][wide:-3]), step)


def _empty_histograms(over: GroupCounting, groups: list[Label]) -> HistogramTable:
    none = np.zeros(0, dtype=np.int64)
    starts = np.zeros(len(groups) + 1, dtype=np.int64)
    return build_ranked_table(groups, starts, none, over.counting.question.slots, lambda row: None, over.counting.step)
