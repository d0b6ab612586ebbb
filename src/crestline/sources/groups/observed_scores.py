"""The observed items of every group from an engine, all of one state of the table (P15.1, P17.2).

DuckDB, Spark   one statement stores the scores of all items; how many items of each group have each score is fetched
                from there some groups at a time, and the names of what was picked
PostgreSQL      the same statements in one transaction, `repeatable read`; the server keeps what was not fetched yet
others          one statement, whose rows are fetched at once and named from memory
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from crestline.errors import SourceError
from crestline.histogram.label_order import Label, label_order
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.observed_table import ObservedTable, Pick
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.fetch import Rows
from crestline.sources.engine.runner import Runner
from crestline.sources.groups.group_histograms import whole_groups
from crestline.sources.groups.scoring import GroupScoring

_GROUPS, _ROWS = 1 << 12, 1 << 18  # groups, or rows, that are fetched at a time, at most: memory
_NUMBER = -3  # the column of a group's number

_NOBODY = -1  # the number of groups that nobody is in

Names = Callable[[Sequence[Pick]], list[Label]]
Absent: TypeAlias = tuple[Label, int]  # a group, and a place among the items of a public list that nobody has there
_Wanted = TypeVar("_Wanted", bound=Hashable)


@dataclass(frozen=True)
class ScoredGroups:
    """The observed items of all groups, and the way back to what they were read from.

    tables   the observed items, some groups at a time
    absent   the labels of items of a public list that nobody has: of a group, and a place among them in label order
    """

    tables: Iterator[ObservedTable]
    absent: Callable[[Sequence[Absent]], list[Label]]


@contextmanager
def open_observed_groups(runner: Runner, scoring: GroupScoring, key: bytes) -> Iterator[Iterable[ObservedTable]]:
    """The observed items of all groups, in one snapshot that lasts as long as the context."""
    over = scoring.over
    every = None if over.public_groups is None else [over.groups.label(row) for row in runner.rows(over.all_groups())]
    with score_groups(runner, scoring, key) as read:
        yield _add_empty_groups(read.tables, every, scoring)


@contextmanager
def score_groups(runner: Runner, scoring: GroupScoring, key: bytes) -> Iterator[ScoredGroups]:
    """The observed items of the groups that somebody is in."""
    scores = scoring.scores(key)
    with ExitStack() as held:
        if runner.has_tables:
            scores = held.enter_context(runner.temporary_table(scores))
            numbered = held.enter_context(runner.temporary_table(scoring.number_groups(scores)))
            classes = held.enter_context(runner.temporary_table(scoring.score_classes(scores, numbered)))
            yield _read_in_engine(
                runner, scoring, _StoredScores(scores, numbered), _score_batches(runner, scoring, classes)
            )
        elif runner.has_snapshots:
            held.enter_context(runner.snapshot())
            numbered = scoring.number_groups(scores)
            classes = scoring.order_classes(scoring.score_classes(scores, numbered))
            parts = held.enter_context(runner.row_batches(classes, _ROWS))
            yield _read_in_engine(runner, scoring, _StoredScores(scores, numbered), whole_groups(parts, _NUMBER))
        else:
            yield _read_in_memory(runner, scoring, runner.rows(scoring.all_scores(scores)))


@dataclass(frozen=True)
class _StoredScores:
    """What later statements ask: the score of every item of every group, and the numbers of the groups."""

    scores: Expression
    group_numbers: Expression


def _read_in_engine(runner: Runner, scoring: GroupScoring, kept: _StoredScores, parts: Iterator[Rows]) -> ScoredGroups:
    """All later statements go to the engine."""
    items, groups = scoring.over.counting.items, scoring.over.groups

    def fetch_labels(picks: Sequence[Pick]) -> list[Label]:
        rows = runner.rows(scoring.pick_labels(kept.scores, kept.group_numbers, picks)) if picks else []
        return _labels_in_order(
            picks, {(number, score, at): items.label(values) for number, score, at, *values in rows}
        )

    def fetch_absent_labels(picks: Sequence[Absent]) -> list[Label]:
        if not picks:
            return []
        numbers = {groups.label(row[:-1]): row[-1] for row in runner.rows(scoring.numbers(kept.group_numbers))}
        wanted = [(numbers.get(group, _NOBODY), at) for group, at in picks]
        rows = runner.rows(scoring.absent_labels(kept.scores, kept.group_numbers, wanted))
        return _labels_in_order(wanted, {(number, at): items.label(values) for number, at, *values in rows})

    return ScoredGroups((_observed_table(scoring, rows, fetch_labels) for rows in parts), fetch_absent_labels)


def _score_batches(runner: Runner, scoring: GroupScoring, stored: Expression) -> Iterator[Rows]:
    """The classes of some groups at a time, until there are no more."""
    first = 0
    while rows := runner.rows(scoring.order_classes(stored, first, first + _GROUPS)):
        yield rows
        if rows[-1][_NUMBER] < first + _GROUPS - 1:  # groups are numbered without gaps
            return
        first += _GROUPS


def _observed_table(scoring: GroupScoring, rows: Rows, names: Names) -> ObservedTable:
    """Rows of whole groups as a table: group columns, number, score, how many."""
    numbers, scores, sizes = (np.array([row[at] for row in rows], dtype=np.int64) for at in (-3, -2, -1))
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    labels = [scoring.over.groups.label(rows[begin][:-3]) for begin in begins.tolist()]
    number = numbers[begins].tolist()

    def label_picks(picks: Sequence[Pick]) -> list[Label]:
        return names([(number[row], score, at) for row, score, at in picks])

    return ObservedTable(
        labels, np.append(begins, len(rows)), scores, sizes, label_picks, scoring.largest_weight, scoring.floor
    )


def _read_in_memory(runner: Runner, scoring: GroupScoring, rows: Rows) -> ScoredGroups:
    """Group columns, item columns and score of every item, all of them held here."""
    groups, items = scoring.over.groups, scoring.over.counting.items
    wide, found = len(groups.names), defaultdict[Label, dict[Label, int]](dict)
    for row in rows:
        found[groups.label(row[:wide])][items.label(row[wide:-1])] = row[-1]
    labels = sorted(found, key=label_order)
    unit, floor = scoring.largest_weight, scoring.floor
    parts = [(label, ObservedItems.from_scores(found[label], unit=unit, floor=floor)) for label in labels]

    def absent_labels(picks: Sequence[Absent]) -> list[Label]:
        every = [items.label(row) for row in runner.rows(scoring.all_items())] if picks else []
        free = {group: [item for item in every if item not in found.get(group, {})] for group, _ in picks}
        return [free[group][at] for group, at in picks]

    return ScoredGroups(iter([ObservedTable.from_histograms(parts)]), absent_labels)


def _add_empty_groups(
    tables: Iterable[ObservedTable], every: list[Label] | None, scoring: GroupScoring
) -> Iterator[ObservedTable]:
    """Of a public list also the groups that nobody has."""
    missing = None if every is None else dict.fromkeys(every)
    for table in tables:
        for group in () if missing is None else table.groups:
            missing.pop(group, None)  # type: ignore[union-attr] # there is a list
        yield table
    if missing:
        nothing = ObservedItems({}, unit=scoring.largest_weight, floor=scoring.floor, labels=())
        yield ObservedTable.from_histograms([(label, nothing) for label in missing])


def _labels_in_order(picks: Sequence[_Wanted], known: dict[_Wanted, Label]) -> list[Label]:
    """The labels of the picks. In one snapshot every pick has one, unless a public list changed."""
    labels = [known.get(pick) for pick in picks]
    if any(label is None for label in labels):
        raise SourceError("what was counted changed before it was named; ask again")
    return [label for label in labels if label is not None]
