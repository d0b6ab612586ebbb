"""What is built for one shape of question, and kept: expressions with places, and tables for its pairs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeAlias

from crestline.histogram.pairs import PairViews
from crestline.histogram.table import HistogramTable
from crestline.sources.engine.asker import asker
from crestline.sources.engine.engines import Expression
from crestline.sources.engine.places import KEY
from crestline.sources.engine.running import Runner
from crestline.sources.expression.counting import Counting
from crestline.sources.groups.counting import GroupCounting
from crestline.sources.groups.tables import GroupTables, over_group_tables
from crestline.sources.pairs.coded import Numbered, PairTables, over_codes
from crestline.sources.shapes.shape import Shape

_KEPT = 256
Owned: TypeAlias = tuple[str, Shape]  # who asked, and what


class Shapes:
    """The shapes of the questions that one table was asked, for each asker apart."""

    def __init__(
        self, runner: Runner, built: Callable[[Shape], Counting], numbered: Mapping[str, Numbered] | None = None
    ) -> None:
        import ibis

        self._runner = runner
        self._numbered = numbered or {}
        self._countings = lru_cache(_KEPT)(lambda owned: built(owned[1]))
        self._tops = lru_cache(_KEPT)(lambda owned: self._countings(owned).top(KEY))
        self._tables = lru_cache(_KEPT)(self._new_tables)
        self._group_tables = lru_cache(_KEPT)(self._new_group_tables)
        self._name = ibis.util.gen_name("crestline")  # letters, digits and underscores
        self._turn = threading.Lock()
        self._taken: set[int] = set()

    def counting(self, shape: Shape) -> Counting:
        """The question step by step."""
        return self._countings((asker(), shape))

    def top(self, shape: Shape) -> Expression:
        """Its first `k_bar + 1` items, with a place for the key of a release."""
        return self._tops((asker(), shape))

    @contextmanager
    def pairs(self, shape: Shape) -> Iterator[PairViews]:
        """Its distinct pairs, in tables that nobody else uses meanwhile (DuckDB)."""
        with self._number() as number, over_codes(self._tables((asker(), shape), number), shape.values) as views:
            yield views

    def group_tops(self, shape: Shape) -> Expression:
        """The first `k_bar + 1` items of each of its groups, with places for the key of a release."""
        return self._group_tables((asker(), shape), 0).top

    @contextmanager
    def groups(self, shape: Shape, key: bytes) -> Iterator[Iterable[HistogramTable]]:
        """The histograms of its groups, from a table that nobody else uses meanwhile (DuckDB)."""
        with self._number() as number:
            tables = self._group_tables((asker(), shape), number)
            with over_group_tables(tables, key, shape.values) as found:
                yield found

    def _new_group_tables(self, owned: Owned, number: int) -> GroupTables:
        return GroupTables(GroupCounting(self._countings(owned)), self._runner, f"{self._name}_{number}_groups")

    def _new_tables(self, owned: Owned, number: int) -> PairTables:
        counting = self._countings(owned)
        asked = counting.question
        found = self._numbered.get(asked.item[0]) if len(asked.item) == 1 else None
        known = found if found is not None and found.user == asked.user else None
        return PairTables(counting, self._runner, f"{self._name}_{number}", known)

    @contextmanager
    def _number(self) -> Iterator[int]:
        """The smallest number that is free: mostly zero, so that statements are written once."""
        with self._turn:
            number = next(number for number in range(len(self._taken) + 1) if number not in self._taken)
            self._taken.add(number)
        try:
            yield number
        finally:
            with self._turn:
                self._taken.discard(number)
