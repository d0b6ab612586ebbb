"""Parquet files: one table, also where the files of a glob do not agree on types.

DuckDB takes the types of the first file for all, and fails on a row of another that does not fit. So files are grouped
by their schemas, and each column gets a type in which every value of every group has its exact place.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from crestline.sources.engine.connection import DuckDB
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.files.formats import declare_table, literal
from crestline.sources.files.lines import ReadableFiles, TempFolder

if TYPE_CHECKING:
    from ibis.expr.datatypes import DataType
    from pyarrow import Table

_NEVER_A_VALUE = '"NULL"'
_OTHER_NAMES = {_NEVER_A_VALUE: "VARCHAR", "TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE"}
"""Types that Ibis does not know, and those that hold the same values to the microsecond."""
_MOST_DIGITS = 38


def parquet_table(engine: DuckDB, files: Sequence[str]) -> tuple[Expression, dict[str, str]]:
    """The files as one table, and the columns that have no common type with what to say of them."""
    import ibis

    groups = [_parquet_view(engine, group) for group in _group_by_schema(engine, files)]
    if len(groups) == 1:
        return groups[0][0], {}
    names = list(dict.fromkeys(name for table, _ in groups for name in table.columns))
    kinds: dict[str, DataType] = {}
    unusable: dict[str, str] = {}
    for name in names:
        found = {table[name].type() for table, empty in groups if name in table.columns and name not in empty}
        kind = common_type(found or {ibis.dtype("string")})
        if kind is None:
            listed = ", ".join(sorted(map(str, found)))
            unusable[name] = f"the files have the column {name!r} in types that cannot be one: {listed}"
        else:
            kinds[name] = kind
    return ibis.union(*(_cast_columns(table, kinds) for table, _ in groups)), unusable


def _cast_columns(table: Expression, kinds: dict[str, DataType]) -> Expression:
    import ibis

    def cast(name: str, kind: DataType) -> Expression:
        if name not in table.columns:
            return ibis.null(kind)
        return table[name] if table[name].type() == kind else table[name].try_cast(kind)

    return table.select(**{name: cast(name, kind) for name, kind in kinds.items()})


def common_type(kinds: Iterable[DataType]) -> DataType | None:
    """A type in which every value of these types has its exact place (moments: to the microsecond), or None."""
    from ibis.expr import datatypes as types

    found = set(kinds)
    if len(found) == 1:
        return found.pop()
    if all(kind.is_timestamp() for kind in found):
        zones = {kind.timezone is None for kind in found}
        return types.Timestamp(timezone=None if True in zones else "UTC", scale=6) if len(zones) == 1 else None
    if all(kind.is_integer() for kind in found):
        bits = max(kind.nbytes * 8 * (1 if kind.is_signed_integer() else 2) for kind in found)
        if bits <= 64:
            return getattr(types, f"Int{bits}")()
    if all(kind.is_integer() or kind.is_decimal() for kind in found):
        return _common_decimal(found)
    if all(kind.is_floating() or (kind.is_integer() and kind.nbytes <= 4) for kind in found):
        return types.Float64()
    return None


def _common_decimal(kinds: set[DataType]) -> DataType | None:
    from ibis.expr import datatypes as types

    shapes = [(kind.precision - kind.scale, kind.scale) if kind.is_decimal() else (_digits(kind), 0) for kind in kinds]
    before, after = max(shape[0] for shape in shapes), max(shape[1] for shape in shapes)
    return types.Decimal(before + after, after) if before + after <= _MOST_DIGITS else None


def _digits(kind: DataType) -> int:
    return len(str(max(abs(kind.bounds.lower), kind.bounds.upper)))


def _group_by_schema(engine: DuckDB, files: Sequence[str]) -> list[list[str]]:
    if len(files) == 1:
        return [[*files]]
    query = "select * exclude (file_name), file_name from parquet_schema(?)"
    schemas: dict[str, list[Any]] = {}
    for *column, file in engine.con.execute(query, [literal(files)]).fetchall():
        schemas.setdefault(file, []).append(column)
    groups: dict[str, list[str]] = {}
    for file in files:
        groups.setdefault(repr(schemas.get(file)), []).append(file)
    return [*groups.values()]


def _parquet_view(engine: DuckDB, files: Sequence[str]) -> tuple[Expression, set[str]]:
    """Files of one schema as a table, and its columns that can hold nothing but null.

    This does what `engine.read_parquet` does, without the Arrow library, which would take 30 MB to tell the types.
    """
    import ibis
    from duckdb import ColumnExpression

    found = engine.con.read_parquet(literal(files))
    kinds = dict(zip(found.columns, map(str, found.types), strict=True))
    odd = {name: _OTHER_NAMES[kind] for name, kind in kinds.items() if kind in _OTHER_NAMES}
    if odd:
        columns = [
            ColumnExpression(name).cast(odd[name]).alias(name) if name in odd else ColumnExpression(name)
            for name in kinds
        ]
        found = found.select(*columns)
    view = ibis.util.gen_name("parquet")
    found.create_view(view)
    known = {name: engine.compiler.type_mapper.from_string(odd.get(name, kind)) for name, kind in kinds.items()}
    return declare_table(engine, view, known), {name for name, kind in kinds.items() if kind == _NEVER_A_VALUE}


def copy_readable_parquet(
    files: Sequence[str], columns: Sequence[str], opened: Callable[[str], object] = lambda file: file
) -> ReadableFiles:
    """Copies of these columns that DuckDB reads whatever the rows hold.

    It reads text that is no UTF-8, and moments that do not fit its microseconds, not at all.
    """
    folder = TempFolder()
    copies = [os.path.join(folder.path, str(number)) for number in range(len(files))]
    for file, copy in zip(files, copies, strict=True):
        _copy_columns(opened(file), copy, columns)
    return ReadableFiles(copies, "", folder)


def _copy_columns(file: object, copy: str, columns: Sequence[str]) -> None:
    import pyarrow
    from pyarrow import parquet

    with parquet.ParquetFile(file) as source:
        there = [name for name in source.schema_arrow.names if name in columns] or source.schema_arrow.names[:1]
        nothing = source.schema_arrow.empty_table().select(there)
        schema = replace_unreadable(nothing).schema
        with parquet.ParquetWriter(copy, schema) as target:
            for batch in source.iter_batches(columns=there):
                target.write_table(replace_unreadable(pyarrow.Table.from_batches([batch]).select(there)).cast(schema))


def replace_unreadable(table: Table) -> Table:
    """The table with every value in order."""
    import pyarrow

    from crestline.sources.arrow.values import replace_unreadable_values

    return pyarrow.table([replace_unreadable_values(column) for column in table.columns], names=table.column_names)
