"""TableSource: any table Ibis can reach, asked through one expression (D1)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.relation import PairViews
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import NO_SNAPSHOT, Limits, Question
from crestline.sources.engine.cache_owner import cache_owner
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.engine_functions import EMBEDDED, Expression, readable_table
from crestline.sources.engine.fetch import Rows
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.column_functions import column_expression
from crestline.sources.expression.contribution import key_values
from crestline.sources.expression.counting import Counting
from crestline.sources.expression.public_list import DomainCounting, Lookup, domain_counting, public_list
from crestline.sources.expression.public_list_snapshot import open_public_list
from crestline.sources.groups.counting import GroupCounting
from crestline.sources.groups.group_histograms import open_group_histograms
from crestline.sources.groups.observed_scores import open_observed_groups
from crestline.sources.groups.pairs import open_grouped_pairs
from crestline.sources.groups.public_lists import open_listed_groups
from crestline.sources.groups.scoring import GroupScoring
from crestline.sources.pairs.coverage import check as check_reached
from crestline.sources.pairs.coverage import count_coverage, with_stable_pairs
from crestline.sources.pairs.fetched import NumberedColumn, memory_limit
from crestline.sources.pairs.pair_views import open_engine_pairs, open_pairs
from crestline.sources.source import Reading
from crestline.sources.templates.prepared_questions import PreparedQuestions
from crestline.sources.templates.query_template import QueryTemplate, query_template

if TYPE_CHECKING:
    import pyarrow

_KEPT = 32
"""Questions whose expressions are kept: one is checked, then asked, and often asked again; building takes 10 ms."""


class TableSource:
    """One Ibis table on one engine.

    untyped    its columns are text that may hold numbers (CSV, JSON lines)
    embedded   its text is UTF-8 for sure and compared by its bytes: files in a DuckDB of our own
    numbered   its columns that hold numbers of another column's values, by that, where it is a copy made with such
    """

    def __init__(
        self,
        table: Expression,
        connection: Connection,
        *,
        name: str,
        untyped: bool = False,
        embedded: bool = False,
        lookup: Lookup | None = None,
        numbered: Mapping[str, NumberedColumn] | None = None,
    ) -> None:
        self.name = name
        self.timeout = connection.timeout
        self.untyped = untyped
        self._runner = Runner(connection.engine, connection.timeout, table)
        self._dialect = dialect = EMBEDDED if embedded else self._runner.name
        table = readable_table(table, dialect)
        self._countings = lru_cache(_KEPT)(lambda asker, question: Counting(table, question, dialect, untyped))
        self.table, self.dialect = table, dialect
        self._shapes = PreparedQuestions(
            self._runner, lambda shape: Counting(table, shape.question, dialect, untyped, shape.tree), numbered
        )
        self._is_text = lru_cache(_KEPT)(lambda name: _is_text(table, name, dialect))
        binds, is_text = self._runner.has_bind_parameters, self._is_text
        self._shaped = lru_cache(_KEPT)(
            lambda asker, question: query_template(question, is_text) if binds else QueryTemplate(question)
        )
        self._lookup = lookup or _refuse_lookup
        if connection.close is not None:
            weakref.finalize(self, connection.close)  # the connection was opened for this source, and ends with it

    @property
    def limits(self) -> Limits:
        """Whether several statements read one state of the table, in a table that is kept or in a transaction."""
        return Limits(snapshots=self._runner.has_tables or self._runner.has_snapshots)

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Build the expression and throw it away: every refusal there is happens here, and no row is read."""
        several = question.periods is not None and question.periods.size > 1
        memory_limit()  # refuses a variable of the environment that is no number
        if view.kind not in replace(self.limits, several=several).views_of(question):
            raise QuestionError(NO_SNAPSHOT)
        if question.by and view.kind == "observed":
            GroupScoring(self._group_counting(question), view.weights).scores(bytes(32))
        elif question.by and (view.kind == "pairs" or question.domain is not None):
            GroupScoring(self._group_counting(question)).scores(bytes(32))
        elif self._keeps_groups(question):
            self._shapes.group_tops(self._template(question))
        elif question.by:
            self._group_counting(question).group_tops(bytes(32))
        elif question.domain is None:
            self._shapes.top_counts(self._template(question))
        else:
            self._over_public_list(question, self._counting(question)).every_count(bytes(32))
        if question.coverage:
            check_reached(self._counting(question))

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """This table, once its engine has answered."""
        self._runner.ping()
        yield self

    def expression(self, question: Question, key: bytes = b"") -> Expression:
        """The question as one Ibis expression of at most `k_bar + 1` rows."""
        return self._counting(question).top_counts(key)

    @contextmanager
    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> Iterator[Reading]:
        """Run the expression: the engine counts, and `k_bar + 1` rows come back. Over a public list its items are
        `(count, index)` pairs until they are named."""
        if not (question.coverage or question.by or question.domain is not None):
            with self._read_shape(question, key, view) as reading:
                yield reading
            return
        counting = self._counting(question)
        if view.kind == "pairs":
            counting = counting.pairs_by_period()
        if not question.coverage:
            with self._read_view(question, counting, key, view) as reading:
                yield reading
            return
        with (
            with_stable_pairs(self._runner, counting) as stored,
            self._read_view(question, stored, key, view) as reading,
        ):
            yield replace(reading, coverage=lambda labels: count_coverage(self._runner, stored, labels))

    @contextmanager
    def _read_shape(self, question: Question, key: bytes, view: View) -> Iterator[Reading]:
        """What a question without groups or a public list reads: its statements may have been written before."""
        shape = self._template(question)
        counting = self._shapes.counting(shape)
        if view.kind == SLOTS.kind:
            unit = Fraction(1) if question.clip is None else Fraction(question.clip, counting.step)
            yield Reading(self._count_top(shape, key), unit)
            return
        relation = self._shapes.relation(shape) if self._runner.has_batches else None
        own = nullcontext(relation) if relation is not None else self._open_engine_pairs(question)
        with own as pairs:
            yield Reading(pairs if view.kind == "pairs" else pairs.observed_items(key, np.array(view.weights)))

    def _open_engine_pairs(self, question: Question) -> AbstractContextManager[PairViews]:
        return open_engine_pairs(self._runner, self._counting(question).pairs_by_period())

    @contextmanager
    def _read_view(self, question: Question, counting: Counting, key: bytes, view: View) -> Iterator[Reading]:
        if question.by and view.kind == "observed":
            scoring = GroupScoring(self._group_counting(question), view.weights)
            with open_observed_groups(self._runner, scoring, key) as observed:
                yield Reading(observed, hidden_floor=Fraction(scoring.over.hidden_floor))
            return
        if question.by and view.kind == "pairs":
            with open_grouped_pairs(self._runner, self._group_counting(question), key) as grouped:
                yield Reading([grouped.table], labels_in=grouped.names)
            return
        if view.kind != SLOTS.kind:
            with open_pairs(self._runner, counting) as pairs:
                yield Reading(pairs if view.kind == "pairs" else pairs.observed_items(key, np.array(view.weights)))
            return
        unit = Fraction(1) if question.clip is None else Fraction(question.clip, counting.step)
        if question.by and question.domain is not None:
            with open_listed_groups(self._runner, GroupScoring(self._group_counting(question)), key) as listed:
                yield Reading([listed.table], unit, labels_in=listed.names)
            return
        if question.by:
            over, written = self._group_counting(question), self._keeps_groups(question)
            found = (
                self._shapes.groups(self._template(question), key)
                if written
                else open_group_histograms(self._runner, over, key)
            )
            with found as tables:
                yield Reading(tables, unit, hidden_floor=over.hidden_floor * unit)
            return
        if question.domain is None:
            yield Reading(self._top_counts(counting, key), unit)
            return
        with open_public_list(self._runner, self._over_public_list(question, counting), key) as (histogram, labels):
            yield Reading(histogram, unit, labels)

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram alone, without a public list."""
        return self._count_top(self._template(question), key)

    def fetch_arrow(self, expression: Expression, limit: int) -> pyarrow.Table | None:
        """The rows of an expression as an Arrow table, read in one statement; None where they take more bytes."""
        return self._runner.fetch_arrow(expression, limit)

    def _counting(self, question: Question) -> Counting:
        """The expression of a question, which is built once for each asker: that takes long enough to tell somebody
        else that it was asked before."""
        return self._countings(cache_owner(), question)

    def _template(self, question: Question) -> QueryTemplate:
        return self._shaped(cache_owner(), question)

    def _count_top(self, shape: QueryTemplate, key: bytes) -> Histogram:
        counting = self._shapes.counting(shape)
        if not self._runner.has_bind_parameters:
            return self._top_counts(counting, key)
        values = shape.values if shape.question.contribution is None else {**shape.values, **key_values(key)}
        return _ranked_histogram(counting, self._runner.run_prepared(self._shapes.top_counts(shape), values))

    def _top_counts(self, counting: Counting, key: bytes) -> Histogram:
        return _ranked_histogram(counting, self._runner.rows(counting.top_counts(key)))

    def version(self) -> str | None:
        return None

    def _keeps_groups(self, question: Question) -> bool:
        """Whether the statements of a question with groups are kept: a public list becomes known to the engine anew
        each time."""
        listed = question.groups is not None or question.domain is not None
        return bool(question.by) and not listed and not question.coverage and self._runner.has_arrays

    def _group_counting(self, question: Question) -> GroupCounting:
        counting = self._counting(question)
        if question.groups is None:
            return GroupCounting(counting)
        listed = public_list(counting, question.by, counting.groups, question.groups, self._lookup)
        items = None if question.domain is None else self._over_public_list(question, counting).domain
        return GroupCounting(counting, listed, items)

    def _over_public_list(self, question: Question, counting: Counting) -> DomainCounting:
        return domain_counting(counting, question.domain, self._lookup)


def _ranked_histogram(counting: Counting, rows: Rows) -> Histogram:
    labelled = [(counting.items.label(row[:-1]), row[-1]) for row in rows]
    return Histogram.from_ranked(labelled, counting.question.slots, unit=counting.step)


def _is_text(table: Expression, name: str, engine: str) -> bool:
    """Whether a column, or a function of one, is text; one that is not there is refused when it is used."""
    try:
        return bool(column_expression(table, name, engine).type().is_string())
    except QuestionError:
        return False


def _refuse_lookup(name: str) -> Expression:
    raise QuestionError("name a domain by text only where the source is a database URL or a file; give the items")
