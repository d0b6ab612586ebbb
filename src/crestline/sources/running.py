"""Running an expression: one at a time, for a limited time, and with errors that carry nothing from the rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crestline.errors import CrestlineError, QuestionError, SourceError
from crestline.sources.engines import Expression

_AGAIN = 0.01
_GIVEN_UP = ("InterruptException", "QueryCanceled")
_SPARK_LITERAL = ("spark.sql.variable.substitute", "spark.sql.parser.escapedStringLiterals")


class Runner:
    """Runs expressions on one connection, and gives a statement up after `timeout` seconds."""

    def __init__(self, engine: Any, timeout: float) -> None:
        self._engine = engine
        self._timeout = timeout
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The engine's name, as Ibis calls it."""
        return str(self._engine.name)

    def rows(self, expression: Expression) -> list[tuple[Any, ...]]:
        """The rows of an expression, as tuples of Python values.

        Whatever the engine raises becomes an error without its words, which may quote rows or keys. It is raised
        outside the handler, so that not even its context leads back to the engine's.
        """
        try:
            with self._lock, _limited(self._engine, self._timeout), _literal(self._engine):
                return fetched(self._engine, expression)
        except Exception as failure:
            kind = type(failure).__name__
        if kind in _GIVEN_UP:
            raise SourceError(f"the engine gave the statement up: it may take {self._timeout:g} seconds (`timeout`)")
        raise SourceError(f"the engine did not answer ({kind}); its own log says why")


def refused_as(advice: str, action: Callable[[], Any]) -> Any:
    """Run; whatever an engine or a library raises, say `advice` in its place."""
    try:
        return action()
    except CrestlineError:
        raise
    except Exception:  # noqa: S110 -- replaced below, outside the handler, so that the words are gone for good
        pass
    raise QuestionError(advice)


def fetched(engine: Any, expression: Expression) -> list[tuple[Any, ...]]:
    """The rows of an expression. From DuckDB they come as Python values: neither Arrow (30 MB) nor pandas (40 MB, which
    Ibis would import on the way) is needed, but for moments with a time zone."""
    from ibis.expr.operations import InMemoryTable

    plain = not any(kind.is_timestamp() and kind.timezone for kind in expression.schema().types)
    if engine.name == "duckdb" and plain and not expression.op().find(InMemoryTable):
        rows: list[tuple[Any, ...]] = engine.con.sql(engine.compile(expression)).fetchall()
        return rows
    table = engine.to_pyarrow(expression)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@contextmanager
def _limited(engine: Any, timeout: float) -> Iterator[None]:
    """Interrupt the engine after `timeout` seconds. PostgreSQL keeps the time itself (`databases.connect`)."""
    if engine.name != "duckdb":
        yield
        return
    done = threading.Event()

    def watch() -> None:
        """DuckDB forgets an interrupt that comes between two statements: it is repeated until ours has ended."""
        wait = timeout
        while not done.wait(wait):
            engine.con.interrupt()
            wait = _AGAIN

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


@contextmanager
def _literal(engine: Any) -> Iterator[None]:
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
