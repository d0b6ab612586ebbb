"""The one expression behind every question: rows to (user, item) pairs to counts to ranks.

Nothing here runs. An engine gets the finished expression, and `k_bar + 1` rows come back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

from crestline.histogram.label_order import Label
from crestline.question import Question
from crestline.sources.engine.engine_functions import Expression, try_else_null
from crestline.sources.expression import where
from crestline.sources.expression.column_functions import column_expression
from crestline.sources.expression.column_keys import Key, column, column_key
from crestline.sources.expression.contribution import bound_pairs
from crestline.sources.expression.filter_conditions import Filter
from crestline.sources.expression.period_conditions import period_conditions, period_index
from crestline.sources.expression.score import Score, score_of

USER = "user"
PERIOD = "period"
COUNT = "count"
UNITS = "units"


@dataclass(frozen=True)
class Items:
    """The item columns of a question as keys, under names that no column of the table can disturb; or those that make
    its groups (`kind` is then "group")."""

    keys: tuple[Key, ...]
    kind: str = "item"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.kind}_{i}" for i in range(len(self.keys)))

    @property
    def columns(self) -> dict[str, Expression]:
        return {name: part.value for name, part in zip(self.names, self.keys, strict=True)}

    @property
    def usable_conditions(self) -> list[Expression]:
        return [condition for part in self.keys for condition in part.usable]

    def result_columns(self, table: Expression) -> dict[str, Expression]:
        """The item columns of a grouped table, as they are sent back."""
        return {name: part.to_plain_values(table[name]) for name, part in zip(self.names, self.keys, strict=True)}

    def label(self, values: Sequence[Any]) -> Label:
        """One item's label: a plain value, or a tuple when there are several columns."""
        parts = tuple(part.label(value) for part, value in zip(self.keys, values, strict=True))
        return parts[0] if len(parts) == 1 else parts


@dataclass(frozen=True)
class Counting:
    """One question put to one table, step by step. Whatever does not depend on a key is built once.

    engine    the name of the engine, whose own functions are used
    untyped   the columns are text, whatever they mean (CSV, JSON lines)
    tree      a filter beside the question's own, as a tree
    each_period   pairs are told apart by their period also where the question itself has no bound
    stored_pairs  its pairs, where an engine has stored them
    """

    table: Expression
    question: Question
    engine: str
    untyped: bool = False
    tree: where.Condition | None = None
    each_period: bool = False
    stored_pairs: Expression = None

    @cached_property
    def user(self) -> Key:
        """The user column, as a key."""
        return column_key(column(self.table, self.question.user), self.question.user, self.engine)

    @cached_property
    def items(self) -> Items:
        """The item columns, as keys."""
        return Items(self._keys(self.question.item))

    @cached_property
    def groups(self) -> Items:
        """The columns that make the groups; none where the question has no groups."""
        return Items(self._keys(self.question.by), "group")

    def _keys(self, names: Sequence[str]) -> tuple[Key, ...]:
        return tuple(column_key(column_expression(self.table, name, self.engine), name, self.engine) for name in names)

    @cached_property
    def score(self) -> Score | None:
        return score_of(self.table, self.question, self.engine, untyped=self.untyped)

    @property
    def step(self) -> int:
        """The most by which one user can move one count."""
        score = self.score
        return 1 if score is None else score.step

    @property
    def bounded_by(self) -> tuple[str, ...]:
        """The columns that a bound is for: the user, and over several periods the period as well (P16.2)."""
        question, periods = self.question, self.question.periods
        bounded = self.each_period or question.contribution is not None or self.score is not None or bool(question.by)
        return (USER, PERIOD) if bounded and periods is not None and periods.size > 1 else (USER,)

    @cached_property
    def conditions(self) -> list[Expression]:
        """What must hold of a row that is counted: its user and items stand for something, it is of the periods, and it
        passes the filter."""
        periods, found = (
            self.question.periods,
            [*self.user.usable, *self.groups.usable_conditions, *self.items.usable_conditions],
        )
        if periods is not None:
            found += period_conditions(self.table, periods, self.engine)
        written = None if self.question.where is None else where.parse_filter(self.question.where)
        filters = Filter(self.table, self.engine, self.untyped)
        return found + [filters.condition(tree) for tree in (written, self.tree) if tree is not None]

    @cached_property
    def pairs(self) -> Expression:
        """Each user with each item (of each group), once; with a score, also how many units they add to it. Where a
        bound is for a user and a period, once for each period."""
        import ibis

        score, parts = self.score, (*self.groups.names, *self.items.names)
        if self.stored_pairs is not None:
            return self.stored_pairs
        if score is None:
            return self.rows().distinct()
        rows = self.table.filter(*self.conditions, *score.usable).select(**self._columns, **{UNITS: score.units})
        sums = rows.group_by([*self.bounded_by, *parts]).agg(**{UNITS: rows[UNITS].sum()})
        clipped = sums.mutate(**{UNITS: ibis.least(sums[UNITS], score.step)})  # clipped first: it fits
        return clipped.filter(clipped[UNITS] > 0)

    def rows(self, others: Mapping[str, str] = MappingProxyType({})) -> Expression:
        """User, groups and items of every row that is counted, as often as it is there or less; where a bound is for a
        user and a period, the period as well. Of `others` the columns of the table that stand in the place of ours."""
        if self.score is not None or self.stored_pairs is not None:
            return self.pairs
        kept = {name: value for name, value in self._columns.items() if name not in others}
        return self.table.filter(*self.conditions).select(
            **kept, **{name: self.table[name] for name in others.values()}
        )

    @cached_property
    def _columns(self) -> dict[str, Expression]:
        columns, periods = {USER: self.user.value, **self.groups.columns, **self.items.columns}, self.question.periods
        if periods is not None and PERIOD in self.bounded_by:
            columns[PERIOD] = period_index(self.table, periods, self.engine)
        return columns

    def over_stored_pairs(self, pairs: Expression) -> Counting:
        """The same question, over `pairs` that an engine has stored."""
        return replace(self, stored_pairs=pairs)

    def pairs_by_period(self) -> Counting:
        """The same question, with pairs for each period: for a mechanism that bounds users by itself (P16.2)."""
        return replace(self, each_period=True)

    def counts(self, pairs: Expression, key: bytes) -> Expression:
        """The count of each item (of each group) over the pairs that each user may contribute."""
        if self.question.contribution is not None:
            pairs = self.bound_pairs(pairs, self.question.contribution, key)
        if self.score is None and PERIOD in self.bounded_by:
            once = pairs.select(USER, *self.groups.names, *self.items.names)
            pairs = once.distinct()  # a user counts once over all periods
        total = pairs.count() if self.score is None else pairs[UNITS].sum().cast("int64")
        return pairs.group_by([*self.groups.names, *self.items.names]).agg(**{COUNT: total})

    def bound_pairs(self, pairs: Expression, contribution: int, key: bytes) -> Expression:
        """The pairs that are kept when each user (over several periods: in each of them; with groups: in each of those
        too) has at most `contribution` items."""
        names, groups = self.items.names, self.groups.names
        texts = self.texts(pairs, (USER, *groups, *names))
        return bound_pairs(pairs, (*self.bounded_by, *groups), names, texts, contribution, key, self.engine)

    def texts(self, table: Expression, names: Sequence[str]) -> list[Expression]:
        """Columns of `pairs`, or of a table that holds them, as texts that equal values share and no others."""
        known = (USER, *self.groups.names, *self.items.names)
        keys = dict(zip(known, (self.user, *self.groups.keys, *self.items.keys), strict=True))
        return [try_else_null(keys[name].text(table[name]), self.engine) for name in names]

    def top_counts(self, key: bytes) -> Expression:
        """The first `k_bar + 1` items by count descending, then by label ascending (P0.5)."""
        return (
            self._unbounded_top
            if self.question.contribution is None
            else self._rank_counts(self.counts(self.pairs, key))
        )

    @cached_property
    def _unbounded_top(self) -> Expression:
        """The same for a question without a bound, which needs no key."""
        return self._rank_counts(self.counts(self.pairs, b""))

    def _rank_counts(self, counts: Expression) -> Expression:
        import ibis

        items = self.items
        ordered = counts.order_by([ibis.desc(COUNT), *(ibis.asc(name) for name in items.names)])
        return ordered.select(**items.result_columns(ordered), **{COUNT: ordered[COUNT]}).limit(self.question.slots + 1)
