"""DuckDB: as a database, where columns may have a collation, and as an engine of our own for files and frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import (
    ArrayTransfer,
    Codec,
    Dialect,
    Interrupt,
    PreparedStatements,
    Rows,
    TempTables,
    ibis_rows,
    table_rows,
)
from crestline.sources.engine.dialects.functions import Expression, engine_function, hex_digits, identity, try_cast

if TYPE_CHECKING:
    import pyarrow

    from crestline.sources.engine.bind_parameters import Values
    from crestline.sources.engine.statements import Statement

EMBEDDED = "embedded"
_MICROSECONDS, _NANOSECONDS = 6, 9
_BATCH = 1 << 17  # rows of a batch


def try_else_null(value: Expression) -> Expression:
    """Inside `try`: the second line of defence, for what the engine does against its own documentation."""
    kind = str(value.type().copy(nullable=True))
    return engine_function("try", kind, kind)(value)


def _encode_text(text: Expression) -> Expression:
    return engine_function("encode", "string", "binary")(text)


def _decode_bytes(raw: Expression) -> Expression:
    """Bytes as text; those of no text, which a frame may hold, in hexadecimal: one row must not make an error."""
    return try_else_null(engine_function("decode", "binary", "string")(raw)).coalesce(
        engine_function("hex", "binary", "string")(raw)
    )


def _join_texts(texts: Sequence[Expression]) -> Expression:
    """DuckDB copies the whole for every `||`, as which it would be written if the function had no schema."""
    return engine_function("concat", *["string"] * (len(texts) + 1), schema="main")(*texts)


def _number_of(digits: Expression) -> Expression:
    return try_cast(_join_texts(["0x", digits]), "int64")


def _representable(value: Expression) -> Expression:
    """Timestamps in seconds and milliseconds reach further than those in microseconds, and Ibis calls whole numbers of
    128 bits decimals of 38 digits, though they may have 39. What does not fit is null."""
    from ibis.expr import datatypes as types

    kind = value.type()
    if kind.is_decimal() and (kind.precision, kind.scale) == (38, 0):
        return try_cast(value, kind)
    if kind.is_timestamp() and kind.scale not in (None, _MICROSECONDS, None if kind.timezone else _NANOSECONDS):
        return try_cast(value, types.Timestamp(timezone=kind.timezone, scale=_MICROSECONDS))
    return value


def _is_number(value: Expression) -> Expression:
    """It answers isnan() from a Parquet file's statistics, which leave nan out: look at its text."""
    return value.cast("string").notin(["nan", "-nan"])


def _in_utc(value: Expression) -> Expression:
    microseconds = engine_function("epoch_us", "timestamp('UTC', 6)", "int64")(value)
    return try_else_null(engine_function("make_timestamp", "int64", "timestamp(6)")(microseconds))


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    """As Python values: neither Arrow (30 MB) nor pandas (40 MB, which Ibis would import on the way) is needed, but for
    moments with a time zone and for lists of items."""
    from ibis.expr.operations import InMemoryTable

    plain = not any(kind.is_timestamp() and kind.timezone for kind in expression.schema().types)
    if plain and not expression.op().find(InMemoryTable):
        rows: Rows = engine.con.sql(engine.compile(expression)).fetchall()
        return rows
    return ibis_rows(engine, expression)


def _run_prepared(engine: Engine, expression: Expression, statement: Statement, values: Values) -> Rows:
    """The same for a statement that was written before."""
    if statement.plain:
        rows: Rows = engine.con.execute(statement.text, statement.parameter_values(values)).fetchall()
        return rows
    from ibis.backends.duckdb.converter import DuckDBPyArrowData

    found = engine.con.sql(statement.text, params=statement.parameter_values(values) or None).to_arrow_table()
    return table_rows(expression.__pyarrow_result__(found, data_mapper=DuckDBPyArrowData))


def _record_batches(
    engine: Engine, expression: Expression, statement: Statement | None, values: Values
) -> pyarrow.RecordBatchReader:
    assert statement is not None, "statements are prepared"
    return engine.con.sql(statement.text, params=statement.parameter_values(values) or None).to_arrow_reader(_BATCH)


def _temp_table(engine: Engine, name: str, expression: Expression) -> Expression:
    from ibis.expr.operations import DatabaseTable, Namespace

    namespace = Namespace(catalog="temp", database="main")
    return DatabaseTable(name, schema=expression.schema(), source=engine, namespace=namespace).to_expr()


def _store_rows_as(engine: Engine, name: str, statement: Statement, values: Values) -> int:
    sql = f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {statement.text}"
    ((rows,),) = engine.con.execute(sql, statement.parameter_values(values)).fetchall()
    return int(rows)


def _drop_tables(engine: Engine, names: Sequence[str]) -> None:
    for name in names:
        engine.con.execute(f"DROP TABLE IF EXISTS {name}")


def _store_rows(engine: Engine, expression: Expression) -> Expression:
    """A temporary table, which also a read-only connection may have."""
    import ibis

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    engine.con.execute(f"CREATE TEMPORARY TABLE {name} AS {engine.compile(expression)}")
    return _temp_table(engine, name, expression)


def _drop_table(engine: Engine, table: Expression) -> None:
    engine.con.execute(f"DROP TABLE {table.op().name}")  # no other table has the name


@contextmanager
def interrupt_handle(engine: Engine) -> Iterator[Interrupt | None]:
    yield engine.con.interrupt


DUCKDB = Dialect(
    "duckdb",
    Codec(_encode_text, _decode_bytes, hex_digits),
    number_of=_number_of,
    join_texts=_join_texts,
    reads_text=True,
    try_else_null=try_else_null,
    total_cast=try_cast,
    representable=_representable,
    is_number=_is_number,
    in_utc=_in_utc,
    nanoseconds=True,
    fetch_rows=_fetch_rows,
    prepared_statements=PreparedStatements(_run_prepared, numbered_parameters=True),
    array_transfer=ArrayTransfer(_temp_table, _store_rows_as, _drop_tables),
    record_batches=_record_batches,
    ping=None,
    interrupt_handle=interrupt_handle,
    temp_tables=TempTables(_store_rows, _drop_table),
)
OWN = replace(DUCKDB, name=EMBEDDED, codec=Codec(identity, identity, hex_digits, sent=_encode_text), plain_text=True)
