"""A filter's tree as an Ibis condition: each value is turned into the type of its column, or refused.

Nothing here can fail on a row: a value of the wrong type is refused before the engine is asked, and every comparison
is total (`comparing`).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce

from crestline.errors import QuestionError
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.expression import where
from crestline.sources.expression.column_functions import column_expression
from crestline.sources.expression.comparisons import comparison, likeness, membership, number_in_text


@dataclass(frozen=True)
class Filter:
    """Builds conditions over one table. `untyped`: its columns are text that may hold numbers (CSV, JSON lines)."""

    table: Expression
    engine: str
    untyped: bool = False

    def condition(self, tree: where.Condition) -> Expression:
        """The condition, null wherever SQL says so."""
        match tree:
            case where.Not(part):
                return ~self.condition(part)
            case where.And(parts):
                return reduce(operator.and_, map(self.condition, parts))
            case where.Or(parts):
                return reduce(operator.or_, map(self.condition, parts))
            case where.IsNull(name):
                return self._value(name).isnull()
            case where.Like(name, pattern):
                return likeness(self._text_column(name, "like"), pattern, self.engine)
            case where.In(name, values):
                return self._in(name, values)
            case where.Between(name, low, high):
                return self._compare(name, ">=", low) & self._compare(name, "<=", high)
            case where.Compare(name, sign, value):
                return self._compare(name, sign, value)

    def _compare(self, name: str, sign: str, value: where.Value) -> Expression:
        left, (right,) = self._typed_operands(name, [value])
        return self._condition_or_refuse(comparison(left, sign, right, self.engine), name, [value])

    def _in(self, name: str, values: Sequence[where.Value]) -> Expression:
        """Without types, a column is a number beside numbers and a text beside texts: one set for each."""
        if not self._is_text_of_a_file(name):
            return self._condition_or_refuse(membership(self._value(name), values, self.engine), name, values)
        numbers = [value for value in values if isinstance(value, Decimal)]
        others = [value for value in values if not isinstance(value, Decimal)]
        return reduce(operator.or_, [self._membership_of_one_type(name, same) for same in (numbers, others) if same])

    def _membership_of_one_type(self, name: str, values: Sequence[where.Value]) -> Expression:
        left, rights = self._typed_operands(name, values)
        return self._condition_or_refuse(membership(left, rights, self.engine), name, values)

    def _typed_operands(self, name: str, values: Sequence[where.Value]) -> tuple[Expression, list[where.Value]]:
        """The column and the values, all numbers or none, as they are compared: in a table without types, as numbers
        or as text."""
        left = self._value(name)
        if not self._is_text_of_a_file(name):
            return left, list(values)
        if isinstance(values[0], Decimal):
            return number_in_text(left, self.engine), list(values)
        return left, [str(value).lower() if isinstance(value, bool) else value for value in values]

    def _text_column(self, name: str, what: str) -> Expression:
        value = self._value(name)
        if not value.type().is_string():
            raise QuestionError(f"`{what}` needs a text column; {name!r} is of type {value.type()}")
        return value

    def _value(self, name: str) -> Expression:
        """The column, or the function of one, that a filter names."""
        return column_expression(self.table, name, self.engine)

    def _is_text_of_a_file(self, name: str) -> bool:
        """Whether it may hold numbers, though it is text; what a function makes of it has a type."""
        return self.untyped and bool(self._value(name).type().is_string())

    def _condition_or_refuse(
        self, condition: Expression | None, name: str, values: Sequence[where.Value]
    ) -> Expression:
        if condition is not None:
            return condition
        kind, written = self._value(name).type(), ", ".join(map(_as_written, values))
        raise QuestionError(
            f"column {name!r} is of type {kind} and cannot be compared with {written}: text, dates and times are "
            "written in single quotes (dates as '2026-01-31'), numbers and true/false without"
        )


def _as_written(value: where.Value) -> str:
    """The value as the caller wrote it."""
    return repr(value) if isinstance(value, str) else str(value).lower()
