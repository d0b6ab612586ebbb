"""One way in for everything that can be asked: files, frames, database URLs, Ibis tables, ready histograms."""

from __future__ import annotations

import os

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.sources.source import Source

TIMEOUT = 600.0


def open_source(source: object, *, table: str | None = None, timeout: float = TIMEOUT) -> Source:
    """The source behind a path or glob, a database URL (with `table`), an Ibis, pandas, Polars or Arrow table, or a
    ready `Histogram`. Connections are read-only, and a statement is given up after `timeout` seconds.
    """
    if isinstance(source, Histogram):
        from crestline.sources.ready import ReadySource

        return ReadySource(source)
    if isinstance(source, str | os.PathLike):
        return _from_text(os.fspath(source), table, timeout)
    if table is not None:
        raise QuestionError("`table` goes with a database URL; a table in memory is asked as it is")
    library = type(source).__module__.partition(".")[0]
    if library == "ibis":
        from crestline.sources.databases import ibis_source

        return ibis_source(source, timeout)
    if library in ("pandas", "polars", "pyarrow"):
        from crestline.sources.frames import frame_source

        return frame_source(source, library, timeout)
    raise QuestionError(
        "a source is a path or glob (Parquet, CSV, JSON lines), a database URL with `table`, an Ibis, pandas, Polars "
        f"or Arrow table, or a Histogram; not {type(source).__name__}"
    )


def _from_text(text: str | bytes, table: str | None, timeout: float) -> Source:
    from crestline.sources.files.files import file_source, is_remote_file

    if isinstance(text, bytes):
        text = os.fsdecode(text)
    if "://" in text and not is_remote_file(text):
        from crestline.sources.databases import database_source

        return database_source(text, table, timeout)
    if table is not None:
        raise QuestionError("`table` goes with a database URL such as duckdb:///shop.duckdb; a file is one table")
    return file_source(text, timeout)
