"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crestline.errors import QuestionError
from crestline.sources.engine.connection import Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, PreparedStatements, Rows, floor_in_doubles
from crestline.sources.engine.dialects.functions import Expression, engine_function

if TYPE_CHECKING:
    import pyarrow

    from crestline.sources.engine.bind_parameters import Values
    from crestline.sources.engine.statements import Statement


def _encode_text(text: Expression) -> Expression:
    return engine_function("convert_to", "string", "binary", option="UTF8")(text)


def _decode_bytes(raw: Expression) -> Expression:
    return engine_function("convert_from", "binary", "string", option="UTF8")(raw)


def _hex(raw: Expression) -> Expression:
    return engine_function("encode", "binary", "string", option="hex")(raw)


def _number_of(digits: Expression) -> Expression:
    raw = engine_function("decode", "string", "binary", option="hex")(digits)
    places = [engine_function("get_byte", "binary", "int32", option=place)(raw) for place in range(4)]
    first, second, third, last = (place.cast("int64") for place in places)
    return ((first * 256 + second) * 256 + third) * 256 + last


def _in_utc(value: Expression) -> Expression:
    return engine_function("timezone", "string", "timestamp('UTC', 6)", "timestamp(6)")("UTC", value)


def _floor_to_multiple(value: Expression, size: int) -> Expression:
    if not value.type().is_decimal():
        return floor_in_doubles(value, size)
    return engine_function("floor", "decimal", "decimal")(value / size) * size


def _strip_trailing_zeros(value: Expression) -> Expression:
    """1.5 and 1.50 are equal, and get one text."""
    return engine_function("trim_scale", "decimal", "decimal")(value)


def _inline_table(table: pyarrow.Table) -> Expression:
    """As arrays: a temporary table is more than a read-only connection may make."""
    import ibis

    kinds = ibis.memtable(table).schema()
    one_row = ibis.literal(0).name("one").as_table()
    if not table.num_rows:  # an empty array has no type there
        return one_row.select(**{name: ibis.null(kind) for name, kind in kinds.items()}).limit(0)
    arrays = {name: ibis.literal(table[name].to_pylist(), type=f"array<{kind}>") for name, kind in kinds.items()}
    return one_row.select(**{name: array.unnest() for name, array in arrays.items()})


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    return _run_statement(engine, engine.compile(expression), [kind.is_integer() for kind in expression.schema().types])


def _fetch_batches(engine: Engine, expression: Expression, size: int) -> Generator[Rows, None, None]:
    """By a cursor of the server, which keeps the rest; within a transaction."""
    import ibis

    engine._run_pre_execute_hooks(expression)
    whole = [kind.is_integer() for kind in expression.schema().types]
    with engine.con.cursor(name=ibis.util.gen_name("crestline")) as cursor:
        cursor.execute(engine.compile(expression))
        while rows := cursor.fetchmany(size):
            yield _decimals_to_ints(rows, whole)


def _run_prepared(engine: Engine, expression: Expression, statement: Statement, values: Values) -> Rows:
    return _run_statement(engine, statement.text_with_literals(engine, values), statement.whole)


def _run_statement(engine: Engine, text: str, whole: Sequence[bool]) -> Rows:
    """The rows of a statement."""
    with engine.con.cursor() as cursor:
        return _decimals_to_ints(cursor.execute(text).fetchall(), whole)


def _decimals_to_ints(rows: Rows, whole: Sequence[bool]) -> Rows:
    """Sums of whole numbers come as decimals."""
    return [tuple(int(v) if w else v for v, w in zip(row, whole, strict=True)) for row in rows]


def milliseconds(timeout: float) -> int:
    """The time limit as PostgreSQL takes it, where 0 would be none."""
    return max(1, int(timeout * 1000))


@contextmanager
def _read_transaction(engine: Engine, timeout: float) -> Iterator[None]:
    """It says so itself and does not rely on how the connection was opened: poolers drop options of the start. Within
    somebody else's transaction there is none of ours."""
    if not _is_idle(engine):
        yield
        return
    with engine.con.transaction(), engine.con.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(f"SET LOCAL statement_timeout = {milliseconds(timeout)}")
        yield


def _is_idle(engine: Engine) -> bool:
    """Unless somebody else's transaction is under way."""
    return int(engine.con.info.transaction_status) == 0


def _check_encoding(engine: Engine) -> None:
    """Refuse another encoding: some of its texts may have no UTF-8, and one row would make an error."""
    encoding = engine.con.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise QuestionError(
            f"the database is encoded in {encoding}; only UTF8 can be asked, because other text may have no UTF-8: "
            "copy the table to a database with encoding UTF8"
        )


POSTGRES = Dialect(
    "postgres",
    Codec(_encode_text, _decode_bytes, _hex),
    number_of=_number_of,
    in_utc=_in_utc,
    floor_to_multiple=_floor_to_multiple,
    unbounded_decimals=True,
    products_may_underflow=True,
    strip_trailing_zeros=_strip_trailing_zeros,
    check_connection=_check_encoding,
    inline_table=_inline_table,
    fetch_rows=_fetch_rows,
    fetch_batches=_fetch_batches,
    prepared_statements=PreparedStatements(_run_prepared, numbered_parameters=False),
    read_transaction=_read_transaction,
    has_snapshots=_is_idle,
)
