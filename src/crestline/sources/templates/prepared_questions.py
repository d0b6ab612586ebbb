"""What is built for one shape of question, and kept: expressions with places, and tables for its groups."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeAlias

from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.relation import Relation
from crestline.sources.engine.bind_parameters import KEY
from crestline.sources.engine.cache_owner import cache_owner
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.counting import Counting
from crestline.sources.groups.counting import GroupCounting
from crestline.sources.groups.group_histograms import GroupTables, open_prepared_groups
from crestline.sources.pairs.fetched import NumberedColumn, RelationQuery
from crestline.sources.templates.query_template import QueryTemplate

_KEPT = 256
Owned: TypeAlias = tuple[str, QueryTemplate]  # who asked, and what


class PreparedQuestions:
    """The shapes of the questions that one table was asked, for each asker apart."""

    def __init__(
        self,
        runner: Runner,
        built: Callable[[QueryTemplate], Counting],
        numbered: Mapping[str, NumberedColumn] | None = None,
    ) -> None:
        import ibis

        self._runner = runner
        self._numbered = numbered or {}
        self._countings = lru_cache(_KEPT)(lambda owned: built(owned[1]))
        self._tops = lru_cache(_KEPT)(lambda owned: self._countings(owned).top_counts(KEY))
        self._relations = lru_cache(_KEPT)(
            lambda owned: RelationQuery(self._countings(owned).pairs_by_period(), self._numbered)
        )
        self._group_tables = lru_cache(_KEPT)(self._build_group_tables)
        self._name = ibis.util.gen_name("crestline")  # letters, digits and underscores
        self._turn = threading.Lock()
        self._taken: set[int] = set()

    def counting(self, shape: QueryTemplate) -> Counting:
        """The question step by step."""
        return self._countings((cache_owner(), shape))

    def top_counts(self, shape: QueryTemplate) -> Expression:
        """Its first `k_bar + 1` items, with a place for the key of a release."""
        return self._tops((cache_owner(), shape))

    def relation(self, shape: QueryTemplate) -> Relation | None:
        """Its relation in this process; None where its rows take more memory than they may."""
        query: RelationQuery = self._relations((cache_owner(), shape))
        return query.read(self._runner, shape.values)

    def group_tops(self, shape: QueryTemplate) -> Expression:
        """The first `k_bar + 1` items of each of its groups, with places for the key of a release."""
        return self._group_tables((cache_owner(), shape), 0).stored_tops

    @contextmanager
    def groups(self, shape: QueryTemplate, key: bytes) -> Iterator[Iterable[HistogramTable]]:
        """The histograms of its groups, from a table that nobody else uses meanwhile (DuckDB)."""
        with self._free_number() as number:
            tables = self._group_tables((cache_owner(), shape), number)
            with open_prepared_groups(tables, key, shape.values) as found:
                yield found

    def _build_group_tables(self, owned: Owned, number: int) -> GroupTables:
        return GroupTables(GroupCounting(self._countings(owned)), self._runner, f"{self._name}_{number}_groups")

    @contextmanager
    def _free_number(self) -> Iterator[int]:
        """The smallest number that is free: mostly zero, so that statements are written once."""
        with self._turn:
            number = next(number for number in range(len(self._taken) + 1) if number not in self._taken)
            self._taken.add(number)
        try:
            yield number
        finally:
            with self._turn:
                self._taken.discard(number)
