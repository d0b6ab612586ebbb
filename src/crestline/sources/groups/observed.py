"""The observed items of every group from an engine, all of one state of the table (P15.1, P17.2).

DuckDB, Spark   one statement stores the scores of all items; how many items of each group have each score is fetched
                from there some groups at a time, and the names of what was picked
PostgreSQL      the same statements in one transaction, `repeatable read`
others          one statement, whose rows are fetched at once and named from memory
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import numpy as np

from crestline.errors import SourceError
from crestline.histogram.labels import Label, label_order
from crestline.histogram.observed import ObservedItems
from crestline.histogram.observed_table import ObservedTable, Pick
from crestline.sources.engine.engines import Expression
from crestline.sources.engine.fetching import Rows
from crestline.sources.engine.running import Runner
from crestline.sources.groups.scoring import GroupScoring

_GROUPS = 1 << 12  # groups that are fetched at a time, at most: memory

Names = Callable[[Sequence[Pick]], list[Label]]


@contextmanager
def over_observed(runner: Runner, scoring: GroupScoring, key: bytes) -> Iterator[Iterable[ObservedTable]]:
    """The observed items of all groups, in one snapshot that lasts as long as the context."""
    over = scoring.over
    every = None if over.listed is None else [over.groups.label(row) for row in runner.rows(over.every_group())]
    with ExitStack() as held:
        yield _with_empty(_tables(runner, scoring, key, held), every, scoring.unit)


def _tables(runner: Runner, scoring: GroupScoring, key: bytes, held: ExitStack) -> Iterator[ObservedTable]:
    scores = scoring.scores(key)
    if not (runner.has_tables or runner.has_snapshots):
        return iter([_in_memory(scoring, runner.rows(scoring.every_score(scores)))])
    if not runner.has_tables:
        held.enter_context(runner.snapshot())
        numbered = scoring.numbered(scores)
        parts = iter([runner.rows(scoring.ordered(scoring.classes(scores, numbered)))])
    else:
        scores = held.enter_context(runner.table_of(scores))
        numbered = held.enter_context(runner.table_of(scoring.numbered(scores)))
        parts = _parts(runner, scoring, held.enter_context(runner.table_of(scoring.classes(scores, numbered))))

    def names(picks: Sequence[Pick]) -> list[Label]:
        items = scoring.over.counting.items
        rows = runner.rows(scoring.names(scores, numbered, picks)) if picks else []
        return _in_order(picks, {(number, score, at): items.label(values) for number, score, at, *values in rows})

    return (_table(scoring, rows, names) for rows in parts)


def _parts(runner: Runner, scoring: GroupScoring, stored: Expression) -> Iterator[Rows]:
    """The classes of some groups at a time, until there are no more."""
    first = 0
    while rows := runner.rows(scoring.ordered(stored, first, first + _GROUPS)):
        yield rows
        first += _GROUPS


def _table(scoring: GroupScoring, rows: Rows, names: Names) -> ObservedTable:
    """Rows of whole groups as a table: group columns, number, score, how many."""
    numbers, scores, sizes = (np.array([row[at] for row in rows], dtype=np.int64) for at in (-3, -2, -1))
    begins = np.flatnonzero(np.diff(numbers, prepend=-1))
    labels = [scoring.over.groups.label(rows[begin][:-3]) for begin in begins.tolist()]
    number = numbers[begins].tolist()

    def named(picks: Sequence[Pick]) -> list[Label]:
        return names([(number[row], score, at) for row, score, at in picks])

    return ObservedTable(labels, np.append(begins, len(rows)), scores, sizes, named, scoring.unit)


def _in_memory(scoring: GroupScoring, rows: Rows) -> ObservedTable:
    """Group columns, item columns and score of every item, all of them held here."""
    groups, items = scoring.over.groups, scoring.over.counting.items
    wide, found = len(groups.names), defaultdict[Label, dict[Label, int]](dict)
    for row in rows:
        found[groups.label(row[:wide])][items.label(row[wide:-1])] = row[-1]
    labels = sorted(found, key=label_order)
    return ObservedTable.of([(label, ObservedItems.from_scores(found[label], unit=scoring.unit)) for label in labels])


def _with_empty(tables: Iterable[ObservedTable], every: list[Label] | None, unit: int) -> Iterator[ObservedTable]:
    """Of a public list also the groups that nobody has."""
    missing = None if every is None else dict.fromkeys(every)
    for table in tables:
        for group in () if missing is None else table.groups:
            missing.pop(group, None)  # type: ignore[union-attr] # there is a list
        yield table
    if missing:
        yield ObservedTable.of([(label, ObservedItems({}, unit=unit, labels=())) for label in missing])


def _in_order(picks: Sequence[Pick], known: dict[Pick, Label]) -> list[Label]:
    """The labels of the picks. In one snapshot every pick has one."""
    labels = [known.get(pick) for pick in picks]
    if any(label is None for label in labels):
        raise SourceError("what was counted changed before it was named; ask again")
    return [label for label in labels if label is not None]
