"""Spark, in a session of its own or through Spark Connect."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from crestline.sources.engine.connection import Driver, Engine
from crestline.sources.engine.dialects.dialect import Codec, Dialect, Interrupt, Rows, TempTables, ibis_rows, table_rows
from crestline.sources.engine.dialects.functions import Expression, engine_function, hex_digits, try_cast

_LOGGER = "SQLQueryContextLogger"
_SETTINGS = {
    # Text is taken as it stands: by default Spark replaces ${env:HOME} and the like, even inside a value.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Small tables are sent as Arrow: to read rows of Python, every worker would start a Python for every statement.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def _number_of(digits: Expression) -> Expression:
    return try_cast(engine_function("conv", "string", "int64", "int64", "string")(digits, 16, 10), "int64")


def _fetch_rows(engine: Engine, expression: Expression) -> Rows:
    """Through Arrow. The calendar of pandas ends in the years 1677 and 2262; Spark 3 knows no other way."""
    engine._run_pre_execute_hooks(expression)
    frame = engine.raw_sql(engine.compile(expression))
    if not hasattr(frame, "toArrow"):
        return ibis_rows(engine, expression)
    return table_rows(frame.toArrow().cast(expression.schema().to_pyarrow()))


def _ping(engine: Engine) -> None:
    engine._session.sql("SELECT 1").schema  # noqa: B018 -- the analysis is done by the server, and no job is run


def _store_rows(engine: Engine, expression: Expression) -> Expression:
    """A local checkpoint: where a part of it is lost, with a machine, later statements fail; they never read the rows
    anew."""
    import ibis
    from ibis.expr.operations import DatabaseTable

    name = ibis.util.gen_name("crestline")  # letters, digits and underscores
    engine._run_pre_execute_hooks(expression)  # lists of items become known to the engine
    engine.raw_sql(engine.compile(expression)).localCheckpoint(eager=True).createTempView(name)
    return DatabaseTable(name, schema=expression.schema(), source=engine).to_expr()


def _drop_table(engine: Engine, table: Expression) -> None:
    engine._session.catalog.dropTempView(table.op().name)


@contextmanager
def _interrupt_handle(engine: Engine) -> Iterator[Interrupt | None]:
    with _tag_jobs(engine._session) as cancel:
        yield cancel


@contextmanager
def _tag_jobs(session: Driver) -> Iterator[Interrupt | None]:
    """Jobs of this thread carry a tag by which they can be cancelled. Spark Connect has no such handle on jobs, but
    one on its own operations; Spark before 3.5 has neither."""
    tag = f"crestline-{uuid.uuid4().hex}"
    remote = type(session).__module__.startswith("pyspark.sql.connect")
    holder = session if remote else session.sparkContext
    add, remove, cancel = (
        getattr(holder, name, None)
        for name in (
            ("addTag", "removeTag", "interruptTag") if remote else ("addJobTag", "removeJobTag", "cancelJobsWithTag")
        )
    )
    if add is None or remove is None or cancel is None:
        yield None
        return
    add(tag)
    try:
        # In a thread of its own, since it may wait for a server; nothing else carries the tag.
        yield lambda: threading.Thread(target=cancel, args=(tag,), daemon=True).start()
    finally:
        remove(tag)


class _Quiet(logging.Filter):
    """Drops what PySpark logs of errors in threads that run statements of ours: it quotes rows."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()

    def filter(self, record: logging.LogRecord) -> bool:
        return not getattr(self.here, "running", False)


_QUIET = _Quiet()


@contextmanager
def _quiet_session(engine: Engine) -> Iterator[None]:
    with _silence_log(), _set_options(engine._session.conf):
        yield


@contextmanager
def _silence_log() -> Iterator[None]:
    """Keep the engine's own words out of this process's log; the engine's own log has them."""
    with suppress(ImportError):  # Spark 3 logs nothing of the kind
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger(_LOGGER).addFilter(_QUIET)  # once, however often it is said
    _QUIET.here.running = True
    try:
        yield
    finally:
        _QUIET.here.running = False


@contextmanager
def _set_options(settings: Driver) -> Iterator[None]:
    """Settings of the session that hold while a statement runs; afterwards they are as they were."""
    before = {name: settings.get(name) for name in _SETTINGS}
    try:
        for name, value in _SETTINGS.items():
            settings.set(name, value)
        yield
    finally:
        for name, value in before.items():
            settings.set(name, value)


SPARK = Dialect(
    "pyspark",
    # Spark's own encode() fails on text that is not well-formed; a cast takes the bytes as they are.
    Codec(lambda text: text.cast("binary"), lambda raw: raw.cast("string"), hex_digits),
    number_of=_number_of,
    total_cast=try_cast,
    unmarked_is_utc=True,
    fetch_rows=_fetch_rows,
    ping=_ping,
    interrupt_handle=_interrupt_handle,
    around_statement=_quiet_session,
    temp_tables=TempTables(_store_rows, _drop_table, for_public_lists=False),
)
