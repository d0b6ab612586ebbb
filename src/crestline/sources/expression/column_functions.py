"""Coarser values: a column inside one function, as an item or in a filter (docs/reference/where.md).

    year(t)  quarter(t)  month(t)  week(t)  hour(t)    whole numbers, by the clock of UTC; weeks as in ISO 8601
    date(t)                                            the day
    lower(x)  trim(x)  prefix(x, 3)                    text: small letters, no space at the ends, the first characters
    bucket(x, 10)                                      the largest multiple of 10 that is not above x

Each is defined for every value that a column of its kind can hold, and null where the column is, so that no row can
make an engine fail: times outside the years 1 to 9999 and text that is no time count as null, and so do PostgreSQL's
decimals beyond 10^15 in `bucket`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

from crestline.errors import QuestionError
from crestline.sources.engine.engine_functions import (
    Expression,
    codec_or_refuse,
    dialect,
    floor_to_multiple,
    in_utc,
    remainder,
    total_cast,
    try_else_null,
)
from crestline.sources.expression.column_keys import column, representable

TIMES = ("year", "quarter", "month", "week", "hour", "date")
TEXTS = ("lower", "trim")
NUMBERED = ("prefix", "bucket")  # those that take a number as well
LARGEST = 10**9

_CALL = re.compile(
    r"\s*(?P<function>[a-z]+)\s*\(\s*"
    r'(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^"(),\s](?:[^"(),]*[^"(),\s])?))'
    r"\s*(?:,\s*(?P<number>\d{1,10})\s*)?\)\s*",
    re.IGNORECASE,
)
_EXACT = 10**15  # up to here a double holds every multiple of a whole number
_TINY = 1e-100  # below it PostgreSQL fails to divide


@dataclass(frozen=True)
class ColumnFunction:
    """A function of one column; `number` only where it takes one."""

    function: str
    column: str
    number: int | None = None

    def __post_init__(self) -> None:
        if (self.number is not None) != (self.function in NUMBERED):
            takes = "a column and a whole number" if self.function in NUMBERED else "one column"
            raise QuestionError(f"{self.function}() takes {takes}")
        if self.number is not None and not 1 <= self.number <= LARGEST:
            raise QuestionError(f"the number in {self.function}() must lie between 1 and {LARGEST}")

    @classmethod
    def parse(cls, text: str) -> ColumnFunction | None:
        """The function that a text names; None: it is a column by its own name."""
        match = _CALL.fullmatch(text)
        if match is None or match["function"].lower() not in (*TIMES, *TEXTS, *NUMBERED):
            return None
        name = match["plain"] or match["quoted"].replace('""', '"')
        return cls(match["function"].lower(), name, None if match["number"] is None else int(match["number"]))

    def __str__(self) -> str:
        quoted = self.column.replace('"', '""')
        return f'{self.function}("{quoted}"' + (")" if self.number is None else f", {self.number})")


def base_column(text: str) -> str:
    """The column that an item or a filter looks at."""
    coarse = ColumnFunction.parse(text)
    return text if coarse is None else coarse.column


def column_expression(table: Expression, text: str, engine: str) -> Expression:
    """A column, or a function of one, as an expression."""
    coarse = ColumnFunction.parse(text)
    if coarse is None:
        _refuse_unknown_function(table, text)
        return column(table, text)
    value = column(table, coarse.column)
    if coarse.function in TIMES:
        return _time_function(value, coarse, engine)
    if coarse.function == "bucket":
        assert coarse.number is not None, "checked when it was read"
        return _bucket_function(value, coarse.number, coarse, engine)
    return _text_function(value, coarse, engine)


def _refuse_unknown_function(table: Expression, text: str) -> None:
    """Refuse a function that does not exist, where no column has that name: most likely it is misspelled."""
    call = _CALL.fullmatch(text)
    if call is not None and text not in table.columns:
        known = ", ".join(sorted((*TIMES, *TEXTS, *NUMBERED)))
        name = call["function"]
        raise QuestionError(f"there is no function {name!r}, and no column {text!r}; functions are: {known}")


def _time_function(value: Expression, coarse: ColumnFunction, engine: str) -> Expression:
    import ibis
    from ibis.expr import datatypes as types

    kind, moments = value.type(), types.Timestamp(scale=6)
    if kind.is_string() and dialect(engine).reads_text:
        value = try_else_null(total_cast(value, moments, engine), engine)
    elif kind.is_timestamp():
        value = in_utc(representable(value, engine), engine) if kind.timezone else total_cast(value, moments, engine)
    elif not kind.is_date() or coarse.function == "hour":
        raise _wrong_type_error(coarse, kind, "times" if coarse.function == "hour" else "dates or times")
    ends = (date.min, date.max) if value.type().is_date() else (datetime(1, 1, 2), datetime(9999, 12, 30))
    inside = ibis.cases((value.between(*ends), value), else_=ibis.null(value.type().copy(nullable=True)))
    if coarse.function == "date":
        return inside if value.type().is_date() else try_else_null(inside.date(), engine)
    parts: dict[str, Callable[[], Expression]] = {"week": lambda: inside.week_of_year()}
    part = parts.get(coarse.function, lambda: getattr(inside, coarse.function)())()
    return try_else_null(dialect(engine).extract_part(part), engine)


def _text_function(value: Expression, coarse: ColumnFunction, engine: str) -> Expression:
    if not value.type().is_string():
        raise _wrong_type_error(coarse, value.type(), "text")
    functions = codec_or_refuse(engine)
    plain = (
        value if dialect(engine).plain_text else functions.decode(functions.encode(value))
    )  # in no collation of its own
    if coarse.function == "lower":
        return try_else_null(plain.lower(), engine)
    return try_else_null(plain.strip() if coarse.function == "trim" else plain.left(coarse.number), engine)


def _bucket_function(value: Expression, size: int, coarse: ColumnFunction, engine: str) -> Expression:
    """The lower end of the bucket. Whole numbers at the very end of their type stay in the last bucket that has one."""
    import ibis

    value = number_of_column(value, engine)
    kind = value.type()
    if kind.is_unsigned_integer():
        return try_else_null(value - remainder(value, size, engine), engine)
    if kind.is_integer():
        lowest = -(2**63 // size) * size
        whole = value.cast("int64")
        rest = remainder(whole, size, engine)  # with the sign of the number
        floor = ibis.cases((rest < 0, whole - rest - size), else_=whole - rest)
        return try_else_null(ibis.cases((whole < lowest + size, ibis.literal(lowest, "int64")), else_=floor), engine)
    if kind.is_decimal() and dialect(engine).unbounded_decimals:  # of any length: not every one fits a double
        within = value.between(*(ibis.literal(f"{sign}{_EXACT}").cast("decimal") for sign in ("-", "")))
        return floor_to_multiple(ibis.cases((within, value), else_=ibis.null("decimal")), size, engine)
    if not kind.is_floating() and not kind.is_decimal():
        raise _wrong_type_error(coarse, kind, "numbers")
    number, far = value.cast("float64"), float(_EXACT)
    inside = (number > -far) & (number < far)
    near = ibis.cases((inside, number), else_=ibis.literal(0.0))
    apart = ibis.cases((near.abs() < _TINY, ibis.literal(0.0)), else_=near)
    floor = floor_to_multiple(apart, size, engine)
    below = ibis.cases((near.between(-_TINY, 0.0) & (near < 0.0), ibis.literal(-float(size))), else_=floor)
    return try_else_null(
        ibis.cases((inside, below), else_=number), engine
    )  # what is far off, nan or null stays as it is


def number_of_column(value: Expression, engine: str) -> Expression:
    """The column, and where it is text in a file, the number that it holds."""
    from crestline.sources.expression.comparisons import number_in_text

    return number_in_text(value, engine) if value.type().is_string() and dialect(engine).reads_text else value


def _wrong_type_error(coarse: ColumnFunction, kind: object, what: str) -> QuestionError:
    return QuestionError(f"{coarse.function}() is for {what}; column {coarse.column!r} is of type {kind}")
