"""A table of a lake as a source: every question reads one snapshot, through copies of the columns that it names.

The libraries of such tables return Arrow batches. Each column of a batch is repaired (text that is not UTF-8, moments
out of range) as it is copied to a temporary file, by its type alone: no row decides an error, and none decides how
another is read. DuckDB then counts on the copy, which is used again while the snapshot is the newest. The temporary
file has no name: the operating system removes it with the process, whatever ends it.
"""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Protocol

from crestline.errors import SourceError
from crestline.question import Question
from crestline.sources.engine.connection import DuckDB
from crestline.sources.engine.runner import replace_errors
from crestline.sources.files.open_table import OpenTable, open_parquet
from crestline.sources.files.parquet import replace_unreadable
from crestline.sources.files.s3 import S3
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource, Result, columns_of

if TYPE_CHECKING:
    from pyarrow import RecordBatch, Schema

_KEPT = 4
"""Copies that are kept: questions on one table often name the same few columns."""


class Snapshot(Protocol):
    """One state of a table.

    label    what tells this state from others
    """

    @property
    def label(self) -> str: ...

    def schema(self) -> Schema: ...

    def batches(self, columns: Sequence[str]) -> Iterator[RecordBatch]:
        """All rows, of these columns in this order."""
        ...


@dataclass(frozen=True)
class Lake:
    """A table that has snapshots.

    name      what the source is called
    newest    the snapshot that is asked: the one that the address names, or the newest there is
    pinned    whether the address names one snapshot for good: a label that depends on no row
    store     the way into S3, if one was given
    """

    name: str
    newest: Callable[[], Snapshot]
    pinned: bool = False
    store: S3 | None = None


@dataclass(frozen=True)
class _Copy:
    """The copy of a snapshot, as the location of one Parquet file without a name."""

    name: str
    stream: BinaryIO
    store: S3 | None
    has_types = True

    def files(self) -> list[str]:
        return [self.name]

    def state(self) -> str:
        return ""  # a copy never changes

    def version(self) -> None:
        return None

    def attach(self, engine: DuckDB) -> list[str]:
        from crestline.sources.files.engine_files import register_parts

        return register_parts(engine, self.stream, [self.stream.seek(0, os.SEEK_END)])

    def open_stream(self, file: str) -> BinaryIO:
        return os.fdopen(os.dup(self.stream.fileno()), "rb", buffering=0)  # closed by its reader; the copy stays open


class LakeSource(PerQuestionSource):
    """A table of a lake. What was copied of one snapshot is not used for another."""

    def __init__(self, lake: Lake, timeout: float) -> None:
        self.name = lake.name
        self._lake = lake
        self._timeout = timeout
        self._lock = threading.Lock()
        self._copies: dict[tuple[str, tuple[str, ...]], OpenTable] = {}
        self._empty = self._open_snapshot(self._current_snapshot(), None)

    def version(self) -> str | None:
        """The snapshot where the address names one. That of a table which goes on changing says when rows came."""
        return self._current_snapshot().label if self._lake.pinned else None

    def _table(self, question: Question) -> TableSource:
        """A table of the same columns without a row: whatever is refused is refused by its types alone."""
        snapshot = self._current_snapshot()
        if self._empty.state != snapshot.label:
            self._empty = self._open_snapshot(snapshot, None)
        return self._empty.source

    def _run_on_table(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        return action(self._copy_snapshot(self._current_snapshot(), columns_of(question)).source)

    def _copy_snapshot(self, snapshot: Snapshot, columns: tuple[str, ...]) -> OpenTable:
        with self._lock:
            self._copies = {key: copy for key, copy in self._copies.items() if key[0] == snapshot.label}
            key = (snapshot.label, columns)
            if key not in self._copies:
                found = self._open_snapshot(snapshot, columns)
                self._copies = dict([*self._copies.items(), (key, found)][-_KEPT:])
            return self._copies[key]

    def _open_snapshot(self, snapshot: Snapshot, columns: tuple[str, ...] | None) -> OpenTable:
        advice = f"{self.name} could not be read: it is damaged, or there is no space for temporary files"
        stream = tempfile.TemporaryFile(prefix="crestline-")  # noqa: SIM115 -- open as long as the source
        replace_errors(advice, lambda: _copy_columns(snapshot, columns, stream), SourceError)
        copy = _Copy(self.name, stream, self._lake.store)
        weakref.finalize(copy, stream.close)
        return open_parquet(copy, snapshot.label, self._timeout)

    def _current_snapshot(self) -> Snapshot:
        """The newest, or the one that is named. The libraries' own words are not repeated: they may quote passwords."""
        try:
            return self._lake.newest()
        except ImportError:
            raise
        except Exception as failure:
            kind = type(failure).__name__
        raise SourceError(
            f"{self.name}: the table could not be opened ({kind}): check its name, its version, the catalogue and your "
            "rights to it; in a store, also the endpoint and the credentials"
        )


def _copy_columns(snapshot: Snapshot, columns: tuple[str, ...] | None, target: BinaryIO) -> None:
    """The rows with these columns; or all columns, and no row."""
    import pyarrow
    from pyarrow import parquet

    schema = snapshot.schema()
    names = schema.names if columns is None else [name for name in schema.names if name in columns]
    nothing = replace_unreadable(schema.empty_table().select(names))
    with parquet.ParquetWriter(target, nothing.schema) as writer:
        for batch in () if columns is None else snapshot.batches(names):
            writer.write_table(
                replace_unreadable(pyarrow.Table.from_batches([batch]).select(names)).cast(nothing.schema)
            )
