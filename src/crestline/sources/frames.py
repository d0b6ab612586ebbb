"""Tables in memory: pandas, Polars and Arrow, asked through an embedded DuckDB without copying them to disk."""

from __future__ import annotations

from typing import Any

from crestline.errors import QuestionError
from crestline.sources.running import refused_as
from crestline.sources.table import TableSource

_KINDS = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}


def frame_source(frame: Any, library: str, timeout: float) -> TableSource:
    """A table in memory as a source. Each column must hold values of one type."""
    kind = type(frame).__name__
    if kind not in _KINDS[library]:
        expected = " or ".join(_KINDS[library])
        raise QuestionError(f"of {library}, a source is a {expected}, not a {kind}")
    import ibis

    advice = "the table could not be read: give every column a name and values of one type"
    table = refused_as(advice, lambda: ibis.memtable(_eager(frame, kind)))
    return TableSource(table, ibis.duckdb.connect(), name=f"{library} {kind}", timeout=timeout)


def _eager(frame: Any, kind: str) -> Any:
    if kind == "LazyFrame":
        return frame.collect()
    if kind == "RecordBatch":
        import pyarrow

        return pyarrow.Table.from_batches([frame])
    return frame
