"""DataFusion, in this process: a table of `ibis.datafusion.connect()`, since it has no addresses.

Its comparisons tell -0.0 from 0.0, so that doubles are brought to one zero first. What several statements need is kept
in its memory. A statement cannot be interrupted: there is no time limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crestline.sources.engine.connection import Driver, Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Rows, TempTables, table_rows
from crestline.sources.engine.dialects.functions import (
    Expression,
    SqlNode,
    cast,
    engine_function,
    in_microseconds,
    rewrite_tree,
    try_cast,
)

if TYPE_CHECKING:
    import pyarrow
    from ibis.expr.datatypes import DataType

    from crestline.sources.engine.bind_parameters import Values
    from crestline.sources.engine.statements import Statement

_TEXT, _BYTES = "string", "binary"
_MICROSECONDS, _NANOSECONDS = 6, 9
_DIGITS, _DIGITS_OF_A_NUMBER = "0123456789abcdef", 8


def _part(text: Expression, first: int, length: int) -> Expression:
    return engine_function("substr", _TEXT, "int64", "int64", _TEXT)(text, first, length)


def _md5(text: Expression, digits: int) -> Expression:
    return _part(engine_function("md5", _TEXT, _TEXT)(text), 1, digits)


def _number_of(digits: Expression) -> Expression:
    """There is no function for it: each digit by its place among all of them."""
    import ibis

    place = engine_function("strpos", _TEXT, _TEXT, "int64")
    number = ibis.literal(0, "int64")
    for first in range(1, _DIGITS_OF_A_NUMBER + 1):
        number = number * len(_DIGITS) + (place(_DIGITS, _part(digits, first, 1)) - 1)
    return number


def _arrow_cast(value: Expression, arrow: str, kind: str) -> Expression:
    return engine_function("arrow_cast", str(value.type().copy(nullable=True)), kind, option=arrow)(value)


def _total_cast(value: Expression, kind: DataType) -> Expression:
    """Moments by way of whole numbers: no cast of its own takes every moment to microseconds, and its TRY_CAST is not
    known to Ibis for moments. Nothing else is cast on an engine that does not read text."""
    if not kind.is_timestamp():
        return cast(value, kind)
    micros = _microseconds(value, value.type())
    return _arrow_cast(micros, f"Timestamp(Microsecond, {_arrow_zone(kind)})", str(kind.copy(nullable=True)))


def _microseconds(value: Expression, kind: DataType) -> Expression:
    if kind.scale == _MICROSECONDS:
        return _arrow_cast(value, "Int64", "int64")
    if kind.scale == _NANOSECONDS:
        coarse = _arrow_cast(value, f"Timestamp(Microsecond, {_arrow_zone(kind)})", str(kind.copy(scale=_MICROSECONDS)))
        # Through nothing but casts a comparison would be made in nanoseconds, which most moments do not fit.
        return engine_function("nullif", "int64", "int64", option=-(2**63))(_arrow_cast(coarse, "Int64", "int64"))
    return in_microseconds(_arrow_cast(value, "Int64", "int64"), kind.scale or 0)


def _arrow_zone(kind: DataType) -> str:
    return 'Some("UTC")' if kind.timezone else "None"


def _decode_bytes(raw: Expression) -> Expression:
    """Bytes as text; those that are not UTF-8, which a table of this process may hold, in hexadecimal digits."""
    from ibis.expr import datatypes as types

    return try_cast(raw, types.string).coalesce(_hex_digits(raw).upper())


def _hex_digits(raw: Expression) -> Expression:
    return engine_function("encode", _BYTES, _TEXT, option="hex")(raw)


def _in_utc(value: Expression) -> Expression:
    from ibis.expr import datatypes as types

    return _total_cast(value, types.Timestamp(scale=_MICROSECONDS))


def _representable(value: Expression) -> Expression:
    """Doubles with one zero, and moments in microseconds and in UTC: where the finer of two units cannot hold both, a
    comparison gives null."""
    from ibis.expr import datatypes as types

    kind = value.type()
    if kind.is_floating():
        return value + 0.0
    if kind.is_timestamp() and (kind.scale != _MICROSECONDS or kind.timezone not in (None, "UTC")):
        return _total_cast(value, types.Timestamp(timezone="UTC" if kind.timezone else None, scale=_MICROSECONDS))
    return value


def compile_statement(engine: Engine, expression: Expression) -> str:
    """Text of a statement, with days as such, where Ibis takes moments in nanoseconds, and with casts that cannot fail.
    What is sorted by a column has no other column of that name: DataFusion could not tell them apart."""
    from sqlglot import exp

    def change_node(node: SqlNode) -> SqlNode:
        if isinstance(node, exp.TimestampTrunc) and node.args["unit"].name == "DAY":
            return exp.cast(node.this, exp.DataType.Type.DATE, copy=False)
        if isinstance(node, exp.TryCast):  # which sqlglot would write as a cast that fails
            written = exp.alias_(node.this, node.to.sql("postgres"), quoted=False, copy=False)
            return exp.Anonymous(this="TRY_CAST", expressions=[written])
        return node

    tree = rewrite_tree(engine.compiler.to_sqlglot(expression), change_node)
    if tree.args.get("order"):  # its rows are read by place
        for place, column in enumerate(tree.expressions):
            if isinstance(column, exp.Alias):
                column.set("alias", exp.to_identifier(f"crestline_{place}", quoted=True))
    return str(tree.sql(dialect=engine.compiler.dialect))


def _run_statement(engine: Engine, expression: Expression) -> Driver:
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    return engine.con.sql(compile_statement(engine, expression))


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    return table_rows(_run_statement(engine, expression).to_arrow_table())


def _record_batches(
    engine: Engine, expression: Expression, statement: Statement | None, values: Values
) -> pyarrow.RecordBatchReader:
    import pyarrow

    return pyarrow.RecordBatchReader.from_stream(_run_statement(engine, expression))


def _store_rows(engine: Engine, expression: Expression) -> Expression:
    import ibis
    import pyarrow
    from ibis.expr.operations import DatabaseTable, Namespace

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    rows = _run_statement(engine, expression).to_arrow_table()
    engine.con.register_record_batches(name, [rows.to_batches() or [pyarrow.RecordBatch.from_pylist([], rows.schema)]])
    return DatabaseTable(name, schema=expression.schema(), source=engine, namespace=Namespace()).to_expr()


def _drop_table(engine: Engine, table: Expression) -> None:
    engine.con.deregister_table(table.op().name)


DATAFUSION = Dialect(
    "datafusion",
    Codec(
        lambda text: text.cast(_BYTES),
        _decode_bytes,
        _hex_digits,
    ),
    md5=_md5,
    number_of=_number_of,
    total_cast=_total_cast,
    in_utc=_in_utc,
    representable=_representable,
    fetch_rows=_fetch_rows,
    record_batches=_record_batches,
    ping=None,
    temp_tables=TempTables(_store_rows, _drop_table),
)
