"""Total comparisons: a column and a value of the question, compared so that no row can make the engine fail.

What is asked of an engine cannot fail on a row. An engine skips a condition where an earlier one has let no row
through, so a condition that fails on some row would tell by its failure whether anybody passed the earlier one. Here
every comparison is defined for each value that the type of its column can hold, and null only where the column is:

- The column is never converted to the type of the value. The value is converted to the type of the column, while the
  comparison is built. Whole numbers and decimals lie on a grid: `n < 2.5` becomes `n <= 2`, and a value that lies
  outside the column's range decides the comparison for every row but those with null.
- Columns that must be converted all the same (text that may hold numbers, timestamps coarser than a microsecond,
  DuckDB's whole numbers of 128 bits) go through a cast that gives null where it is not defined, inside DuckDB's `try`.
- A comparison of a column with a value of its own type stays bare: it cannot fail, and `try` would keep DuckDB from
  skipping the parts of a Parquet file whose statistics exclude the value.
- A floating-point value that is no number is missing, as null is. Statistics of Parquet files leave it out, so that an
  engine would find it or not by what the rows of others hold.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from crestline.sources.engine.engine_functions import Expression, codec_or_refuse, dialect, has_codec, try_else_null
from crestline.sources.expression.column_keys import representable

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType

Day = TypeVar("Day", date, datetime)

Value: TypeAlias = str | bool | Decimal

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_EQUALITY = ("=", "<>")
_BELOW = ("<", "<=")
_NANOSECONDS = 9


@dataclass(frozen=True)
class Grid:
    """A type whose values are whole multiples of one unit, from `low` to `high` units."""

    units: Callable[[Value], Fraction | None]
    low: int
    high: int
    literal: Callable[[int], Expression]

    def grid_comparison(self, sign: str, place: Fraction) -> tuple[str, int] | bool:
        """The same comparison with a point of the grid, or what it says of every value of the type."""
        if place.denominator > 1:
            if sign in _EQUALITY:
                return sign == "<>"
            sign, place = ("<=", Fraction(math.floor(place))) if sign in _BELOW else (">=", Fraction(math.ceil(place)))
        if self.low <= place <= self.high:
            return sign, int(place)
        return sign == "<>" if sign in _EQUALITY else (place > self.high) == (sign in _BELOW)


def comparison(column: Expression, sign: str, value: Value, engine: str) -> Expression | None:
    """`column sign value`, or None when the value is not of the column's kind."""
    column = representable(column, engine)
    if column.type().is_string() and isinstance(value, str):
        return _text_comparison(column, sign, value, engine)
    grid = _grid(column.type(), engine)
    if grid is None:
        literal = _literal(column.type(), value)
        return None if literal is None else _of_numbers(_OPERATORS[sign](column, literal), column, engine)
    place = grid.units(value)
    if place is None:
        return None
    bound = grid.grid_comparison(sign, place)
    if isinstance(bound, bool):
        return _constant_unless_null(column, bound)
    sign, units = bound
    return _try_if_computed(_OPERATORS[sign](column, grid.literal(units)), column, engine)


def membership(column: Expression, values: Sequence[Value], engine: str) -> Expression | None:
    """`column in (values)`, or None when one of the values is not of the column's kind."""
    column = representable(column, engine)
    if column.type().is_string() and all(isinstance(value, str) for value in values):
        return _text_membership(column, [str(value) for value in values], engine)
    grid = _grid(column.type(), engine)
    if grid is None:
        literals = [_literal(column.type(), value) for value in values]
        if any(literal is None for literal in literals):
            return None
        return _of_numbers(column.isin(literals), column, engine)
    places = [grid.units(value) for value in values]
    if any(place is None for place in places):
        return None
    bounds = [grid.grid_comparison("=", place) for place in places if place is not None]
    literals = [grid.literal(units) for units in sorted({bound[1] for bound in bounds if not isinstance(bound, bool)})]
    return _try_if_computed(column.isin(literals), column, engine) if literals else _constant_unless_null(column, False)


def likeness(column: Expression, pattern: str, engine: str) -> Expression:
    """`column like pattern`, by characters: a collation could ignore case, and PostgreSQL knows some that it refuses,
    at the first row, to search with."""
    if dialect(engine).plain_text:
        return column.like(pattern)
    functions = codec_or_refuse(engine)
    return try_else_null(functions.decode(functions.encode(column)).like(pattern), engine)


def number_in_text(column: Expression, engine: str) -> Expression:
    """The number that a text holds, and null where it holds none; "nan" is none either."""
    import ibis

    number = try_else_null(column.try_cast("float64"), engine)
    return ibis.ifelse(number.isnan(), ibis.null("float64"), number)


def _text_comparison(column: Expression, sign: str, value: str, engine: str) -> Expression:
    """By bytes, which have one order and one equality, where collations have many. Equal bytes are equal in every
    collation, so the bare comparison beside it changes nothing, and lets the engine use its indexes."""
    import ibis

    literal = ibis.literal(value, type="string")
    bare = _OPERATORS[sign](column, literal)
    if dialect(engine).plain_text or (sign in ("=", "<>") and not has_codec(engine)):
        return bare  # on an engine that is not tested its collation decides, row by row, which texts are equal
    encode = codec_or_refuse(engine).encode
    by_bytes = try_else_null(_OPERATORS[sign](encode(column), encode(literal)), engine)
    return bare & by_bytes if sign == "=" else by_bytes


def _text_membership(column: Expression, values: Sequence[str], engine: str) -> Expression:
    import ibis

    literals = [ibis.literal(value, type="string") for value in values]
    bare = column.isin(literals)
    if dialect(engine).plain_text or not has_codec(engine):
        return bare
    encode = codec_or_refuse(engine).encode
    return bare & try_else_null(encode(column).isin(list(map(encode, literals))), engine)


def _try_if_computed(condition: Expression, column: Expression, engine: str) -> Expression:
    """The condition as it is for a column that is compared as it stands, and inside `try` for one that is computed."""
    from ibis.expr.operations import Field, TryCast

    return condition if isinstance(column.op(), Field | TryCast) else try_else_null(condition, engine)


def _of_numbers(condition: Expression, column: Expression, engine: str) -> Expression:
    """`_try_if_computed`, and null where a floating-point column holds no number."""
    import ibis

    if column.type().is_floating():
        condition = ibis.ifelse(dialect(engine).is_number(column), condition, ibis.null("boolean"))
    return _try_if_computed(condition, column, engine)


def _constant_unless_null(column: Expression, outcome: bool) -> Expression:
    """The same for every row, but null where the column is."""
    import ibis

    return ibis.ifelse(column.isnull(), ibis.null("boolean"), ibis.literal(outcome))


def _grid(kind: DataType, engine: str) -> Grid | None:
    if kind.is_integer():
        return Grid(_exact_number, kind.bounds.lower, kind.bounds.upper, _whole_literal(kind))
    # PostgreSQL compares decimals of any length, and its decimals with bounds may still hold values that are no
    # numbers.
    if kind.is_decimal() and kind.precision is not None and not dialect(engine).unbounded_decimals:
        last, scale = 10**kind.precision - 1, kind.scale
        return Grid(lambda value: _scaled_number(value, scale), -last, last, _decimal(kind))
    if kind.is_timestamp() and kind.scale == _NANOSECONDS and not kind.timezone and dialect(engine).nanoseconds:
        return Grid(_to_nanoseconds, -(2**63) + 2, 2**63 - 2, _moment_in_nanoseconds)
    return None


def _literal(kind: DataType, value: Value) -> Expression | None:
    """The value as a literal of a kind that is no grid, or None when it is not of that kind."""
    import ibis

    if isinstance(value, bool):
        return ibis.literal(value) if kind.is_boolean() else None
    if isinstance(value, Decimal):
        # Written as text: engines read a number with a point as a decimal, and not always as the nearest double.
        if kind.is_floating():
            return ibis.literal(repr(float(value))).cast("float64")
        return ibis.literal(format(value, "f")).cast("decimal") if kind.is_decimal() else None
    if kind.is_date():
        day = _parse_iso(date.fromisoformat, value)
        return None if day is None else ibis.literal(day)
    if kind.is_timestamp():
        moment = _parse_iso(lambda text: _parse_moment(text, aware=kind.timezone is not None), value)
        return None if moment is None else ibis.literal(moment)
    return None


def _exact_number(value: Value) -> Fraction | None:
    return Fraction(value) if isinstance(value, Decimal) else None


def _scaled_number(value: Value, scale: int) -> Fraction | None:
    number = _exact_number(value)
    return None if number is None else number * 10**scale


def _to_nanoseconds(value: Value) -> Fraction | None:
    moment = _parse_iso(lambda text: _parse_moment(text, aware=False), value) if isinstance(value, str) else None
    return None if moment is None else Fraction((moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) * 1000)


def _whole_literal(kind: DataType) -> Callable[[int], Expression]:
    import ibis

    return lambda units: ibis.literal(units, type=kind.copy(nullable=True))


def _decimal(kind: DataType) -> Callable[[int], Expression]:
    """Written as text, digit by digit: no engine reads a number of 38 digits with an exponent exactly."""
    import ibis

    def literal(units: int) -> Expression:
        digits = tuple(map(int, str(abs(units))))
        return ibis.literal(format(Decimal((int(units < 0), digits, -kind.scale)), "f")).cast(kind)

    return literal


def _moment_in_nanoseconds(units: int) -> Expression:
    import ibis
    from ibis.expr import datatypes as types

    moment = datetime(1970, 1, 1) + timedelta(microseconds=units // 1000)
    return ibis.literal(moment).cast(types.Timestamp(scale=_NANOSECONDS))


def _parse_moment(text: str, *, aware: bool) -> datetime:
    moment = datetime.fromisoformat(text)
    if aware:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    if moment.tzinfo:
        raise ValueError("the column has no time zone")
    return moment


def _parse_iso(read: Callable[[str], Day], text: str) -> Day | None:
    """What `read` makes of a text, or None. Close to the ends of the calendar a time zone leads outside it."""
    try:
        return read(text)
    except (ValueError, OverflowError):
        return None
