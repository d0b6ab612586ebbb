"""Database URLs: a read-only connection, limited in time, and no word about passwords."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import unquote, urlsplit

from crestline.errors import QuestionError, SourceError
from crestline.sources.columns import column
from crestline.sources.engines import Expression
from crestline.sources.table import TableSource


def database_source(url: str, table: str | None, timeout: float) -> TableSource:
    """A table (`name` or `schema.name`) behind a database URL."""
    if not table:
        raise QuestionError("a database URL needs `table`: the name of the table to ask, or schema.table")
    engine = connect(url, timeout)
    return TableSource(
        _table(engine, table), engine, name=table, timeout=timeout, lookup=lambda name: _table_or_column(engine, name)
    )


def connect(url: str, timeout: float) -> Any:
    """A connection that may only read, and that gives a statement up after `timeout` seconds where the engine can."""
    scheme = url.partition("://")[0].lower()
    if scheme == "duckdb":
        return _duckdb(url)
    if scheme in ("postgres", "postgresql"):
        return _opened(scheme, lambda ibis: ibis.connect(url, options=_postgres_options(timeout)))
    return _opened(scheme, lambda ibis: ibis.connect(url))


def _duckdb(url: str) -> Any:
    parts = urlsplit(url)
    # As SQLAlchemy has it: three slashes for a path from here, four for a path from the root.
    path = unquote(parts.netloc + parts.path.removeprefix("/") if not parts.netloc else parts.netloc + parts.path)
    if not os.path.isfile(path):
        raise QuestionError(
            f"there is no DuckDB database {path}; a relative path follows three slashes, duckdb:///shop.db"
        )
    return _opened("duckdb", lambda ibis: ibis.duckdb.connect(path, read_only=True))


def _postgres_options(timeout: float) -> str:
    return f"-c default_transaction_read_only=on -c statement_timeout={int(timeout * 1000)}"


def _opened(scheme: str, connect: Any) -> Any:
    """Connect; an engine's own words are left out, because they may repeat the password."""
    import ibis

    try:
        return connect(ibis)
    except ModuleNotFoundError:
        problem = (
            "its driver is not installed: install crestline[postgres], crestline[spark] or the Ibis extra of its name"
        )
    except Exception as failure:
        problem = f"the connection failed ({type(failure).__name__}): check address, name, password and rights"
    raise SourceError(f"{scheme}: {problem}")


def _table(engine: Any, name: str) -> Expression:
    found = _find(engine, name)
    if found is None:
        raise QuestionError(f"there is no table {name!r} that this connection may read; give its name, or schema.name")
    return found


def _table_or_column(engine: Any, name: str) -> Expression:
    """A domain by name: a table, or a column of one."""
    table, _, last = name.rpartition(".")
    found = _find(engine, name)
    if found is None and table:
        holder = _find(engine, table)
        found = None if holder is None else column(holder, last).as_table()
    if found is None:
        raise QuestionError(f"there is no table {name!r} for the domain; give table, schema.table or table.column")
    return found


def _find(engine: Any, name: str) -> Expression | None:
    schema, _, last = name.rpartition(".")
    places: list[tuple[str, dict[str, str]]] = [(name, {})]
    if schema:
        places.append((last, {"database": schema}))
    for place, options in places:
        try:
            return engine.table(place, **options)
        except Exception:  # noqa: S112 -- whatever the engine says, the table is not there under this name
            continue
    return None
