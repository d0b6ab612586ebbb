"""Parquet footers without statistics, and without the types whose values DuckDB checks or converts (pure).

DuckDB fails on text that is not UTF-8, on moments in milliseconds that its microseconds cannot hold, on times of day
outside a day and on JSON that it cannot parse. A footer names these types beside the physical ones (bytes, whole
numbers). Without the names DuckDB reads the physical values, which cannot fail, and leaves every other type alone.

DuckDB believes all statistics, also those of writers that ordered bytes in another way: then the rows of one user could
hide the rows of others.

A footer is a Thrift struct in the compact protocol. Only the list of columns and the parts that describe row groups are
rewritten; all else is copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MAGIC = b"PAR1"
ENDING = 8
"""Bytes behind a footer: its length and the magic number."""

# Field numbers of the format's definition.
_SCHEMA, _ROW_GROUPS = 2, 4
_CHUNKS, _CHUNK_DESCRIPTION, _STATISTICS = 1, 3, 12
_PHYSICAL, _CHILDREN, _CONVERTED, _LOGICAL = 1, 5, 6, 10
_UNIT = 2
_INT32, _INT64, _BYTES, _FIXED_BYTES = 1, 2, 6, 7
_TEXT_CONVERTED, _TEXT_LOGICAL = {0, 4, 19}, {1, 4, 12}  # text, enumerations, JSON
_NUMBER_CONVERTED = {7, 8, 9}  # times of day, moments in milliseconds
_TIME, _TIMESTAMP, _MILLISECONDS = 7, 8, 1

# Types of the compact protocol.
_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
_LONG_LIST = 15


@dataclass(frozen=True)
class _Field:
    """One field of a struct: its number, its type, and where its value starts and ends."""

    number: int
    kind: int
    start: int
    end: int


def plain_footer(footer: bytes) -> bytes:
    """The footer with top-level text, JSON, times of day and moments in milliseconds as bytes and whole numbers, and
    without statistics.

    Raises:
        ValueError: the bytes are not a footer.
    """
    with _damage_named():
        fields = {field.number: field for field in _read_fields(footer, 0)[0]}
        schema, groups = fields[_SCHEMA], fields[_ROW_GROUPS]
        return b"".join(
            [
                footer[: schema.start],
                _remove_types(footer, schema.start, _is_checked),
                footer[schema.end : groups.start],
                _remove_statistics(footer, groups.start, (_CHUNKS, _CHUNK_DESCRIPTION)),
                footer[groups.end :],
            ]
        )


def untyped_footer(footer: bytes) -> bytes:
    """The footer with bytes and whole numbers in all columns, and its statistics: DuckDB fails on some that it lists
    with their types, such as moments beyond its calendar. What describes row groups is copied unread.

    Raises:
        ValueError: the bytes are not a footer.
    """
    with _damage_named():
        schema = next(field for field in _iterate_fields(footer, 0) if field.number == _SCHEMA)
        return footer[: schema.start] + _remove_types(footer, schema.start, None) + footer[schema.end :]


@contextmanager
def _damage_named() -> Iterator[None]:
    """Raise ValueError for what goes wrong with bytes that are not a footer."""
    try:
        yield
    except (IndexError, KeyError, StopIteration):
        raise ValueError("the footer of a Parquet file is damaged") from None


def _remove_types(footer: bytes, start: int, is_checked: Callable[[bytes, list[_Field]], bool] | None) -> bytes:
    """The list of columns that starts here, without the types of the top-level columns for which the test holds;
    without a test, of all columns."""
    size, place = _read_list_header(footer, start)[1:]
    parts = [footer[start:place]]
    columns = 0  # elements that still belong to the column before them
    for number in range(size):
        fields, end = _read_fields(footer, place)
        children = next((_read_number(footer, field.start) for field in fields if field.number == _CHILDREN), 0)
        inside = is_checked is not None and (columns or not is_checked(footer, fields))
        if number == 0 or children or inside:
            parts.append(footer[place:end])
        else:
            parts.append(_write_fields(footer, [f for f in fields if f.number not in (_CONVERTED, _LOGICAL)]))
        if number:
            columns = max(columns - 1, 0) + children
        place = end
    return b"".join(parts)


def _remove_statistics(footer: bytes, start: int, inside: tuple[int, ...]) -> bytes:
    """The list of structs that starts here, without statistics in the structs to which these field numbers lead."""
    size, place = _read_list_header(footer, start)[1:]
    parts = [footer[start:place]]
    for _ in range(size):
        fields, end = _read_fields(footer, place)
        parts.append(_write_fields(footer, fields, lambda field: _without_statistics(footer, field, inside)))
        place = end
    return b"".join(parts)


def _without_statistics(footer: bytes, field: _Field, inside: tuple[int, ...]) -> bytes:
    """The value of a field; of the next number, without statistics."""
    if field.number != inside[0]:
        return footer[field.start : field.end]
    if len(inside) > 1:
        return _remove_statistics(footer, field.start, inside[1:])
    return _write_fields(footer, [f for f in _read_fields(footer, field.start)[0] if f.number != _STATISTICS])


def _is_checked(footer: bytes, fields: list[_Field]) -> bool:
    starts = {field.number: field.start for field in fields}
    physical = _read_number(footer, starts[_PHYSICAL]) if _PHYSICAL in starts else None
    converted = _read_number(footer, starts[_CONVERTED]) if _CONVERTED in starts else None
    logical = _read_fields(footer, starts[_LOGICAL])[0][0] if _LOGICAL in starts else None
    name = None if logical is None else logical.number
    if physical in (_BYTES, _FIXED_BYTES):
        return converted in _TEXT_CONVERTED or name in _TEXT_LOGICAL
    if physical not in (_INT32, _INT64):
        return False
    if logical is None:
        return converted in _NUMBER_CONVERTED
    return name == _TIME or (name == _TIMESTAMP and _unit_of(footer, logical.start) == _MILLISECONDS)


def _unit_of(footer: bytes, timestamp: int) -> int:
    unit = next(field for field in _read_fields(footer, timestamp)[0] if field.number == _UNIT)
    return _read_fields(footer, unit.start)[0][0].number


def _write_fields(footer: bytes, fields: list[_Field], value: Callable[[_Field], bytes] | None = None) -> bytes:
    """A struct of these fields, with their own values or others."""
    written, last = bytearray(), 0
    for field in fields:
        written.append((field.number - last) << 4 | field.kind)  # the first number is 1 to 3, and gaps are below 16
        written += footer[field.start : field.end] if value is None else value(field)
        last = field.number
    return bytes([*written, 0])


def _read_fields(footer: bytes, place: int) -> tuple[list[_Field], int]:
    """The fields of the struct that starts here, and where it ends."""
    found = [*_iterate_fields(footer, place)]
    return found, (found[-1].end if found else place) + 1


def _iterate_fields(footer: bytes, place: int) -> Iterator[_Field]:
    """The fields of the struct that starts here; what stands behind the last one that is taken is not read."""
    number = 0
    while header := footer[place]:
        place += 1
        if header >> 4:
            number += header >> 4
        else:
            number, place = _read_number(footer, place), _end_of_number(footer, place)
        end = _end_of_value(footer, place, header & 15)
        yield _Field(number, header & 15, place, end)
        place = end


def _end_of_value(footer: bytes, place: int, kind: int) -> int:
    if kind in (_TRUE, _FALSE):
        return place
    if kind == _BYTE:
        return place + 1
    if kind < _DOUBLE:
        return _end_of_number(footer, place)
    if kind == _DOUBLE:
        return place + 8
    if kind == _BINARY:
        return _end_of_number(footer, place) + _read_unsigned(footer, place)
    if kind in (_LIST, _SET):
        kind, size, place = _read_list_header(footer, place)
        for _ in range(size):
            place = place + 1 if kind in (_TRUE, _FALSE) else _end_of_value(footer, place, kind)
        return place
    if kind == _STRUCT:
        return _read_fields(footer, place)[1]
    raise ValueError("a footer has no field of this type")


def _read_list_header(footer: bytes, place: int) -> tuple[int, int, int]:
    """The type of the elements, their number, and where the first one starts."""
    header = footer[place]
    if header >> 4 == _LONG_LIST:
        return header & 15, _read_unsigned(footer, place + 1), _end_of_number(footer, place + 1)
    return header & 15, header >> 4, place + 1


def _read_number(footer: bytes, place: int) -> int:
    number = _read_unsigned(footer, place)
    return (number >> 1) ^ -(number & 1)


def _read_unsigned(footer: bytes, place: int) -> int:
    return sum((byte & 127) << 7 * step for step, byte in enumerate(footer[place : _end_of_number(footer, place)]))


def _end_of_number(footer: bytes, place: int) -> int:
    while footer[place] & 128:
        place += 1
    return place + 1
