"""Rows of a SQL result, made from the answer to the question that the text was read as."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from crestline.answer.answer import Answer
from crestline.histogram.label_order import Label, label_order
from crestline.sql_questions.statement import Role, SqlColumn, Statement

if TYPE_CHECKING:
    import pandas


PLAN_COLUMN = "QUERY PLAN"
Parts: TypeAlias = tuple[object, ...]


@dataclass(frozen=True)
class SqlResult:
    """The result of a statement.

    Attributes:
        columns: Names of the columns.
        rows: The rows, in order.
        answer: The answer that they were made from; None where no question was asked.
        notes: What the text says differently from what was counted.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    answer: Answer | None = None
    notes: tuple[str, ...] = ()

    def to_pandas(self) -> pandas.DataFrame:
        """`pandas.DataFrame` with the columns and rows."""
        import pandas

        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)


def known_result(statement: Statement) -> SqlResult:
    """The result of a text that asks nothing: one row of constants, or no row."""
    names = tuple(column.name for column in statement.columns)
    return SqlResult(names, () if statement.constants is None else (statement.constants,), notes=statement.notes)


def price_result(statement: Statement, price: str) -> SqlResult:
    """The price of a question as the result of EXPLAIN."""
    return SqlResult((PLAN_COLUMN,), tuple((line,) for line in price.splitlines()), notes=statement.notes)


def answer_result(statement: Statement, answer: Answer) -> SqlResult:
    """The rows of an answer, with the columns, the order and the limit of the text."""
    parts = (
        [((), answer)] if answer.by_group is None else [(_parts(group), one) for group, one in answer.groups.items()]
    )
    rows = [
        tuple(_cell(column, group, rank, _parts(item), count) for column in statement.columns)
        for group, one in parts
        for rank, (item, count) in enumerate(zip(one.listed_items, one.counts or (None,) * len(one), strict=True), 1)
    ]
    for place, descends in reversed(statement.sort):
        rows.sort(key=lambda row: (row[place] is None, label_order(row[place])), reverse=descends)
    names = tuple(column.name for column in statement.columns)
    return SqlResult(names, tuple(rows[: statement.limit]), answer, statement.notes)


def _parts(label: Label) -> Parts:
    return label if isinstance(label, tuple) else (label,)


def _cell(column: SqlColumn, group: Parts, rank: int, item: Parts, count: Fraction | None) -> object:
    """One value of a row."""
    if column.role is Role.RANK:
        return rank
    if column.role is Role.NUMBER:
        return None if count is None else int(count) if count.denominator == 1 else float(count)
    values = [(group if column.role is Role.GROUP else item)[part] for part in column.parts]
    if column.truncated_to:
        year, number = (*(int(str(value)) for value in values), 1)[:2]
        return date(year, 3 * number - 2 if column.truncated_to == "quarter" else number, 1)
    return values[0]
