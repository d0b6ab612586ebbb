"""ClickHouse: a server, or chDB in this process, both through clickhouse-connect.

Its text is bytes, equal and ordered as bytes, so that text and bytes are one type there. Settings of a profile decide
what a statement means, and whether it gives all rows; every statement of ours brings those that matter along. There is
no snapshot over several statements: what those need is fetched by one.

Days and moments reach from the year 1 to the year 9999 in today's versions, and from 1900 to 2299 in older ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from crestline.errors import QuestionError
from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Rows
from crestline.sources.engine.dialects.functions import (
    Expression,
    SqlNode,
    engine_function,
    hex_digits,
    in_microseconds,
    json_rows,
    rewrite_tree,
    try_cast,
)

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

_TEXT, _BYTES = "string", "binary"
_MICROSECONDS = 6
_OVERFLOWS = ("read", "group_by", "sort", "result", "timeout", "set", "join", "distinct", "transfer")
# What a profile could set otherwise: joins without nulls, other time zones, a part of the rows in place of an error.
_SETTINGS: dict[str, str | int] = {
    "join_use_nulls": 1,
    "session_timezone": "UTC",
    "transform_null_in": 0,
    "aggregate_functions_null_for_empty": 0,
    "max_query_size": 1 << 30,
    "limit": 0,
    "offset": 0,
    "use_query_cache": 0,
    "cancel_http_readonly_queries_on_client_close": 1,
    **{f"{kind}_overflow_mode": "throw" for kind in _OVERFLOWS},
}
_TIMEOUT: ContextVar[float | None] = ContextVar("timeout", default=None)


def _md5(text: Expression, digits: int) -> Expression:
    hashed = hex_digits(engine_function("MD5", _TEXT, _BYTES)(text))
    return engine_function("substring", _TEXT, "int64", "int64", _TEXT)(hashed, 1, digits)


def _number_of(digits: Expression) -> Expression:
    little = engine_function("reverse", _BYTES, _BYTES)(engine_function("unhex", _TEXT, _BYTES)(digits))
    return engine_function("reinterpretAsUInt32", _BYTES, "int64")(little)


def _inline_table(table: pyarrow.Table) -> Expression:
    """As JSON, which the statement carries: neither a table function nor a temporary table, which a role that only
    reads may not have."""
    import ibis
    from ibis.expr.operations import SQLQueryResult
    from sqlglot import expressions

    kinds = ibis.memtable(table).schema()
    types = ", ".join(_json_type(kind) for kind in kinds.types)
    literal = expressions.Literal.string(json_rows(table)).sql("clickhouse")
    columns = ", ".join(f"tupleElement(listed, {place + 1}) AS c{place}" for place in range(len(kinds)))
    listed = f"SELECT arrayJoin(JSONExtract({literal}, 'Array(Tuple({types}))')) AS listed"
    held = SQLQueryResult(
        f"SELECT {columns} FROM ({listed}) AS held",  # noqa: S608 -- literals and types alone
        ibis.schema(
            {
                f"c{place}": "string" if kind.is_binary() else kind.copy(nullable=True)
                for place, kind in enumerate(kinds.types)
            }
        ),
        None,
    ).to_expr()
    return held.select(
        **{name: _decode_inline_column(held[f"c{i}"], kind) for i, (name, kind) in enumerate(kinds.items())}
    )


def _json_type(kind: DataType) -> str:
    from ibis.backends.sql.datatypes import ClickHouseType

    return "Nullable(Date32)" if kind.is_date() else str(ClickHouseType.to_string(kind.copy(nullable=True)))


def _decode_inline_column(column: Expression, kind: DataType) -> Expression:
    if not kind.is_string() and not kind.is_binary():
        return column
    return engine_function("unhex", _TEXT, str(kind.copy(nullable=True)))(column)


def compile_statement(engine: Engine, expression: Expression) -> str:
    """The statement, with days and moments of the whole calendar, where Ibis takes the types that begin in 1970, and
    with text that is measured and cut by characters."""
    from sqlglot import exp

    kinds = exp.DataType.Type

    def change_node(node: SqlNode) -> SqlNode:
        if isinstance(node, exp.Anonymous) and node.name == "toDate":
            return exp.Anonymous(this="toDate32", expressions=node.expressions)
        if isinstance(node, exp.Anonymous) and node.name == "parseDateTimeBestEffort":
            moment, *zone = node.expressions
            micros = [moment, exp.Literal.number(_MICROSECONDS), *(zone or [exp.Literal.string("UTC")])]
            return exp.Anonymous(this="parseDateTime64BestEffort", expressions=micros)
        if isinstance(node, exp.Cast) and node.to.this == kinds.DATE:
            node.set("to", exp.DataType(this=kinds.DATE32, nullable=True))
        if isinstance(node, exp.Substring):
            return exp.Anonymous(this="substringUTF8", expressions=list(node.args.values()))
        if isinstance(node, exp.Length):
            return exp.Anonymous(this="lengthUTF8", expressions=[node.this])
        return node

    return str(rewrite_tree(engine.compiler.to_sqlglot(expression), change_node).sql(dialect=engine.compiler.dialect))


def _total_cast(value: Expression, kind: DataType) -> Expression:
    """By way of whole numbers where moments become finer: there even the cast that gives null fails on one that does
    not fit."""
    scale = value.type().scale if value.type().is_timestamp() and kind.is_timestamp() else None
    if scale is None or scale >= _MICROSECONDS:
        return try_cast(value, kind)
    ticks = engine_function("reinterpretAsInt64", str(value.type().copy(nullable=True)), "int64")(value)
    return engine_function("fromUnixTimestamp64Micro", "int64", str(kind.copy(nullable=True)))(
        in_microseconds(ticks, scale)
    )


def _representable(value: Expression) -> Expression:
    """Doubles with one zero, because `in` compares them bit by bit; moments in microseconds, because a comparison fails
    where the finer of two units cannot hold both. What does not fit is null."""
    from ibis.expr import datatypes as types

    kind = value.type()
    if kind.is_floating():
        return value + 0.0
    if kind.is_timestamp() and kind.scale not in (None, _MICROSECONDS):
        return _total_cast(value, types.Timestamp(timezone=kind.timezone, scale=_MICROSECONDS))
    return value


def _settings() -> dict[str, str | int | float]:
    timeout = _TIMEOUT.get()
    return {**_SETTINGS} if timeout is None else {**_SETTINGS, "max_execution_time": max(timeout, 0.001)}


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    """Text as bytes, because the driver would fail on what is no UTF-8, and moments in UTC, whatever the server's zone
    is."""
    formats = {"String": "bytes", "FixedString": "bytes"}
    statement = compile_statement(engine, expression)
    found = engine.con.query(statement, settings=_settings(), query_formats=formats, query_tz="UTC")
    ways = [_value_converter(kind) for kind in expression.schema().types]
    rows = found.result_rows
    return [tuple(v if v is None or way is None else way(v) for v, way in zip(row, ways, strict=True)) for row in rows]


def _value_converter(kind: DataType) -> Callable[[Any], Any] | None:
    """From what the driver returns to a Python value, where that is another."""
    if kind.is_string():
        return lambda raw: raw.decode(errors="replace") if isinstance(raw, bytes) else raw
    if kind.is_boolean():
        return bool
    if kind.is_timestamp():
        return _in_utc_zone if kind.timezone else _without_zone
    return None


def _in_utc_zone(moment: datetime) -> datetime:
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _without_zone(moment: datetime) -> datetime:
    return _in_utc_zone(moment).replace(tzinfo=None)


@contextmanager
def _limit_statements(engine: Engine, timeout: float) -> Iterator[None]:
    """Every statement brings the time along that it may take."""
    token = _TIMEOUT.set(timeout)
    try:
        yield
    finally:
        _TIMEOUT.reset(token)


def _check_connection(engine: Engine) -> None:
    """Refuse a server, or a role, that does not take the settings that every statement brings along."""
    try:
        _ping_server(engine)
    except Exception:  # noqa: S110 -- whatever was wrong; its words may hold more than they should
        pass
    else:
        return
    raise QuestionError(
        "this ClickHouse does not take the settings that every statement of crestline brings along: it must be version "
        "23.6 or later, and the role may only read but must be allowed to change settings (readonly = 2)"
    )


def _ping_server(engine: Engine) -> None:
    engine.con.query("SELECT 1", settings=_settings())


CLICKHOUSE = Dialect(
    "clickhouse",
    Codec(lambda text: text.cast(_BYTES), lambda raw: raw.cast(_TEXT), hex_digits),
    md5=_md5,
    number_of=_number_of,
    total_cast=_total_cast,
    representable=_representable,
    unmarked_is_utc=True,
    check_connection=_check_connection,
    inline_table=_inline_table,
    fetch_rows=_fetch_rows,
    ping=_ping_server,
    read_transaction=_limit_statements,
)
