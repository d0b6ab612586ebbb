"""A filter's tree as an Ibis condition: each value is turned into the type of its column, or refused.

Nothing here can fail on a row: a value of the wrong type is refused before the engine is asked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

from crestline.errors import QuestionError
from crestline.sources import where
from crestline.sources.columns import column
from crestline.sources.engines import Expression, codec

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_LARGEST_INTEGER = 2**63 - 1
_WIDEST_DECIMAL = 38


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
            case where.All(parts):
                return reduce(operator.and_, map(self.condition, parts))
            case where.Any_(parts):
                return reduce(operator.or_, map(self.condition, parts))
            case where.IsNull(name):
                return column(self.table, name).isnull()
            case where.Like(name, pattern):
                return self._text(name, "like").like(pattern)
            case where.In(name, values):
                pairs = [self._pair(name, value) for value in values]
                return pairs[0][0].isin([literal for _, literal in pairs])
            case where.Between(name, low, high):
                return self._compare(name, ">=", low) & self._compare(name, "<=", high)
            case where.Compare(name, sign, value):
                return self._compare(name, sign, value)

    def _compare(self, name: str, sign: str, value: where.Value) -> Expression:
        left, right = self._pair(name, value)
        if left.type().is_string() and sign not in ("=", "<>"):  # bytes have one order, collations have many
            left, right = map(codec(self.engine).encode, (left, right))
        return _OPERATORS[sign](left, right)

    def _text(self, name: str, what: str) -> Expression:
        value = column(self.table, name)
        if not value.type().is_string():
            raise QuestionError(f"`{what}` needs a text column; {name!r} is of type {value.type()}")
        return value

    def _pair(self, name: str, value: where.Value) -> tuple[Expression, Expression]:
        """The column and the value, made comparable."""
        left = column(self.table, name)
        if self.untyped and isinstance(value, Decimal):
            left = left.try_cast("float64")
        if self.untyped and isinstance(value, bool):
            return left, _literal(str(value).lower(), "string")
        right = _like_column(left.type(), value)
        if right is None:
            raise QuestionError(
                f"column {name!r} is of type {left.type()} and cannot be compared with {_written(value)}: text, dates "
                "and times are written in single quotes (dates as '2026-01-31'), numbers and true/false without"
            )
        return left, right


def _like_column(kind: Any, value: where.Value) -> Expression | None:
    """The value as a literal of the column's kind, or None when it is none."""
    if isinstance(value, bool):
        return _literal(value, "boolean") if kind.is_boolean() else None
    if isinstance(value, Decimal):
        return _number(kind, value) if kind.is_numeric() and not kind.is_boolean() else None
    if kind.is_string():
        return _literal(value, "string")
    if kind.is_date():
        return _iso(date.fromisoformat, value)
    if kind.is_timestamp():
        return _iso(lambda text: _moment(text, aware=kind.timezone is not None), value)
    return None


def _number(kind: Any, value: Decimal) -> Expression:
    if value == value.to_integral_value() and abs(value) <= _LARGEST_INTEGER:
        return _literal(int(value), "int64")
    if kind.is_decimal():
        return _decimal(kind, value)
    return _literal(float(value), "float64")


def _decimal(kind: Any, value: Decimal) -> Expression:
    """A decimal with room for every value of the column beside it, so that no comparison can overflow."""
    if kind.precision is None:  # PostgreSQL's numeric without bounds
        return _literal(value, "decimal")
    scale = max(kind.scale, -int(value.as_tuple().exponent))
    if max(kind.precision - kind.scale, value.adjusted() + 1) + scale <= _WIDEST_DECIMAL:
        return _literal(value, f"decimal({_WIDEST_DECIMAL}, {scale})")
    return _literal(float(value), "float64")


def _moment(text: str, *, aware: bool) -> datetime:
    moment = datetime.fromisoformat(text)
    if aware:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment.tzinfo:
        raise ValueError("the column has no time zone")
    return moment


def _iso(read: Callable[[str], date | datetime], text: str) -> Expression | None:
    import ibis

    try:
        return ibis.literal(read(text))
    except ValueError:
        return None


def _literal(value: Any, kind: str) -> Expression:
    import ibis

    return ibis.literal(value, type=kind)


def _written(value: where.Value) -> str:
    """The value as the caller wrote it."""
    return repr(value) if isinstance(value, str) else str(value).lower()
