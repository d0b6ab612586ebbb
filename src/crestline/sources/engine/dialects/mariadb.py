"""MariaDB, through Ibis' engine for MySQL.

Text is turned into UTF-8, and compared as bytes; columns of dates may hold days that there are not (0000-00-00, the
31st of February), which count as null. In a SELECT nothing but arithmetic can fail, and what is computed here stays in
range.

Settings of a session decide what a statement means, so that every transaction of ours makes them itself:

    names               literals and casts are UTF-8, in an order of code points without padding
    sql_mode            none: a backslash in a literal is an escape, as Ibis writes it
    time_zone           UTC
    max_sort_length     more than a key has: text and bytes of more than 1000 bytes are no keys
    max_statement_time  the time limit

Only tables of InnoDB have snapshots; of others, and of views, what several statements need is fetched by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from typing import TYPE_CHECKING, Any

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Rows
from crestline.sources.engine.dialects.functions import (
    Expression,
    SqlNode,
    cast,
    engine_function,
    hex_digits,
    json_rows,
    rewrite_tree,
)

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

LONGEST_KEY = 1000
_TEXT = "string"
_SETTINGS = (
    "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin",
    "SET SESSION sql_mode = '', time_zone = '+00:00', max_sort_length = 1024, max_statement_time = {timeout}",
)
_TRANSACTION = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
_ENGINES = (
    "SELECT engine FROM information_schema.tables WHERE table_schema = COALESCE(%s, DATABASE()) AND table_name = %s"
)


def is_mariadb(engine: Engine) -> bool:
    """Whether what Ibis calls MySQL is MariaDB; MySQL itself was never run here."""
    return engine.name == "mysql" and "MariaDB" in str(engine.con.get_server_info())


def _readable_table(table: Expression) -> Expression:
    return table.select(**{name: _readable_column(table[name]) for name in table.columns})


def _readable_column(column: Expression) -> Expression:
    """A column in which there is nothing but values of its type; Ibis takes years and bits for small whole numbers."""
    from ibis.expr import datatypes as types

    kind = column.type()
    if kind.is_integer():
        return cast(column, types.uint64 if kind == types.UInt64(nullable=kind.nullable) else types.int64)
    if kind.is_string():
        return cast(column, types.string)
    if kind.is_date() or kind.is_timestamp():
        ours = "date" if kind.is_date() else "timestamp('UTC', 6)" if kind.timezone else "timestamp(6)"
        return engine_function("adddate", str(kind.copy(nullable=True)), ours, option=0)(
            column
        )  # null for days there are not
    return column


def _encode_text(text: Expression) -> Expression:
    """By a cast: of HEX() of a long text MariaDB computes a length of zero, and cuts what it stores of it to that."""
    return text.cast("binary")


def _sortable_bytes(raw: Expression) -> Expression:
    """Bytes that MariaDB groups and ranks by all of them, in memory: it cuts longer ones to `max_sort_length`."""
    import ibis

    short = engine_function("substr", "binary", "int64", "int64", "binary")(raw, 1, LONGEST_KEY)
    return ibis.cases(
        (engine_function("length", "binary", "int64")(raw) <= LONGEST_KEY, short), else_=ibis.null("binary")
    )


def _unhex(digits: Expression) -> Expression:
    return engine_function("unhex", _TEXT, "binary")(digits)


def _decode_bytes(raw: Expression) -> Expression:
    return raw.cast(_TEXT)


def _md5(text: Expression, digits: int) -> Expression:
    """LEFT is a reserved word, and no function once it is quoted."""
    hashed = engine_function("md5", _TEXT, _TEXT)(text)
    return engine_function("substr", _TEXT, "int64", "int64", _TEXT)(hashed, 1, digits)


def _number_of(digits: Expression) -> Expression:
    return engine_function("conv", _TEXT, "int64", "int64", _TEXT)(digits, 16, 10).cast("int64")


def _retype(value: Expression, kind: str) -> Expression:
    """The same value under another type of Ibis."""
    return engine_function("coalesce", str(value.type().copy(nullable=True)), kind)(value)


def _total_cast(value: Expression, kind: DataType) -> Expression:
    """Moments have microseconds already, and every other cast is defined for every value."""
    return _retype(value, str(kind)) if kind.is_timestamp() and value.type().is_timestamp() else cast(value, kind)


def _inline_table(table: pyarrow.Table) -> Expression:
    """As JSON, which the statement carries: a temporary table is more than a read-only transaction may make."""
    import ibis
    from ibis.expr.operations import SQLQueryResult
    from sqlglot import expressions

    kinds = ibis.memtable(table).schema()
    literal = expressions.Literal.string(json_rows(table)).sql("mysql")
    columns = ", ".join(f"c{place} {_json_type(kind)} PATH '$[{place}]'" for place, kind in enumerate(kinds.types))
    query = f"SELECT * FROM JSON_TABLE({literal}, '$[*]' COLUMNS ({columns})) AS listed"  # noqa: S608 -- a literal
    held = SQLQueryResult(
        query, ibis.schema({f"c{i}": _json_column_type(kind) for i, kind in enumerate(kinds.types)}), None
    ).to_expr()
    return held.select(
        **{name: _decode_inline_column(held[f"c{i}"], kind) for i, (name, kind) in enumerate(kinds.items())}
    )


def _json_type(kind: DataType) -> str:
    if kind.is_integer() or kind.is_boolean():
        return "BIGINT UNSIGNED" if str(kind).lstrip("!") == "uint64" else "BIGINT"
    if kind.is_floating():
        return "DOUBLE"
    if kind.is_decimal():
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if kind.is_date():
        return "DATE"
    return "DATETIME(6)" if kind.is_timestamp() else f"VARCHAR({2 * LONGEST_KEY})"  # null where it is longer


def _json_column_type(kind: DataType) -> DataType | str:
    return _TEXT if kind.is_binary() else kind.copy(nullable=True)


def _decode_inline_column(column: Expression, kind: DataType) -> Expression:
    if kind.is_binary():
        return _unhex(column)
    return _decode_bytes(_unhex(column)) if kind.is_string() else column


def compile_statement(engine: Engine, expression: Expression) -> str:
    """The statement, with casts to bytes as MariaDB calls them."""
    from sqlglot import expressions

    kinds = expressions.DataType.Type

    def change_node(node: SqlNode) -> SqlNode:
        if isinstance(node, expressions.Cast) and node.to.this == kinds.VARBINARY:
            node.set("to", expressions.DataType(this=kinds.BINARY))
        return node

    return str(rewrite_tree(engine.compiler.to_sqlglot(expression), change_node).sql(dialect=engine.compiler.dialect))


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    with engine.con.cursor() as cursor:
        cursor.execute(compile_statement(engine, expression))
        rows = cursor.fetchall()
    ways = [_value_converter(kind) for kind in expression.schema().types]
    return [tuple(v if v is None or way is None else way(v) for v, way in zip(row, ways, strict=True)) for row in rows]


def _value_converter(kind: DataType) -> Callable[[Any], Any] | None:
    """From what the driver returns to a Python value, where that is another: sums of whole numbers are decimals."""
    if kind.is_integer():
        return int
    return (lambda moment: moment.replace(tzinfo=UTC)) if kind.is_timestamp() and kind.timezone else None


def _run_sql(engine: Engine, statement: str, *values: str | None) -> Rows:
    with engine.con.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


@contextmanager
def _read_transaction(engine: Engine, timeout: float) -> Iterator[None]:
    """Within somebody else's transaction there is none of ours."""
    if not _is_idle(engine):
        yield
        return
    for setting in _SETTINGS:
        _run_sql(engine, setting.format(timeout=f"{max(timeout, 0.001):f}"))  # where 0 would be none
    _run_sql(engine, _TRANSACTION)
    try:
        yield
    finally:
        _run_sql(engine, "ROLLBACK")


def _is_idle(engine: Engine) -> bool:
    """Unless somebody else's transaction is under way, or one of ours."""
    return _run_sql(engine, "SELECT @@in_transaction") == [(0,)]


def _keeps_snapshots(table: Expression) -> bool:
    """Whether all tables that an expression reads are InnoDB's."""
    from ibis.expr.operations import DatabaseTable

    leaves = table.op().find(DatabaseTable)
    found = [_run_sql(leaf.source, _ENGINES, leaf.namespace.database, leaf.name) for leaf in leaves]
    return bool(found) and all(rows == [("InnoDB",)] for rows in found)


MARIADB = Dialect(
    "mariadb",
    Codec(_encode_text, _decode_bytes, hex_digits),
    md5=_md5,
    number_of=_number_of,
    key=_sortable_bytes,
    readable_table=_readable_table,
    total_cast=_total_cast,
    is_number=lambda value: value.notnull(),  # there is no nan
    in_utc=lambda value: _retype(value, "timestamp(6)"),
    products_may_underflow=True,
    inline_table=_inline_table,
    fetch_rows=_fetch_rows,
    read_transaction=_read_transaction,
    has_snapshots=_is_idle,
    keeps_snapshots=_keeps_snapshots,
)
