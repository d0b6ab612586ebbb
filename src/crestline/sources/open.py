"""One way in for everything that can be asked: files, databases, lakes, tables in memory, ready histograms."""

from __future__ import annotations

import os
from urllib.parse import quote

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.sources.files.s3 import S3
from crestline.sources.source import SlotSource

TIMEOUT = 600.0

_DATABASES = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite"}
_LAKES = ("deltalake", "pyiceberg")


def open_source(source: object, *, table: str | None = None, timeout: float = TIMEOUT) -> SlotSource:
    """The source behind a path, glob, folder or list of them, an address from afar (in `S3` with its credentials), a
    database (a URL, a DuckDB or SQLite file, a DuckDB connection; with `table`), a Delta or Iceberg table, an Ibis,
    pandas, Polars or Arrow table, or a ready `Histogram`. Connections are read-only, and a statement is given up after
    `timeout` seconds.
    """
    if isinstance(source, Histogram):
        from crestline.sources.histogram_source import ReadySource

        return ReadySource(source)
    store = source if isinstance(source, S3) else None
    source = source.address if isinstance(source, S3) else source
    if isinstance(source, str | os.PathLike):
        return _from_text(os.fsdecode(source), table, timeout, store)
    library = type(source).__module__.partition(".")[0]
    if library in ("duckdb", "_duckdb"):
        from crestline.sources.frames import duckdb_source

        return duckdb_source(source, table, timeout)
    if table is not None:
        raise QuestionError("`table` goes with a database; a list of files or a table in memory is asked as it is")
    if isinstance(source, list | tuple) and all(isinstance(path, str | os.PathLike) for path in source):
        from crestline.sources.files.files import file_source

        return file_source([os.fsdecode(path) for path in source], timeout, store)
    return _from_library(source, library, timeout)


def needs_table(source: object) -> bool:
    """Whether a source is a database, of which one table is asked."""
    source = source.address if isinstance(source, S3) else source
    if not isinstance(source, str | os.PathLike):
        return type(source).__name__ == "DuckDBPyConnection"
    from crestline.sources.files.remote import is_remote_file
    from crestline.sources.lakes.open_lake import DELTA

    text = os.fsdecode(source)
    return ("://" in text and not is_remote_file(text) and not text.startswith(DELTA)) or _database_kind(
        text
    ) is not None


def _from_library(source: object, library: str, timeout: float) -> SlotSource:
    if library == "ibis":
        from crestline.sources.databases import ibis_source

        return ibis_source(source, timeout)
    if library in ("pandas", "polars", "pyarrow"):
        from crestline.sources.frames import frame_source

        return frame_source(source, library, timeout)
    if library in _LAKES:
        from crestline.sources.lakes.open_lake import open_lake_table

        return open_lake_table(source, library, timeout)
    raise QuestionError(
        "a source is a path, glob, folder or list of files (Parquet, CSV, JSON lines), a database with `table`, a "
        "Delta or Iceberg table, an Ibis, pandas, Polars or Arrow table, or a Histogram; not "
        f"{type(source).__name__}"
    )


def _from_text(text: str, table: str | None, timeout: float, store: S3 | None) -> SlotSource:
    from crestline.sources.files.files import file_source
    from crestline.sources.lakes.open_lake import open_lake_address

    database = _database_url(text)
    if database is not None:
        from crestline.sources.databases import database_source

        return database_source(database, table, timeout)
    lake = open_lake_address(text, table, timeout, store)
    if lake is not None:
        return lake
    if table is not None:
        raise QuestionError(
            "`table` goes with a database such as shop.duckdb or postgresql://host/shop; a file is one table"
        )
    return file_source([text], timeout, store)


def _database_url(text: str) -> str | None:
    """The URL of a database: the text itself, or one for the file of a DuckDB or SQLite that it names."""
    from crestline.sources.files.remote import is_remote_file
    from crestline.sources.lakes.open_lake import DELTA, ICEBERG

    if "://" in text:
        return None if is_remote_file(text) or text.startswith((DELTA, ICEBERG)) else text
    kind = _database_kind(text)
    return None if kind is None else f"{kind}:///{quote(os.path.expanduser(text))}"


def _database_kind(path: str) -> str | None:
    return next((kind for ending, kind in _DATABASES.items() if path.lower().endswith(ending)), None)
