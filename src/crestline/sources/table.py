"""TableSource: any table Ibis can reach, asked through one expression (D1)."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.views import SLOTS, View
from crestline.question import Limits, Question
from crestline.sources.engine.asker import asker
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.engines import EMBEDDED, Expression, one_period, readable
from crestline.sources.engine.fetching import Rows
from crestline.sources.engine.running import Runner
from crestline.sources.expression.coarse import valued
from crestline.sources.expression.contribution import key_values
from crestline.sources.expression.counting import PERIOD, Counting
from crestline.sources.expression.domain import DomainCounting, Lookup, domain_counting, public_list
from crestline.sources.expression.snapshot import over_list
from crestline.sources.groups.counting import GroupCounting
from crestline.sources.groups.lists import over_lists
from crestline.sources.groups.observed import over_observed
from crestline.sources.groups.pairs import over_pairs_in_groups
from crestline.sources.groups.scoring import GroupScoring
from crestline.sources.groups.tables import over_groups
from crestline.sources.pairs.coded import Numbered
from crestline.sources.pairs.reached import check as check_reached
from crestline.sources.pairs.reached import held, reached
from crestline.sources.pairs.views import over_pairs
from crestline.sources.shapes.kept import Shapes
from crestline.sources.shapes.shape import Shape, shape_of
from crestline.sources.source import Reading

if TYPE_CHECKING:
    import pyarrow

_KEPT = 32
"""Questions whose expressions are kept: one is checked, then asked, and often asked again; building takes 10 ms."""


class TableSource:
    """One Ibis table on one engine.

    untyped    its columns are text that may hold numbers (CSV, JSON lines)
    embedded   its text is UTF-8 for sure and compared by its bytes: files in a DuckDB of our own
    numbered   its columns of numbered pairs, by the item, where it is a copy that was made with such
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
        numbered: Mapping[str, Numbered] | None = None,
    ) -> None:
        self.name = name
        self.timeout = connection.timeout
        self.untyped = untyped
        self._runner = Runner(connection.engine, connection.timeout, table)
        self._dialect = dialect = EMBEDDED if embedded else self._runner.name
        table = readable(table, dialect)
        self._countings = lru_cache(_KEPT)(lambda asker, question: Counting(table, question, dialect, untyped))
        self.table, self.dialect = table, dialect
        self._shapes = Shapes(
            self._runner, lambda shape: Counting(table, shape.question, dialect, untyped, shape.tree), numbered
        )
        self._is_text = lru_cache(_KEPT)(lambda name: _is_text(table, name, dialect))
        binds, is_text = self._runner.binds, self._is_text
        self._shaped = lru_cache(_KEPT)(
            lambda asker, question: shape_of(question, is_text) if binds else Shape(question)
        )
        self._lookup = lookup or _no_lookup
        if connection.close is not None:
            weakref.finalize(self, connection.close)  # the connection was opened for this source, and ends with it

    @property
    def limits(self) -> Limits:
        """Pairs that are counted here, and not in the engine, carry no period."""
        return Limits(pairs_by_period=self._runner.has_tables or self._runner.has_snapshots)

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Build the expression and throw it away: every refusal there is happens here, and no row is read."""
        if view.kind != SLOTS.kind and not (self._runner.has_tables or self._runner.has_snapshots):
            one_period(question, self._dialect)
        if question.by and view.kind == "observed":
            GroupScoring(self._in_groups(question), view.weights).scores(bytes(32))
        elif question.by and (view.kind == "pairs" or question.domain is not None):
            GroupScoring(self._in_groups(question)).scores(bytes(32))
        elif self._keeps_groups(question):
            self._shapes.group_tops(self._shape(question))
        elif question.by:
            self._in_groups(question).top(bytes(32))
        elif question.domain is None:
            self._shapes.top(self._shape(question))
        else:
            self._over(question, self._counting(question)).every_count(bytes(32))
        if question.coverage:
            check_reached(self._counting(question))

    @contextmanager
    def ready(self) -> Iterator[Self]:
        """This table, once its engine has answered."""
        self._runner.ping()
        yield self

    def expression(self, question: Question, key: bytes = b"") -> Expression:
        """The question as one Ibis expression of at most `k_bar + 1` rows."""
        return self._counting(question).top(key)

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
            counting = counting.by_period()
        if not question.coverage:
            with self._read(question, counting, key, view) as reading:
                yield reading
            return
        with held(self._runner, counting) as stored, self._read(question, stored, key, view) as reading:
            yield replace(reading, reached=lambda labels: reached(self._runner, stored, labels))

    @contextmanager
    def _read_shape(self, question: Question, key: bytes, view: View) -> Iterator[Reading]:
        """What a question without groups or a public list reads: its statements may have been written before."""
        shape = self._shape(question)
        counting = self._shapes.counting(shape)
        if view.kind == SLOTS.kind:
            unit = Fraction(1) if question.clip is None else Fraction(question.clip, counting.step)
            yield Reading(self._counted(shape, key), unit)
            return
        own = self._counting(question).by_period() if view.kind == "pairs" else self._counting(question)
        coded = self._runner.has_arrays and PERIOD not in own.whose
        with self._shapes.pairs(shape) if coded else over_pairs(self._runner, own) as pairs:
            yield Reading(pairs if view.kind == "pairs" else pairs.observed(key, np.array(view.weights)))

    @contextmanager
    def _read(self, question: Question, counting: Counting, key: bytes, view: View) -> Iterator[Reading]:
        if question.by and view.kind == "observed":
            scoring = GroupScoring(self._in_groups(question), view.weights)
            with over_observed(self._runner, scoring, key) as observed:
                yield Reading(observed, hidden=Fraction(scoring.over.hidden))
            return
        if question.by and view.kind == "pairs":
            with over_pairs_in_groups(self._runner, self._in_groups(question), key) as grouped:
                yield Reading([grouped.table], labels_in=grouped.names)
            return
        if view.kind != SLOTS.kind:
            with over_pairs(self._runner, counting) as pairs:
                yield Reading(pairs if view.kind == "pairs" else pairs.observed(key, np.array(view.weights)))
            return
        unit = Fraction(1) if question.clip is None else Fraction(question.clip, counting.step)
        if question.by and question.domain is not None:
            with over_lists(self._runner, GroupScoring(self._in_groups(question)), key) as listed:
                yield Reading([listed.table], unit, labels_in=listed.names)
            return
        if question.by:
            over, written = self._in_groups(question), self._keeps_groups(question)
            found = self._shapes.groups(self._shape(question), key) if written else over_groups(self._runner, over, key)
            with found as tables:
                yield Reading(tables, unit, hidden=over.hidden * unit)
            return
        if question.domain is None:
            yield Reading(self._top_counts(counting, key), unit)
            return
        with over_list(self._runner, self._over(question, counting), key) as (histogram, labels):
            yield Reading(histogram, unit, labels)

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram alone, without a public list."""
        return self._counted(self._shape(question), key)

    def fetched(self, expression: Expression, limit: int) -> pyarrow.Table | None:
        """The rows of an expression as an Arrow table, read in one statement; None where they take more bytes."""
        return self._runner.arrow(expression, limit)

    def _counting(self, question: Question) -> Counting:
        """The expression of a question, which is built once for each asker: that takes long enough to tell somebody
        else that it was asked before."""
        return self._countings(asker(), question)

    def _shape(self, question: Question) -> Shape:
        return self._shaped(asker(), question)

    def _counted(self, shape: Shape, key: bytes) -> Histogram:
        counting = self._shapes.counting(shape)
        if not self._runner.binds:
            return self._top_counts(counting, key)
        values = shape.values if shape.question.contribution is None else {**shape.values, **key_values(key)}
        return _ranked(counting, self._runner.bound_rows(self._shapes.top(shape), values))

    def _top_counts(self, counting: Counting, key: bytes) -> Histogram:
        return _ranked(counting, self._runner.rows(counting.top(key)))

    def version(self) -> str | None:
        return None

    def _keeps_groups(self, question: Question) -> bool:
        """Whether the statements of a question with groups are kept: a public list becomes known to the engine anew
        each time."""
        listed = question.groups is not None or question.domain is not None
        return bool(question.by) and not listed and not question.coverage and self._runner.has_arrays

    def _in_groups(self, question: Question) -> GroupCounting:
        counting = self._counting(question)
        if question.groups is None:
            return GroupCounting(counting)
        listed = public_list(counting, question.by, counting.groups, question.groups, self._lookup)
        items = None if question.domain is None else self._over(question, counting).domain
        return GroupCounting(counting, listed, items)

    def _over(self, question: Question, counting: Counting) -> DomainCounting:
        return domain_counting(counting, question.domain, self._lookup)


def _ranked(counting: Counting, rows: Rows) -> Histogram:
    labelled = [(counting.items.label(row[:-1]), row[-1]) for row in rows]
    return Histogram.from_ranked(labelled, counting.question.slots, unit=counting.step)


def _is_text(table: Expression, name: str, engine: str) -> bool:
    """Whether a column, or a function of one, is text; one that is not there is refused when it is used."""
    try:
        return bool(valued(table, name, engine).type().is_string())
    except QuestionError:
        return False


def _no_lookup(name: str) -> Expression:
    raise QuestionError("name a domain by text only where the source is a database URL or a file; give the items")
