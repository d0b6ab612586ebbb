"""What a statement may do and for how long, engine by engine. docs/how-to/databases.md says what is missing."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from crestline.sources.engine.connection import Driver, Engine

_AGAIN = 0.01
_SPARK_LOGGER = "SQLQueryContextLogger"
_SPARK_LITERAL = ("spark.sql.variable.substitute", "spark.sql.parser.escapedStringLiterals")


@contextmanager
def read_only(engine: Engine, timeout: float) -> Iterator[None]:
    """A transaction of PostgreSQL that only reads, sees one state of the tables and gives statements up in time.

    It says so itself and does not rely on how the connection was opened: poolers drop options of the start.
    """
    if engine.name != "postgres":
        yield
        return
    with engine.con.transaction(), engine.con.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute(f"SET LOCAL statement_timeout = {milliseconds(timeout)}")
        yield


def milliseconds(timeout: float) -> int:
    """The time limit as PostgreSQL takes it, where 0 would be none."""
    return max(1, int(timeout * 1000))


@contextmanager
def limited(engine: Engine, timeout: float, late: threading.Event) -> Iterator[None]:
    """Interrupt the engine after `timeout` seconds, and set `late` when that was done. PostgreSQL keeps the time
    itself (`read_only`)."""
    with _interrupting(engine) as interrupt:
        if interrupt is None:
            yield
            return
        done = threading.Event()

        def watch() -> None:
            """An interrupt between two statements or jobs is forgotten: it is repeated until ours has ended."""
            wait = timeout
            while not done.wait(wait):
                late.set()
                interrupt()
                wait = _AGAIN

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            done.set()
            watcher.join()


@contextmanager
def _interrupting(engine: Engine) -> Iterator[Callable[[], None] | None]:
    """How to interrupt what this thread runs on an engine; None where we cannot."""
    if engine.name in ("duckdb", "sqlite"):
        yield engine.con.interrupt
    elif engine.name == "pyspark":
        with _tagged(engine._session) as cancel:
            yield cancel
    else:
        yield None


@contextmanager
def _tagged(session: Driver) -> Iterator[Callable[[], None] | None]:
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
        yield lambda: cancel(tag)
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
def quiet(engine: Engine) -> Iterator[None]:
    """Keep an engine's own words out of this process's log; the engine's own log has them."""
    if engine.name != "pyspark":
        yield
        return
    with suppress(ImportError):  # Spark 3 logs nothing of the kind
        from pyspark.logger import PySparkLogger

        PySparkLogger.getLogger(_SPARK_LOGGER).addFilter(_QUIET)  # once, however often it is said
    _QUIET.here.running = True
    try:
        yield
    finally:
        _QUIET.here.running = False


@contextmanager
def literal(engine: Engine) -> Iterator[None]:
    """Let Spark take text as it stands: by default it replaces ${env:HOME} and the like, even inside a value."""
    if engine.name != "pyspark":
        yield
        return
    settings = engine._session.conf
    before = {name: settings.get(name) for name in _SPARK_LITERAL}
    try:
        for name in before:
            settings.set(name, "false")
        yield
    finally:
        for name, value in before.items():
            settings.set(name, value)
