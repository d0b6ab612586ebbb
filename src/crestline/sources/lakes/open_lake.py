"""Addresses of tables in lakes: a folder that is a Delta table, `delta:` before an address, `iceberg://catalogue`.

`@v12` at the end names one version (of Delta) or snapshot (of Iceberg) for good.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

from crestline.errors import QuestionError, SourceError
from crestline.sources.files.s3 import S3
from crestline.sources.lakes.delta import delta_lake_at, delta_lake_of
from crestline.sources.lakes.iceberg import iceberg_lake_named, iceberg_lake_of
from crestline.sources.lakes.lake import LakeSource

DELTA, ICEBERG = "delta:", "iceberg://"
_VERSION = re.compile(r"(.+)@v(\d+)")


def open_lake_address(text: str, table: str | None, timeout: float, store: S3 | None = None) -> LakeSource | None:
    """The table of a lake that a text names, whose files are reached as `store` says; None where it names none."""
    if text.startswith(ICEBERG):
        return _open_iceberg(text.removeprefix(ICEBERG), table, timeout, store)
    explicit = text.startswith(DELTA)
    path, version = _split_version(text.removeprefix(DELTA))
    if "://" not in path:
        path = os.path.expanduser(path)
    if not explicit and not os.path.isdir(os.path.join(path, "_delta_log")):
        return None
    if table is not None:
        raise QuestionError("`table` goes with a database or a catalogue; a Delta table is one table")
    return _open_or_name_extra(lambda: LakeSource(delta_lake_at(text, path, version, store), timeout), "delta")


def open_lake_table(given: object, library: str, timeout: float) -> LakeSource:
    """A table that deltalake or pyiceberg has opened."""
    kind = type(given).__name__
    if kind not in ("DeltaTable", "Table", "StaticTable"):
        raise QuestionError(f"of {library}, a source is a table, not a {kind}")
    lake = delta_lake_of(given) if library == "deltalake" else iceberg_lake_of(given)
    return LakeSource(lake, timeout)


def _open_iceberg(catalogue: str, table: str | None, timeout: float, store: S3 | None) -> LakeSource:
    if not table:
        raise QuestionError(
            "an Iceberg catalogue needs `table`: namespace.table, and @v with the number of a snapshot if you want it"
        )
    name, snapshot = _split_version(table)
    named = iceberg_lake_named(catalogue or "default", name, snapshot, store)
    return _open_or_name_extra(lambda: LakeSource(named, timeout), "iceberg")


def _open_or_name_extra(open_lake: Callable[[], LakeSource], extra: str) -> LakeSource:
    try:
        return open_lake()
    except ImportError:
        pass
    raise SourceError(f"{extra}: the driver is missing: pip install 'crestline[{extra}]'")


def _split_version(text: str) -> tuple[str, int | None]:
    found = _VERSION.fullmatch(text)
    return (found[1], int(found[2])) if found else (text, None)
