"""What an engine's error means, from its class and its SQLSTATE alone: its words may quote rows, keys or passwords.

Four things can happen while a statement runs. The time was over. The engine was lost (connection, disk, memory).
The table is no longer what was opened (dropped, other columns, other rights). Everything else is a defect of ours:
what is asked of an engine must not be able to fail on a row.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from crestline.errors import EngineDefect, SourceError, StatementTimeout

_GIVEN_UP = {"InterruptException", "QueryCanceled", "SQLITE_INTERRUPT"}
_LOST = {
    # DuckDB
    "IOException", "HTTPException", "ConnectionException", "OutOfMemoryException", "FatalException",
    # PostgreSQL without a SQLSTATE: the connection broke before the server could answer
    "OperationalError", "InterfaceError",
    # Spark
    "Py4JNetworkError", "Py4JError", "SparkConnectGrpcException", "ConnectionRefusedError", "ConnectionResetError",
    # SQLite
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_NOMEM", "SQLITE_FULL",
    # any of them
    "MemoryError", "TimeoutError", "BrokenPipeError",
}  # fmt: skip
_LOST_STATES = ("08", "40", "53", "57", "58")  # connection, rollback, resources, intervention, system


@dataclass(frozen=True)
class _Numbers:
    """An engine that tells by a number, under a few classes: what its numbers mean."""

    name: str
    given_up: frozenset[int]
    connection_lost: frozenset[int]
    schema_changed: frozenset[int]  # rights, database, table, column, view


_MARIADB = _Numbers(
    "MariaDB",
    given_up=frozenset({1317, 1969, 3024}),  # interrupted, max_statement_time, max_execution_time
    connection_lost=frozenset({
        3, 1021, 1037, 1038, 1041, 1053, 1114, 1152, 1158, 1159, 1160, 1161, 1205, 1213, 2000, 2002, 2003, 2006, 2008,
        2013, 2014, 2055,
    }),
    schema_changed=frozenset({1044, 1049, 1054, 1109, 1142, 1143, 1146, 1356}),
)  # fmt: skip
_CLICKHOUSE = _Numbers(
    "ClickHouse",
    given_up=frozenset({159, 160, 394}),  # the time was over, or would be; cancelled
    # Too many rows or bytes for a limit of the server, too many statements, network, memory, disk.
    connection_lost=frozenset({158, 191, 202, 209, 210, 241, 243, 279, 307, 396, 999}),
    schema_changed=frozenset({16, 47, 60, 81, 218, 497}),
)
_CHANGED = {"CatalogException", "BinderException", "PermissionException"}  # before any row is read
_CHANGED_STATES = ("3D", "3F", "42P01", "42703", "42501")  # catalogue, schema, table, column, right


def translate_failure(failure: Exception, *, late: bool, timeout: float) -> SourceError:
    """The error to raise for an engine's error. `late`: we have interrupted the statement ourselves."""
    kind, state = _failure_class(failure), _sqlstate(failure)
    module = type(failure).__module__
    if module.startswith("MySQLdb"):
        kind, state = _class_by_number(failure, failure.args[0] if failure.args else None, _MARIADB)
    if module.startswith("clickhouse_connect"):
        kind, state = _class_by_number(failure, getattr(failure, "code", None), _CLICKHOUSE)
    if late or kind in _GIVEN_UP:
        return StatementTimeout(f"the engine gave the statement up: it may take {timeout:g} seconds (`timeout`)")
    if state.startswith(_LOST_STATES) or (not state and kind in _LOST):
        return SourceError(f"the engine did not answer ({kind}): it was lost or had no room left; its own log says why")
    if state.startswith(_CHANGED_STATES) or (not state and kind in _CHANGED):
        return SourceError(
            f"the engine refused the statement ({kind}): the table, its columns or your rights to it have changed "
            "since it was opened; open it again"
        )
    return EngineDefect(kind)


def _failure_class(failure: Exception) -> str:
    """The class of an error; SQLite has one class for everything and tells by a name."""
    name = str(getattr(failure, "sqlite_errorname", None) or type(failure).__name__)
    known = next((known for known in _LOST | _GIVEN_UP if known.startswith("SQLITE_") and name.startswith(known)), None)
    return known or name


def _class_by_number(failure: Exception, number: object, engine: _Numbers) -> tuple[str, str]:
    """A class and a SQLSTATE for an error that has a number, as `translate_failure` knows them."""
    if not isinstance(number, int):
        return type(failure).__name__, ""
    kind = f"{engine.name} {number}"
    if number in engine.given_up:
        return "QueryCanceled", ""
    return kind, "08" if number in engine.connection_lost else "42P01" if number in engine.schema_changed else ""


def _sqlstate(failure: Exception) -> str:
    """The SQLSTATE that psycopg and PySpark give; empty where there is none."""
    own: object = getattr(failure, "sqlstate", None)
    if own is None and hasattr(failure, "getSqlState"):
        with suppress(Exception):  # the session may be gone, and with it what it knew
            own = failure.getSqlState()
    return own if isinstance(own, str) else ""
