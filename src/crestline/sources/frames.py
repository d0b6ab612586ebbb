"""Tables in memory: pandas, Polars and Arrow, asked through an embedded DuckDB without copying them to disk."""

from __future__ import annotations

from crestline.sources.arrow.tables import UNREADABLE, Frame, arrow_table
from crestline.sources.empty import EmptySource
from crestline.sources.engine.connection import Connection
from crestline.sources.engine.engines import Expression, embedded
from crestline.sources.engine.running import refused_as
from crestline.sources.source import Source
from crestline.sources.table import TableSource


def frame_source(frame: Frame, library: str, timeout: float) -> Source:
    """A table in memory as a source. A pandas column of Python objects is read as text."""
    name, table = f"{library} {type(frame).__name__}", arrow_table(frame, library)
    if not table.num_columns:
        return EmptySource(name, timeout)
    engine = embedded()

    def registered() -> Expression:
        engine.con.register(name, table)
        return engine.table(name)

    return TableSource(refused_as(UNREADABLE, registered), Connection(engine, timeout, engine.disconnect), name=name)
