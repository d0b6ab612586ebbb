"""Tables in memory: pandas, Polars and Arrow, asked through an embedded DuckDB without copying them to disk."""

from __future__ import annotations

from typing import Any

from crestline.errors import QuestionError
from crestline.sources.engines import embedded
from crestline.sources.running import refused_as
from crestline.sources.table import TableSource

_KINDS = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}


def frame_source(frame: Any, library: str, timeout: float) -> TableSource:
    """A table in memory as a source. A pandas column of Python objects is read as text."""
    engine, name = embedded(), f"{library} {type(frame).__name__}"
    engine.con.register(name, arrow_table(frame, library))
    return TableSource(engine.table(name), engine, name=name, timeout=timeout, close=engine.disconnect)


def arrow_table(frame: Any, library: str) -> Any:
    """A table in memory as an Arrow table."""
    kind = type(frame).__name__
    if kind not in _KINDS[library]:
        raise QuestionError(f"of {library}, a source is a {' or '.join(_KINDS[library])}, not a {kind}")
    advice = "the table could not be read: give every column a name of its own and one of the usual types"
    return refused_as(advice, lambda: _arrow(frame, library, kind))


def _arrow(frame: Any, library: str, kind: str) -> Any:
    import pyarrow

    if library == "pandas":
        return pyarrow.Table.from_pandas(_without_objects(frame), preserve_index=False)
    if library == "polars":
        return (frame.collect() if kind == "LazyFrame" else frame).to_arrow()
    return pyarrow.Table.from_batches([frame]) if kind == "RecordBatch" else frame


def _without_objects(frame: Any) -> Any:
    """Columns of Python objects as text: guessing a type from the objects would let one row change every label."""
    objects = [name for name, kind in frame.dtypes.items() if str(kind) == "object"]
    return frame.assign(**{name: frame[name].map(str, na_action="ignore").astype("string") for name in objects})
