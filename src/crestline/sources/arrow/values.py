"""Arrow columns whose every value an engine can read: text that is UTF-8, moments that fit microseconds.

Bytes that are not UTF-8 become the replacement character, and a moment or a time of day out of range is null. Types
change by the type of the column alone, never by its values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyarrow import ChunkedArray

_RANGE = (1 << 63) - 1
_DAY = 86_400
_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def replace_unreadable_values(column: ChunkedArray) -> ChunkedArray:
    """Return the column with every value readable by DuckDB."""
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return replace_unreadable_values(column.cast(kind.value_type))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return _to_utf8_text(column)
    if types.is_timestamp(kind) and kind.unit in ("s", "ms"):
        return _to_microseconds(column)
    if types.is_time(kind):
        return _null_outside_range(column, 0, _DAY * _TICKS[kind.unit] - 1)
    if types.is_null(kind):
        return column.cast("string")
    return column


def _to_microseconds(column: ChunkedArray) -> ChunkedArray:
    import pyarrow
    from pyarrow import compute

    factor = _TICKS["us"] // _TICKS[column.type.unit]
    within = _null_outside_range(column, -(_RANGE // factor), _RANGE // factor).cast("int64")
    return compute.multiply(within, factor).cast(pyarrow.timestamp("us", column.type.tz))


def _null_outside_range(column: ChunkedArray, low: int, high: int) -> ChunkedArray:
    """Values from `low` to `high` ticks; others are null."""
    import pyarrow
    from pyarrow import compute

    whole = column.cast("int32" if column.type.bit_width == 32 else "int64")
    inside = compute.and_(compute.greater_equal(whole, low), compute.less_equal(whole, high))
    return compute.if_else(inside, whole, pyarrow.scalar(None, whole.type)).cast(column.type)


def is_utf8(column: ChunkedArray) -> bool:
    """Whether a column is not text, or all its text is UTF-8."""
    import pyarrow
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        return all(is_utf8(pyarrow.chunked_array([chunk.dictionary])) for chunk in column.chunks)
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        return True
    try:
        column.validate(full=True)
    except pyarrow.ArrowInvalid:
        return False
    return True


def _to_utf8_text(column: ChunkedArray) -> ChunkedArray:
    import pyarrow

    if is_utf8(column):
        return column.cast("large_string")
    raw = column.cast("large_binary").to_pylist()
    texts = [None if value is None else value.decode(errors="replace") for value in raw]
    return pyarrow.chunked_array([pyarrow.array(texts, "large_string")])
