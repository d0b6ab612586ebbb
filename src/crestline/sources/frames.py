"""Tables in memory (pandas, Polars, Arrow), asked through an embedded DuckDB without copying them to disk; and what a
DuckDB of yours holds."""

from __future__ import annotations

from crestline.errors import QuestionError
from crestline.sources.arrow.tables import UNREADABLE, Frame, arrow_table
from crestline.sources.empty_source import EmptySource
from crestline.sources.engine.connection import Connection, Driver
from crestline.sources.engine.engine_functions import Expression, embedded_duckdb
from crestline.sources.engine.runner import replace_errors
from crestline.sources.source import SlotSource
from crestline.sources.table import TableSource


def frame_source(frame: Frame, library: str, timeout: float) -> SlotSource:
    """A table in memory as a source. A pandas column of Python objects is read as text."""
    name, table = f"{library} {type(frame).__name__}", arrow_table(frame, library)
    if not table.num_columns:
        return EmptySource(name, timeout)
    engine = embedded_duckdb()

    def register_frame() -> Expression:
        engine.con.register(name, table)
        return engine.table(name)

    return TableSource(
        replace_errors(UNREADABLE, register_frame), Connection(engine, timeout, engine.disconnect), name=name
    )


def duckdb_source(given: object, table: str | None, timeout: float) -> SlotSource:
    """A DuckDB connection with the name of a table, on which nothing is changed and which stays open; or a relation,
    which is computed once, when it is given."""
    if type(given).__name__ == "DuckDBPyConnection":
        from crestline.sources.databases import connection_source

        return connection_source(given, table, timeout)
    if type(given).__name__ != "DuckDBPyRelation":
        raise QuestionError(f"of DuckDB, a source is a connection or a relation, not a {type(given).__name__}")
    if table is not None:
        raise QuestionError("`table` goes with a DuckDB connection; a relation is one table")
    relation: Driver = given
    computed = replace_errors(
        "the relation could not be computed; a view or a query must not fail on a row", relation.to_arrow_table
    )
    return frame_source(computed, "pyarrow", timeout)
