"""Database URLs and Ibis tables: read-only connections, limited in time, and no word about passwords."""

from __future__ import annotations

import math
import os
import sqlite3
import warnings
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

from crestline.deadline import seconds_left, timed_connection
from crestline.errors import QuestionError, SourceError
from crestline.sources.engine.connection import Connection, Driver, Engine
from crestline.sources.engine.dialects.postgres import milliseconds
from crestline.sources.engine.engine_functions import Expression, dialect, name_of
from crestline.sources.expression.column_keys import column
from crestline.sources.table import TableSource

Ibis: TypeAlias = Any  # the module, which is imported when a connection is made

_OWN_EXTRAS = {
    "postgres": "crestline[postgres]",
    "postgresql": "crestline[postgres]",
    "spark": "crestline[spark]",
    "sc": "crestline[spark]",
    "mysql": "crestline[mysql]",
    "mariadb": "crestline[mysql]",
    "clickhouse": "crestline[clickhouse]",
}
_CONNECT_SECONDS = 10
_GRACE = 1.0  # seconds for a server that keeps time itself, and says so
_SHOWN_TABLES = 10  # of those that a message names
_MYSQL_READS = "SET SESSION TRANSACTION READ ONLY"
# What servers and drivers say when they do not let somebody in, and what that means; their own words are not repeated.
_REASONS = (
    (("refused", "could not translate", "failed to resolve", "timeout", "timed out", "unreachable",
      "Can't connect", "server host", "Lost connection"),
     "nobody answers there: check the host and the port, and whether the server is running"),
    (("password", "authentication", "no pg_hba.conf entry", "role ", "Access denied"),
     "the server does not let this user in: check the user's name and password"),
    (("does not exist", "Unknown database"),
     "the server has no such database: check its name, which is the last part of the address"),
)  # fmt: skip


def database_source(url: str, table: str | None, timeout: float) -> TableSource:
    """A table (`name` or `schema.name`) behind a database URL."""
    if not table:
        raise QuestionError("a database URL needs `table`: the name of the table to ask, or schema.table")
    engine = connect(url, timeout)
    close = None if engine.name == "pyspark" else engine.disconnect
    try:
        return _source(_find_table_or_refuse(engine, table), Connection(engine, timeout, close), table)
    except QuestionError:
        if close is not None:
            close()
        raise


def _find_table_or_refuse(engine: Engine, table: str) -> Expression:
    dialect(name_of(engine)).check_connection(engine)  # before anything is asked
    found = _find_table(engine, table)
    if found is None:
        raise QuestionError(
            f"there is no table {table!r} that this connection may read; {_suggest_table(engine, table)}"
        )
    return found


def _suggest_table(engine: Engine, table: str) -> str:
    """The table that was meant, or the names of some that there are; names of tables are part of the schema."""
    try:
        names = sorted(engine.list_tables())
    except Exception:  # an engine that cannot list them
        names = []
    close = get_close_matches(table, names, 1)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(names[:_SHOWN_TABLES]) + (", …" if len(names) > _SHOWN_TABLES else "")
    return f"there are: {shown}" if names else "give its name, or schema.name"


def connection_source(given: Driver, table: str | None, timeout: float) -> TableSource:
    """A table of a DuckDB that somebody else has opened, and closes."""
    import ibis

    if not table:
        raise QuestionError("a DuckDB connection needs `table`: the name of the table or view to ask, or schema.table")
    engine: Engine = ibis.duckdb.from_connection(given)
    return _source(_find_table_or_refuse(engine, table), Connection(engine, timeout), table)


def ibis_source(table: object, timeout: float) -> TableSource:
    """An Ibis table or table expression as a source, on the connection it is bound to, which is used as it is."""
    from ibis.expr.types import Table

    if not isinstance(table, Table):
        raise QuestionError(f"of Ibis, a source is a table, not a {type(table).__name__}")
    name = table.get_name() if type(table.op()).__name__ == "DatabaseTable" else "Ibis table"
    engine = table.get_backend()
    dialect(name_of(engine)).check_connection(engine)
    dialect(name_of(engine)).check_given_table(table)
    return _source(table, Connection(engine, timeout), name)  # not ours to close


def connect(url: str, timeout: float) -> Engine:
    """A connection that may only read and that gives a statement up after `timeout` seconds, where the engine can."""
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    if scheme == "duckdb":
        return _open_duckdb(rest)
    if scheme in ("postgres", "postgresql"):
        return _open_postgres(scheme, url, timeout)
    if scheme in ("spark", "sc"):
        return _connect_or_refuse(scheme, lambda ibis: ibis.pyspark.connect(_spark_session(url)))
    if scheme == "sqlite":
        return _open_sqlite(rest)
    if scheme in ("mysql", "mariadb"):
        return _open_mysql(scheme, rest, timeout)
    if scheme == "datafusion":
        raise QuestionError("DataFusion has no addresses: hand over a table of ibis.datafusion.connect()")
    if scheme == "clickhouse":
        return _connect_or_refuse(scheme, lambda ibis: ibis.connect(url, **_clickhouse_options(timeout)))
    return _connect_or_refuse(
        scheme, lambda ibis: ibis.connect(url)
    )  # as the URL says: nothing of ours is tested there


def _open_sqlite(rest: str) -> Engine:
    path = _existing_file("sqlite", "SQLite", rest)

    def open_connection(ibis: Ibis) -> Engine:
        # Questions come from several threads, one at a time (`Runner`).
        connection = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False)
        connection.execute("PRAGMA temp_store = MEMORY")  # nothing that is counted goes to a disk
        engine: Engine = ibis.sqlite.from_connection(connection)
        return engine

    return _connect_or_refuse("sqlite", open_connection)


def _open_postgres(scheme: str, url: str, timeout: float) -> Engine:
    def open_connection(ibis: Ibis) -> Engine:
        engine: Engine = ibis.connect(url, **_postgres_options(timeout))
        engine.con.__class__ = timed_connection()  # Ibis opens the connection, and takes no class for it
        engine.con.late = _GRACE
        return engine

    return _connect_or_refuse(scheme, open_connection)


def _open_mysql(scheme: str, rest: str, timeout: float) -> Engine:
    """Every transaction makes its own settings (`dialects.mariadb`); reading only holds for what Ibis asks as well."""

    def open_connection(ibis: Ibis) -> Engine:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a server without names of time zones is told UTC in another way
            patience = {"connect_timeout": _connect_timeout(timeout), "read_timeout": math.ceil(timeout + _GRACE)}
            options = {"charset": "utf8mb4", "init_command": _MYSQL_READS, **patience}
            engine: Engine = ibis.connect(f"mysql://{rest}", **options)
            return engine

    return _connect_or_refuse(scheme, open_connection)


def _clickhouse_options(timeout: float) -> dict[str, int]:
    """Every statement says how long it may take (`dialects.clickhouse`); the driver waits a little longer than that."""
    return {"connect_timeout": _connect_timeout(timeout), "send_receive_timeout": math.ceil(timeout) + _CONNECT_SECONDS}


def _connect_timeout(timeout: float) -> int:
    """How many seconds a connection may take."""
    return max(1, math.ceil(seconds_left(min(timeout, _CONNECT_SECONDS))))


def _open_duckdb(rest: str) -> Engine:
    path = _existing_file("duckdb", "DuckDB", rest)
    return _connect_or_refuse("duckdb", lambda ibis: ibis.duckdb.connect(path, read_only=True))


def _existing_file(scheme: str, product: str, rest: str) -> str:
    """The path behind a URL: three slashes from here; four from the root."""
    path = unquote(rest.partition("?")[0].removeprefix("/"))
    if not os.path.isfile(path):
        raise QuestionError(
            f"there is no {product} database {path!r}; in a URL such as {scheme}:///shop.{scheme} three slashes begin "
            "a path from here, and four one from the root"
        )
    return path


def _postgres_options(timeout: float) -> dict[str, str | int]:
    """Read only, for so long, and a backslash in a text is a backslash. Every statement says the first two again
    (`dialects.postgres`); these hold for what Ibis asks to learn a table's columns. A server that does not answer when
    it is called, or whose machine has gone without a word, is given up: libpq by itself would wait for it."""
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": str(milliseconds(timeout)),
        "standard_conforming_strings": "on",
    }
    return {
        "options": " ".join(f"-c {name}={value}" for name, value in settings.items()),
        "connect_timeout": _connect_timeout(timeout),
        "tcp_user_timeout": milliseconds(_connect_timeout(timeout)),
        "keepalives_idle": _CONNECT_SECONDS,
        "keepalives_interval": _CONNECT_SECONDS,
    }


def _spark_session(url: str) -> Driver:
    """The running session, or a new one: spark://local for this machine, spark://host:7077 for a cluster's master,
    sc://host for Spark Connect."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("crestline")
    if url.startswith("sc://"):
        return builder.remote(url).getOrCreate()
    return builder.master("local[*]" if url == "spark://local" else url).getOrCreate()


def _connect_or_refuse(scheme: str, connect: Callable[[Ibis], Engine]) -> Engine:
    """Connect; an engine's own words are left out, because they may repeat the password."""
    import ibis

    if scheme not in _known_schemes():
        raise SourceError(f"{scheme}: no such kind of database is known; one of {', '.join(_known_schemes())}")
    try:
        return connect(ibis)
    except ImportError:
        package = _OWN_EXTRAS.get(scheme, f"ibis-framework[{scheme}]")
        problem = f"the driver is missing: pip install '{package}'"
    except Exception as failure:  # a driver may fail in any way, and its words may repeat the password
        problem = next((said for words, said in _REASONS if any(word in str(failure) for word in words)), "")
        problem = problem or f"the connection failed ({type(failure).__name__}): check address, name, password, rights"
    raise SourceError(f"{scheme}: {problem}")


@cache  # to list what is installed takes longer than to connect
def _known_schemes() -> tuple[str, ...]:
    """Every kind of database that a URL can name: those of Ibis, and the names we give to two of them."""
    installed = {backend.name for backend in entry_points(group="ibis.backends")}
    return tuple(sorted({*_OWN_EXTRAS, *installed} - {"pyspark"}))


def _source(table: Expression, connection: Connection, name: str) -> TableSource:
    engine = connection.engine

    def find_named_domain(other: str) -> Expression:
        return find_domain(engine, other)

    return TableSource(table, connection, name=name, lookup=find_named_domain)


def find_domain(engine: Engine, name: str) -> Expression:
    """A domain by name: a table, or a column of one."""
    found = _find_table(engine, name)
    holder, _, last = name.rpartition(".")
    if found is None and holder:
        table = _find_table(engine, holder)
        found = None if table is None else column(table, last).as_table()
    if found is None:
        raise QuestionError(f"there is no table {name!r} for the domain; give table, schema.table or table.column")
    return found


def _find_table(engine: Engine, name: str) -> Expression | None:
    schema, _, last = name.rpartition(".")
    places: list[tuple[str, str | None]] = [(name, None)]
    if schema:
        places.append((last, schema))
    if schema and engine.name == "pyspark":
        del places[0]  # its catalogue takes the whole for schema.name, under which no statement finds a table
    for place in places:
        try:
            return dialect(name_of(engine)).find_table(engine, *place)
        except Exception:  # noqa: S112 -- whatever the engine says, the table is not there under this name
            continue
    return None
