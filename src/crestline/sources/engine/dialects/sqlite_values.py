"""Values of SQLite, whose columns hold values of any type, whatever type was declared.

A value that is not of the type of its column counts as null, row by row (`readable_table`):

    whole numbers            stored as integers
    floats, decimals         stored as integers or reals, read as doubles: SQLite has no decimals
    booleans                 the integers 0 and 1
    text, and no type        text; numbers as SQLite writes them; no blobs
    bytes                    blobs
    dates                    text as in 2026-01-31
    timestamps               text in ISO 8601; one with an offset is turned into UTC

SQLite has no hash function, so that a few functions of ours are put on the connection (`FUNCTIONS`); they take bytes
and whole numbers, and give null where they are not defined.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from crestline.sources.engine.dialects.functions import Expression, cast, engine_function

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType

_MD5, NUMBER, _MOMENT, REMAINDER = "crestline_md5", "crestline_number", "crestline_moment", "crestline_remainder"
TEXT = "string"


def _md5(raw: object, digits: int) -> str | None:
    return hashlib.md5(raw, usedforsecurity=False).hexdigest()[:digits] if isinstance(raw, bytes) else None


def _hex_to_int(digits: object) -> int | None:
    try:
        return int(str(digits), 16)
    except ValueError:
        return None


def _stored_moment(raw: object) -> str | None:
    """A moment as SQLite would write it, with microseconds if there are any: such texts are ordered like moments."""
    try:
        moment = datetime.fromisoformat(bytes(raw).decode())  # type: ignore[call-overload] # whatever it is
        return (moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment).isoformat(" ")
    except (ValueError, OverflowError, TypeError):
        return None


def _remainder(number: object, size: int) -> int | None:
    """With the sign of the number; SQLite's own mod() is one of doubles."""
    if not isinstance(number, int):
        return None
    rest = abs(number) % size
    return rest if number >= 0 else -rest


# By name: how many arguments it takes, and what it does.
FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    _MD5: (2, _md5),
    NUMBER: (1, _hex_to_int),
    _MOMENT: (1, _stored_moment),
    REMAINDER: (2, _remainder),
}


def readable_table(table: Expression) -> Expression:
    """The table with nothing but values of the declared types; other values are null."""
    return table.select(**{name: _readable_column(table[name]) for name in table.columns})


def _readable_column(column: Expression) -> Expression:
    """A column in which there is nothing but values of its type; other values are null."""
    import ibis

    kind = column.type()
    stored = engine_function("typeof", _type_name(column), TEXT)(column)

    def value_where(condition: Expression, value: Expression) -> Expression:
        return ibis.cases((condition, value), else_=ibis.null(value.type()))

    if kind.is_integer():
        return value_where(stored == "integer", retype(column, "int64"))
    if kind.is_boolean():
        return value_where((stored == "integer") & retype(column, "int64").isin([0, 1]), column)
    if kind.is_floating() or kind.is_decimal():
        return value_where(stored.isin(["integer", "real"]), cast_to(column, "float64"))
    if kind.is_binary():
        return value_where(stored == "blob", column)
    if kind.is_date():
        # Only when a day is moved, if by nothing, does SQLite notice that there is no 30th of February.
        day = engine_function("date", TEXT, TEXT, option="+0 days")(retype(column, TEXT))
        return value_where(
            (stored == "text") & (encode_text(day) == encode_text(retype(column, TEXT))), retype(day, "date")
        )
    if kind.is_timestamp():
        ours = "timestamp('UTC', 6)" if kind.timezone else "timestamp(6)"
        return value_where(
            stored == "text", engine_function(_MOMENT, "binary", ours)(encode_text(retype(column, TEXT)))
        )
    return value_where(stored != "blob", cast_to(column, TEXT))


def _type_name(value: Expression) -> str:
    return str(value.type().copy(nullable=True))


def retype(value: Expression, kind: str) -> Expression:
    """The same value under another type of Ibis: likely() gives back what it gets."""
    return engine_function("likely", _type_name(value), kind)(value)


def cast_to(value: Expression, kind: str) -> Expression:
    """The value cast to a type of Ibis, by what is stored: without the conversions that Ibis would add."""
    from ibis.expr import datatypes as types

    return cast(retype(value, "binary"), types.dtype(kind))


def total_cast(value: Expression, kind: DataType) -> Expression:
    """Moments are texts already; a cast of Ibis would cut them to milliseconds. Other casts cannot fail here."""
    return retype(value, str(kind)) if kind.is_timestamp() and value.type().is_timestamp() else cast(value, kind)


def encode_text(text: Expression) -> Expression:
    """The bytes of a text."""
    return cast_to(text, "binary")


def decode_bytes(raw: Expression) -> Expression:
    """The text that bytes spell."""
    return cast_to(raw, TEXT)


def join_texts(texts: Sequence[Expression]) -> Expression:
    """Texts one after the other."""
    first, *others = texts
    for text in others:
        first = first + text
    return first


def hash_text(text: Expression, digits: int) -> Expression:
    """The first digits of the MD5 hash of a text."""
    return engine_function(_MD5, "binary", TEXT, option=digits)(encode_text(text))


def text_of(value: Expression) -> Expression:
    """Booleans as other engines write them, and doubles with all their digits."""
    import ibis

    if value.type().is_boolean():
        return ibis.cases((value, "true"), (~value, "false"), else_=ibis.null(TEXT))
    if value.type().is_floating():
        return engine_function("printf", TEXT, "float64", TEXT)("%!.17g", value)
    return cast_to(value, TEXT)


def storable_value(value: object) -> object:
    """Days and moments as `readable_table` writes them."""
    if isinstance(value, datetime):
        return (value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value).isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value


def value_converter(kind: DataType) -> Callable[[Any], Any] | None:
    """From what SQLite returns to a Python value, where that is another."""
    if kind.is_boolean():
        return bool
    if kind.is_date():
        return date.fromisoformat
    if kind.is_timestamp():
        return _utc_moment if kind.timezone else datetime.fromisoformat
    return None


def _utc_moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
