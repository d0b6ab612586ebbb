"""Parquet files as one table, also where the files of a glob have different types.

DuckDB takes the types of the first file for all, and fails on a row of another that does not fit. So files are grouped
by their schemas, and each column gets a type that holds every value of every group exactly.

DuckDB also fails on text that is not UTF-8, and on moments, times of day and JSON that its types cannot hold. With an
`opener` these columns are read as bytes and whole numbers and converted by expressions that cannot fail: text
gets the replacement character, and a value that its type cannot hold is null. Both ways are one reader, so that all
other values are the same by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

from crestline.sources.engine.connection import DuckDB
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.files.formats import declare_table, literal
from crestline.sources.files.parquet_footer import plain_footer, untyped_footer

if TYPE_CHECKING:
    from duckdb import DuckDBPyRelation
    from ibis.expr.datatypes import DataType
    from pyarrow import Table

_NEVER_A_VALUE = '"NULL"'
_OTHER_NAMES = {_NEVER_A_VALUE: "VARCHAR", "TIMESTAMPTZ_NS": "TIMESTAMP WITH TIME ZONE"}
"""Types that Ibis does not know, and those that hold the same values to the microsecond."""
_MOST_DIGITS = 38
_MOST_MILLISECONDS = ((1 << 63) - 1) // 1000
_REPAIR = "replace_invalid_utf8"

Opener = Callable[[str], BinaryIO]


def parquet_table(
    engine: DuckDB, files: Sequence[str], opener: Opener | None = None
) -> tuple[Expression, dict[str, str]]:
    """The files as one table, and the columns that have no common type, each with the message of its refusal.

    Args:
        engine: the DuckDB that reads them.
        files: their names or addresses.
        opener: opens one of them; with it every value is repaired, without it DuckDB fails on some values.
    """
    import ibis

    if opener is not None:
        engine.con.create_function(_REPAIR, _replace_invalid_utf8, ["BLOB"], "VARCHAR")
    groups = [_parquet_view(engine, group, opener) for group in _group_by_schema(engine, files)]
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


def find_repaired_columns(engine: DuckDB, files: Sequence[str]) -> frozenset[str]:
    """The columns that are not text and in which repair makes some values null, by the schemas alone."""
    query = """select distinct name from parquet_schema(?)
        where converted_type in ('TIMESTAMP_MILLIS', 'TIME_MILLIS', 'TIME_MICROS', 'JSON')
        or logical_type like '%=MilliSeconds()%' or logical_type like 'TimeType%' or logical_type like 'JsonType%'"""
    return frozenset(name for (name,) in engine.con.execute(query, [literal(files)]).fetchall())


def find_wrongly_ordered_columns(engine: DuckDB, files: Sequence[str], opener: Opener) -> frozenset[str]:
    """The columns whose statistics may be of another order than DuckDB's: those of old writers, and of 96 bits.

    Once, bytes and unsigned numbers were ordered as if they had signs. Statistics of today are in fields of their own.
    """
    untyped = _register_physical(engine, files, opener, untyped_footer)
    query = """select distinct path_in_schema from parquet_metadata(?) where type = 'INT96'
        and coalesce(stats_min, stats_max, stats_min_value, stats_max_value) is not null
        or stats_min_value is null and stats_min is not null or stats_max_value is null and stats_max is not null"""
    return frozenset(name for (name,) in engine.con.execute(query, [untyped]).fetchall())


def _parquet_view(engine: DuckDB, files: Sequence[str], opener: Opener | None) -> tuple[Expression, set[str]]:
    """Files of one schema as a table, and its columns that can hold nothing but null.

    This does what `engine.read_parquet` does, without the Arrow library, which takes 30 MB to find the types.
    """
    import ibis
    from duckdb import ColumnExpression, SQLExpression

    found = engine.con.read_parquet(literal(files), hive_partitioning=False)
    kinds = dict(zip(found.columns, map(str, found.types), strict=True))
    changed = {
        name: ColumnExpression(name).cast(_OTHER_NAMES[kind]) for name, kind in kinds.items() if kind in _OTHER_NAMES
    }
    if opener is not None:
        found = _read_physical(engine, files, opener)
        stored = dict(zip(found.columns, map(str, found.types), strict=True))
        for name, kind in kinds.items():
            if stored[name] != kind:
                changed[name] = SQLExpression(_repair_column(_quote(name), stored[name], kind))
    if changed:
        found = found.select(*(changed.get(name, ColumnExpression(name)).alias(name) for name in kinds))
    view = ibis.util.gen_name("parquet")
    found.create_view(view)
    known = {
        name: engine.compiler.type_mapper.from_string(_OTHER_NAMES.get(kind, kind)) for name, kind in kinds.items()
    }
    return declare_table(engine, view, known), {name for name, kind in kinds.items() if kind == _NEVER_A_VALUE}


def _read_physical(engine: DuckDB, files: Sequence[str], opener: Opener) -> DuckDBPyRelation:
    """The files as a relation of DuckDB, in which columns that could fail are bytes and whole numbers."""
    return engine.con.read_parquet(_register_physical(engine, files, opener), hive_partitioning=False)


def _register_physical(
    engine: DuckDB, files: Sequence[str], opener: Opener, change: Callable[[bytes], bytes] = plain_footer
) -> list[str]:
    """Names by which the engine reads the files with a changed footer."""
    from crestline.sources.files.engine_files import ByteSource, open_physical_parquet, register_files

    def open_file(file: str) -> ByteSource:
        return open_physical_parquet(opener(file), change)

    return register_files(engine, {file: partial(open_file, file) for file in files})


def _repair_column(column: str, stored: str, kind: str) -> str:
    """A stored value in the type `kind`, by an expression that cannot fail. SQL, because Ibis has no words for it."""
    if stored == "BLOB":
        # Where leaving out what is not UTF-8 changes no length, all of it is. Nothing is derived from statistics.
        plain = f"decode({column}, 'ignore')"
        text = f"case when strlen({plain}) = octet_length({column}) then {plain} else {_REPAIR}({column}) end"
        return text if kind == "VARCHAR" else f"try_cast({text} as {kind})"
    if kind.startswith("TIMESTAMP"):
        made = "make_timestamptz" if kind.endswith("ZONE") else "make_timestamp"
        inside = f"{column} between -{_MOST_MILLISECONDS} and {_MOST_MILLISECONDS}"
        return f"{made}(case when {inside} then {column} * 1000 end)"
    ticks = 10**3 if stored == "INTEGER" else 10**9 if kind.endswith("_NS") else 10**6
    inside = f"{column} >= 0 and {column} < {86_400 * ticks}"
    micros = f"{column}::bigint * 1000" if ticks == 10**3 else f"{column} // {ticks // 10**6}"
    return f"try_cast(make_timestamp(case when {inside} then {micros} end)::time as {kind})"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _replace_invalid_utf8(value: bytes) -> str:
    return value.decode(errors="replace")


def replace_unreadable(table: Table) -> Table:
    """The table with every value readable by DuckDB, by `replace_unreadable_values`."""
    import pyarrow

    from crestline.sources.arrow.values import replace_unreadable_values

    return pyarrow.table([replace_unreadable_values(column) for column in table.columns], names=table.column_names)
