"""Columns as keys: what is compared and grouped in the engine, and how it comes back as a plain Python value.

A key has one order and one equality in every engine, and its label does not depend on which of several equal values an
engine happens to keep. Values that stand for nothing (null, nan, a date outside Python's calendar) are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from crestline.errors import QuestionError
from crestline.histogram.label_order import Label
from crestline.sources.engine.engine_functions import (
    Expression,
    Function,
    codec_or_refuse,
    dialect,
    total_cast,
    try_else_null,
)

_MICROSECONDS = 6


@dataclass(frozen=True)
class Key:
    """One column made comparable.

    value    the expression to group and rank by
    usable   conditions a row must meet to be counted
    label    from what came back to a plain Python value
    text     from the grouped column to a text that only equal values share
    fetched  from the grouped column to what is sent back
    spelled  from many values that came back to the same texts as `text`, where this process writes them as engines do
    """

    value: Expression
    usable: tuple[Expression, ...]
    label: Callable[[Any], Label]
    text: Function
    to_plain_values: Function = lambda grouped: grouped
    to_texts: Callable[[Sequence[Any]], list[str]] | None = None


def column(table: Expression, name: str) -> Expression:
    """A column by its exact name; column names are public, so a wrong one is answered with the right ones."""
    if name not in table.columns:
        listed = ", ".join(sorted(table.columns)) or "none"
        raise QuestionError(f"there is no column {name!r}; the columns are: {listed}")
    return table[name]


def representable(value: Expression, engine: str) -> Expression:
    """The column in a type that can be compared with every value of ours; what does not fit is null."""
    return dialect(engine).representable(value)


def column_key(value: Expression, name: str, engine: str) -> Key:
    """A column as a key. Refuses types that have no plain Python value; `name` is for the refusal."""
    value = representable(value, engine)
    kind = value.type()
    if kind.is_string() or kind.is_uuid():
        return _text_key(value, engine)
    if kind.is_boolean() or kind.is_integer():
        label, spelled = (bool, None) if kind.is_boolean() else (int, _digits)
        return Key(value, (value.notnull(),), label, text=dialect(engine).text_of, to_texts=spelled)
    if kind.is_floating():
        return _float_key(value, engine)
    if kind.is_decimal():
        return _decimal(value, engine)
    if kind.is_date():
        return Key(value, (value.notnull(), value.between(date.min, date.max)), _to_date, text=dialect(engine).text_of)
    if kind.is_timestamp():
        return _timestamp_key(value, engine)
    if kind.is_binary():
        text, value = codec_or_refuse(engine).hex, dialect(engine).key(value)
        return Key(value, (value.notnull(),), bytes, text=text)
    raise QuestionError(
        f"column {name!r} is of type {kind}; users and items are text, numbers, booleans, dates, timestamps or bytes"
    )


def _text_key(value: Expression, engine: str) -> Key:
    value = try_else_null(value.cast("string"), engine) if value.type().is_uuid() else value
    functions = codec_or_refuse(engine)
    encoded = functions.encode(value)
    key = dialect(engine).key(encoded)
    usable = value if key is encoded else key  # what is bare may be looked up in an index
    return Key(
        key,
        (usable.notnull(),),
        _decode_or_escape,
        to_plain_values=functions.sent,
        text=functions.decode,
        to_texts=_decode_texts,
    )


def _decode_or_escape(raw: bytes | str) -> str:
    return raw if isinstance(raw, str) else bytes(raw).decode("utf-8", "backslashreplace")


def _digits(numbers: Sequence[int]) -> list[str]:
    return list(map(str, numbers))


def _decode_texts(texts: Sequence[bytes]) -> list[str]:
    """Bytes of no text, which a frame may hold, are written in hexadecimal, as engines do that decode bytes."""
    try:
        return [text.decode() for text in texts]
    except UnicodeDecodeError:
        return [_decode_or_escape(text) if _is_text(text) else text.hex().upper() for text in texts]


def _is_text(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _float_key(value: Expression, engine: str) -> Key:
    import ibis

    value = value.cast("float64")
    one_zero = ibis.ifelse(value == 0.0, ibis.literal(0.0), value)  # 0.0 and -0.0 are equal: always label them 0.0
    return Key(one_zero, (value.notnull(), dialect(engine).is_number(value)), float, text=dialect(engine).text_of)


def _decimal(value: Expression, engine: str) -> Key:
    usable: tuple[Expression, ...] = (value.notnull(),)
    if dialect(engine).unbounded_decimals:  # PostgreSQL's numeric has three values that are no numbers
        usable += (~value.cast("string").isin(["NaN", "Infinity", "-Infinity"]),)
        return Key(
            value,
            usable,
            _shortest_decimal,
            to_plain_values=_to_text,
            text=lambda grouped: _to_text(dialect(engine).strip_trailing_zeros(grouped)),
        )
    return Key(value, usable, _shortest_decimal, to_plain_values=_to_text, text=dialect(engine).text_of)


def _to_text(value: Expression) -> Expression:
    return value.cast("string")


def _shortest_decimal(text: str) -> Decimal:
    """1.50 and 1.5 are equal: always label them 1.5. No arithmetic, which would round long numbers."""
    digits = format(Decimal(text), "f")
    return Decimal(digits.rstrip("0").rstrip(".") if "." in digits else digits)


def _to_date(day: date | datetime) -> date:
    return day.date() if isinstance(day, datetime) else day


def _timestamp_key(value: Expression, engine: str) -> Key:
    from ibis.expr import datatypes as types

    zone = "UTC" if value.type().timezone else None
    value = total_cast(value, types.Timestamp(timezone=zone, scale=_MICROSECONDS), engine)  # Python's finest step
    first, last = datetime(1, 1, 2), datetime(9999, 12, 30)  # a day from the edge: zones cannot push it over
    if zone:
        first, last = first.replace(tzinfo=UTC), last.replace(tzinfo=UTC)
    return Key(value, (value.notnull(), value.between(first, last)), _to_plain_moment, text=dialect(engine).text_of)


def _to_plain_moment(moment: datetime) -> datetime:
    plain = moment.to_pydatetime() if hasattr(moment, "to_pydatetime") else moment
    return plain.astimezone(UTC) if plain.tzinfo else plain
