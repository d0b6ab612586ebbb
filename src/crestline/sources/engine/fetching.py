"""From an engine's rows to Python values, each engine by its shortest way: a conversion less is a failure less.

Nothing here may fail on a row. What is fetched was made harmless in the engine already (`columns.py`): text comes as
bytes, decimals as text, dates and times within Python's calendar. Data frames are avoided on the way, because theirs
is a narrower calendar.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any, TypeAlias

from crestline.sources.engine.connection import Engine
from crestline.sources.engine.engines import Expression

Rows: TypeAlias = list[tuple[Any, ...]]

IN_PROCESS = ("duckdb", "sqlite")


def fetched(engine: Engine, expression: Expression) -> Rows:
    """The rows of an expression."""
    ways = {"duckdb": _duckdb, "postgres": _postgres, "pyspark": _spark, "sqlite": _sqlite}
    return ways.get(engine.name, _other)(engine, expression)


def pinged(engine: Engine) -> None:
    """Ask an engine outside this process for nothing: fails where the connection is lost."""
    if engine.name == "pyspark":
        engine._session.sql("SELECT 1").schema  # noqa: B018 -- the analysis is done by the server, and no job is run
    elif engine.name not in IN_PROCESS:
        with closing(engine.raw_sql("SELECT 1")):
            pass


def temporary(engine: Engine, expression: Expression) -> Expression:
    """The rows of an expression, stored under a name of their own as they are, without a conversion that could fail.

    DuckDB keeps them in a temporary table, which also a read-only connection may have. Spark keeps them as a local
    checkpoint: where a part of it is lost, with a machine, later statements fail; they never read the rows anew.
    """
    import ibis
    from ibis.expr.operations import DatabaseTable, Namespace

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    sql = engine.compile(expression)
    if engine.name == "pyspark":
        engine.raw_sql(sql).localCheckpoint(eager=True).createTempView(name)
        return DatabaseTable(name, schema=expression.schema(), source=engine).to_expr()
    engine.con.execute(f"CREATE TEMPORARY TABLE {name} AS {sql}")
    namespace = Namespace(catalog="temp", database="main")
    return DatabaseTable(name, schema=expression.schema(), source=engine, namespace=namespace).to_expr()


def dropped(engine: Engine, table: Expression) -> None:
    """Drop what `temporary` made."""
    name = table.op().name  # no other table has it
    if engine.name == "pyspark":
        engine._session.catalog.dropTempView(name)
    else:
        engine.con.execute(f"DROP TABLE {name}")


def _duckdb(engine: Engine, expression: Expression) -> Rows:
    """As Python values: neither Arrow (30 MB) nor pandas (40 MB, which Ibis would import on the way) is needed, but for
    moments with a time zone and for lists of items."""
    from ibis.expr.operations import InMemoryTable

    plain = not any(kind.is_timestamp() and kind.timezone for kind in expression.schema().types)
    if plain and not expression.op().find(InMemoryTable):
        rows: Rows = engine.con.sql(engine.compile(expression)).fetchall()
        return rows
    return _other(engine, expression)


def _postgres(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    with engine.con.cursor() as cursor:
        rows = cursor.execute(engine.compile(expression)).fetchall()
    whole = [kind.is_integer() for kind in expression.schema().types]  # its sums of whole numbers come as decimals
    return [tuple(int(v) if w else v for v, w in zip(row, whole, strict=True)) for row in rows]


def _sqlite(engine: Engine, expression: Expression) -> Rows:
    engine._run_pre_execute_hooks(expression)
    rows: Rows = engine.con.execute(engine.compile(expression)).fetchall()
    return rows


def _spark(engine: Engine, expression: Expression) -> Rows:
    """Through Arrow. The calendar of pandas ends in the years 1677 and 2262; Spark 3 knows no other way."""
    engine._run_pre_execute_hooks(expression)
    frame = engine.raw_sql(engine.compile(expression))
    if not hasattr(frame, "toArrow"):
        return _other(engine, expression)
    return _listed(frame.toArrow().cast(expression.schema().to_pyarrow()))


def _other(engine: Engine, expression: Expression) -> Rows:
    return _listed(engine.to_pyarrow(expression))


def _listed(table: Expression) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
