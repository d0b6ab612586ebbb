"""SQLite: its tables, its statements, and its record; `sqlite_values` says how values are read.

Types come from the table's definition, never from a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crestline.errors import QuestionError
from crestline.sources.engine.connection import Driver, Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Rows, TempTables
from crestline.sources.engine.dialects.duckdb import interrupt_handle
from crestline.sources.engine.dialects.functions import Expression, engine_function, hex_digits
from crestline.sources.engine.dialects.sqlite_values import (
    FUNCTIONS,
    NUMBER,
    REMAINDER,
    TEXT,
    cast_to,
    decode_bytes,
    encode_text,
    hash_text,
    join_texts,
    readable_table,
    retype,
    storable_value,
    text_of,
    total_cast,
    value_converter,
)

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

    from crestline.sources.engine.bind_parameters import Values
    from crestline.sources.engine.statements import Statement

_BATCH = 1 << 15  # rows of a batch


def _prepare_connection(engine: Engine) -> None:
    """Put our functions on the connection, keep temporary tables in memory, and refuse text that is no UTF-8."""
    (encoding,) = engine.con.execute("PRAGMA encoding").fetchone()
    if encoding != "UTF-8":
        raise QuestionError(f"the database is encoded in {encoding}; only UTF-8 can be asked: copy it with VACUUM INTO")
    for name, (arguments, function) in FUNCTIONS.items():
        engine.con.create_function(name, arguments, function, deterministic=True)


def find_table(engine: Engine, name: str, database: str | None = None) -> Expression:
    """A table with the types of its definition. Ibis would take the type of the first row where none is declared."""
    import ibis
    from ibis.expr.operations import DatabaseTable, Namespace

    columns = _declared_columns(engine.con, name, database)
    if not columns:
        raise LookupError(name)
    schema = ibis.schema({column: _column_type(engine, written) for column, written in columns})
    return DatabaseTable(name, schema=schema, source=engine, namespace=Namespace(database=database or "main")).to_expr()


def _declared_columns(connection: Driver, name: str, database: str | None) -> list[tuple[str, str]]:
    query = "SELECT name, type FROM pragma_table_info(?, ?)"
    rows: list[tuple[str, str]] = connection.execute(query, (name, database or "main")).fetchall()
    return rows


def _column_type(engine: Engine, written: str) -> str:
    """The type of a column from what was declared: as Ibis reads it, else by SQLite's own rules, else text."""
    try:
        kind = engine.compiler.type_mapper.from_string(written) if written else None
    except Exception:  # what Ibis and its parser raise of a text that is no type of theirs
        kind = None
    kind = None if kind is None or kind.is_unknown() else kind
    for test, ours in (("is_integer", "int64"), ("is_floating", "float64"), ("is_decimal", "float64")):
        if kind is not None and getattr(kind, test)():
            return ours
    if kind is not None and kind.is_timestamp():
        return "timestamp('UTC', 6)" if kind.timezone else "timestamp(6)"
    if kind is not None and (kind.is_boolean() or kind.is_date() or kind.is_binary()):
        return str(kind.copy(nullable=True))
    rules = (("INT", "int64"), ("REAL", "float64"), ("FLOA", "float64"), ("DOUB", "float64"), ("BLOB", "binary"))
    return next((ours for part, ours in rules if part in written.upper() and kind is None), TEXT)


def _check_given_table(table: Expression) -> None:
    """Refuse a table of Ibis with a column that has no declared type: Ibis took that of its first row."""
    from ibis.expr.operations import DatabaseTable

    for leaf in table.op().find(DatabaseTable):
        columns = _declared_columns(leaf.source.con, leaf.name, leaf.namespace.database)
        if any(not written for _, written in columns):
            raise QuestionError(
                f"table {leaf.name!r} has a column without a declared type, and Ibis took the type of its first row: "
                "open the table by its address (sqlite:///…), where such a column is text"
            )


def _inline_table(table: pyarrow.Table) -> Expression:
    """Through a temporary table, which also a read-only connection may have, with values as SQLite stores them."""
    import ibis
    import pyarrow

    kinds = ibis.memtable(table).schema()
    stored = {name: [storable_value(value) for value in table[name].to_pylist()] for name in kinds}
    arrow = {
        name: pyarrow.string() if _is_text(kind) else table.schema.field(name).type for name, kind in kinds.items()
    }
    held = ibis.memtable(pyarrow.table({name: pyarrow.array(stored[name], arrow[name]) for name in kinds}))
    return held.select(
        **{name: retype(held[name], str(kind)) if _is_text(kind) else held[name] for name, kind in kinds.items()}
    )


def _is_text(kind: DataType) -> bool:
    return bool(kind.is_date() or kind.is_timestamp())


def _compile_statement(engine: Engine, expression: Expression) -> str:
    """The statement, with a name for every part: SQLite's parser gives up at parts within parts within parts."""
    from sqlglot.optimizer.eliminate_subqueries import eliminate_subqueries

    query = eliminate_subqueries(engine.compiler.to_sqlglot(expression))
    return str(query.sql(dialect=engine.compiler.dialect))


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    rows = engine.con.execute(_compile_statement(engine, expression)).fetchall()
    ways = [value_converter(kind) for kind in expression.schema().types]
    return [tuple(v if v is None or way is None else way(v) for v, way in zip(row, ways, strict=True)) for row in rows]


def _record_batches(
    engine: Engine, expression: Expression, statement: Statement | None, values: Values
) -> pyarrow.RecordBatchReader:
    """Built of Python values, some rows at a time. Nothing else asks the connection meanwhile."""
    import pyarrow

    engine._run_pre_execute_hooks(expression)
    cursor, schema = engine.con.execute(_compile_statement(engine, expression)), expression.schema()
    arrow, ways = schema.to_pyarrow(), [value_converter(kind) for kind in schema.types]

    def batches() -> Iterator[pyarrow.RecordBatch]:
        while rows := cursor.fetchmany(_BATCH):
            columns = [
                values if way is None else list(map(way, values))
                for values, way in zip(zip(*rows, strict=True), ways, strict=True)
            ]
            arrays = [pyarrow.array(column, kind) for column, kind in zip(columns, arrow.types, strict=True)]
            yield pyarrow.RecordBatch.from_arrays(arrays, schema=arrow)

    return pyarrow.RecordBatchReader.from_batches(arrow, batches())


def _store_rows(engine: Engine, expression: Expression) -> Expression:
    """A temporary table, which also a read-only connection may have."""
    import ibis
    from ibis.expr.operations import DatabaseTable, Namespace

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    engine.con.execute(f"CREATE TEMPORARY TABLE {name} AS {_compile_statement(engine, expression)}")
    namespace = Namespace(database="temp")
    return DatabaseTable(name, schema=expression.schema(), source=engine, namespace=namespace).to_expr()


def _drop_table(engine: Engine, table: Expression) -> None:
    engine.con.execute(f"DROP TABLE temp.{table.op().name}")


SQLITE = Dialect(
    "sqlite",
    Codec(encode_text, decode_bytes, hex_digits),
    md5=hash_text,
    number_of=lambda digits: engine_function(NUMBER, TEXT, "int64")(digits),
    join_texts=join_texts,
    text_of=text_of,
    readable_table=readable_table,
    total_cast=total_cast,
    extract_part=lambda number: cast_to(number, "int64"),  # weeks and quarters are quotients
    is_number=lambda value: value.notnull(),  # nan is null there
    in_utc=lambda value: retype(value, "timestamp(6)"),
    remainder=lambda value, size: engine_function(REMAINDER, "int64", "int64", option=size)(value),
    check_connection=_prepare_connection,
    find_table=find_table,
    check_given_table=_check_given_table,
    inline_table=_inline_table,
    fetch_rows=_fetch_rows,
    record_batches=_record_batches,
    ping=None,
    interrupt_handle=interrupt_handle,
    temp_tables=TempTables(_store_rows, _drop_table),
)
