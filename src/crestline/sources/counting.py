"""The one expression behind every question: rows to (user, item) pairs to counts to ranks.

Nothing here runs. An engine gets the finished expression, and `k_bar + 1` rows come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from crestline.histogram.labels import Label
from crestline.question import Question
from crestline.sources.columns import Key, key
from crestline.sources.engines import Expression

USER = "user"
COUNT = "count"


@dataclass(frozen=True)
class Items:
    """The item columns of a question as keys, under names that no column of the table can disturb."""

    keys: tuple[Key, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"item_{i}" for i in range(len(self.keys)))

    def label(self, values: Sequence[Any]) -> Label:
        """One item's label: a plain value, or a tuple when there are several columns."""
        parts = tuple(part.label(value) for part, value in zip(self.keys, values, strict=True))
        return parts[0] if len(parts) == 1 else parts


def items_of(table: Expression, question: Question, engine: str) -> Items:
    """The question's item columns."""
    return Items(tuple(key(table, name, engine) for name in question.item))


def pairs(table: Expression, question: Question, items: Items, engine: str) -> Expression:
    """Each user with each of their items, once."""
    user = key(table, question.user, engine)
    usable = [condition for part in (user, *items.keys) for condition in part.usable]
    columns = {USER: user.value} | {name: part.value for name, part in zip(items.names, items.keys, strict=True)}
    return table.filter(*usable).select(**columns).distinct()


def counts(pairs: Expression, items: Items) -> Expression:
    """How many users have each item."""
    return pairs.group_by(list(items.names)).agg(**{COUNT: lambda rows: rows.count()})


def ranked(counts: Expression, items: Items, limit: int) -> Expression:
    """The first `limit` items by count descending, then by label ascending (P0.5)."""
    import ibis

    order = [ibis.desc(COUNT), *(ibis.asc(name) for name in items.names)]
    top = counts.order_by(order).limit(limit)
    fetched = {name: part.fetched(top[name]) for name, part in zip(items.names, items.keys, strict=True)}
    return top.select(**fetched, **{COUNT: top[COUNT]})
