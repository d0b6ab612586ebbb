"""Public lists of groups and of items: how many items of every listed group have each count, and their names (P15.1).

Every group of the list is there, with every item of the list, also those that nobody has. What somebody has is read as
observed items are (`observed.py`), in one snapshot; the others are known by their number alone until they are picked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from crestline.histogram.histogram import CountHistogram, Histogram
from crestline.histogram.histogram_table import ListedTable
from crestline.histogram.label_order import Label
from crestline.histogram.observed_table import ObservedTable
from crestline.sources.engine.runner import Runner
from crestline.sources.groups.observed_scores import ScoredGroups, score_groups
from crestline.sources.groups.scoring import GroupScoring

Picked: TypeAlias = tuple[Label, tuple[int, int]]  # a group, a count, and a place among its items of that count


class ListedGroups:
    """Histograms over a public list of items, one for each group of a public list, and the names of what is picked."""

    def __init__(self, groups: Sequence[Label], size: int, read: ScoredGroups, unit: int) -> None:
        self._absent = read.absent
        self._found: dict[Label, tuple[ObservedTable, int]] = {}
        for table in read.tables:
            self._found |= {label: (table, row) for row, label in enumerate(table.groups)}
        self.table = ListedTable(groups, [self._group_histogram(group, size, unit) for group in groups])

    def names(self, picks: Sequence[Picked]) -> list[Label]:
        """The labels of picked items, in their order: one statement for those that somebody has, one for the others."""
        known: dict[Picked, Label] = {}
        absent = [pick for pick in picks if not pick[1][0]]
        known |= zip(absent, self._absent([(group, at) for group, (_, at) in absent]), strict=True)
        there = [pick for pick in picks if pick[1][0]]
        for table in {id(table): table for table, _ in self._found.values()}.values():
            mine = [pick for pick in there if self._found[pick[0]][0] is table]
            rows = [(self._found[group][1], count, at) for group, (count, at) in mine]
            known |= zip(mine, table.names(rows), strict=True)
        return [known[pick] for pick in picks]

    def _group_histogram(self, group: Label, size: int, unit: int) -> CountHistogram:
        if group not in self._found:
            return Histogram.from_multiplicities({0: size}, unit=unit)
        table, row = self._found[group]
        part = np.s_[int(table.starts[row]) : int(table.starts[row + 1])]
        how_many = dict(zip(table.scores[part].tolist(), table.sizes[part].tolist(), strict=True))
        return Histogram.from_multiplicities({**how_many, 0: max(0, size - sum(how_many.values()))}, unit=unit)


@contextmanager
def open_listed_groups(runner: Runner, scoring: GroupScoring, key: bytes) -> Iterator[ListedGroups]:
    """All groups of a public list over a public list of items, in one snapshot that lasts as long as the context."""
    over = scoring.over
    groups = [over.groups.label(row) for row in runner.rows(over.all_groups())]
    ((size,),) = runner.rows(scoring.size())
    with score_groups(runner, scoring, key) as read:
        yield ListedGroups(groups, int(size), read, scoring.largest_weight)
