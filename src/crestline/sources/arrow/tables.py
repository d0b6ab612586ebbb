"""Tables in memory (pandas, Polars, Arrow) as Arrow tables that an engine can read, whatever their values are."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from crestline.errors import QuestionError
from crestline.sources.engine.runner import replace_errors

if TYPE_CHECKING:
    from pandas import DataFrame
    from polars import DataFrame as PolarsFrame
    from polars import LazyFrame
    from pyarrow import RecordBatch, Table

Frame: TypeAlias = "DataFrame | PolarsFrame | LazyFrame | Table | RecordBatch"

_KINDS = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}
UNREADABLE = "the table could not be read: give every column a name of its own and one of the usual types"


def arrow_table(frame: Frame, library: str) -> Table:
    """A table in memory as an Arrow table. A column of no type, which can hold nothing but null, is text. Moments with
    a zone are in microseconds: DuckDB would make them so while it reads, and fail on one that does not fit."""
    kind = type(frame).__name__
    if kind not in _KINDS[library]:
        raise QuestionError(f"of {library}, a source is a {' or '.join(_KINDS[library])}, not a {kind}")
    return replace_errors(UNREADABLE, lambda: _make_readable(_to_arrow(frame, library, kind)))


def _to_arrow(frame: Frame, library: str, kind: str) -> Table:
    import pyarrow

    if library == "pandas":
        return pyarrow.Table.from_pandas(_objects_as_text(frame), preserve_index=False)
    if library == "polars":
        return (frame.collect() if kind == "LazyFrame" else frame).to_arrow()
    return pyarrow.Table.from_batches([frame]) if kind == "RecordBatch" else frame


def _make_readable(table: Table) -> Table:
    from pyarrow import types

    from crestline.sources.arrow.values import is_utf8, replace_unreadable_values

    for place, column in enumerate(table.schema):
        unreadable = types.is_null(column.type) or (types.is_timestamp(column.type) and column.type.tz)
        if unreadable or not is_utf8(table.column(place)):
            table = table.set_column(place, column.name, replace_unreadable_values(table.column(place)))
    return table


def _objects_as_text(frame: DataFrame) -> DataFrame:
    """Columns of Python objects as text: guessing a type from the objects would let one row change every label."""
    objects = [name for name, kind in frame.dtypes.items() if _holds_objects(kind)]
    texts = {name: frame[name].astype(object).map(_text, na_action="ignore").astype("string") for name in objects}
    return frame.assign(**texts)


def _holds_objects(kind: object) -> bool:
    """Whether a pandas column holds Python objects, by themselves, as text or as categories."""
    categories = getattr(kind, "categories", None)
    if categories is not None:
        return _holds_objects(getattr(categories, "dtype", None))
    return str(kind) == "object" or getattr(kind, "storage", None) == "python"


def _text(value: object) -> str | None:
    """A value as text; half a letter is replaced, and what has no text is null."""
    try:
        return str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    except Exception:  # a value may fail in any way, and no refusal may depend on one
        return None
