"""One table over one state of the files: opened from their schema or header alone, and read when it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from crestline.errors import QuestionError, SourceError
from crestline.sources.engine.connection import Connection, DuckDB
from crestline.sources.engine.engine_functions import Expression, embedded_duckdb
from crestline.sources.engine.runner import Result, replace_errors
from crestline.sources.files.formats import TextFormat, text
from crestline.sources.files.lines import ReadableFiles, first_line, make_readable, open_unpacked
from crestline.sources.files.locations import FileLocation, file_location
from crestline.sources.files.parquet import find_repaired_columns, find_wrongly_ordered_columns, parquet_table
from crestline.sources.table import TableSource

Kept = TypeVar("Kept")


class OnceLocked(Generic[Kept]):
    """A step that is taken when it is first needed, by one thread, and whose result is kept."""

    def __init__(self, step: Callable[[], Kept]) -> None:
        self._step = step
        self._lock = threading.Lock()
        self._result: list[Kept] = []

    def __call__(self) -> Kept:
        with self._lock:
            if not self._result:
                self._result.append(self._step())
            return self._result[0]


@dataclass(frozen=True)
class OpenTable:
    """A table that can be asked once it is prepared.

    source      the table
    state       the state of the files for which it was opened
    prepare     read what must be read before the first question
    unusable    columns whose types have no common type, each with the message of its refusal
    repaired    columns, other than text, of which a repair may make values null
    disordered  columns whose statistics may be of another order than the engine's
    scan        the files in which every line is regular, for other tables over the same state
    """

    source: TableSource
    state: str
    prepare: Callable[[], None]
    unusable: dict[str, str] = field(default_factory=dict)
    repaired: frozenset[str] = frozenset()
    disordered: frozenset[str] = frozenset()
    scan: OnceLocked[ReadableFiles] | None = None

    def refuse_unusable(self, columns: Collection[str]) -> None:
        """Refuse a question on unusable columns."""
        for name in columns:
            if name in self.unusable:
                raise QuestionError(self.unusable[name])


def open_parquet(files: FileLocation, state: str, timeout: float, *, repair: bool = False) -> OpenTable:
    """Parquet files; with `repair`, every value is repaired, and no row can make the engine fail."""
    engine = embedded_duckdb()
    there = files.attach(engine)
    table, unusable = replace_errors(
        _unreadable_message(files.name),
        lambda: parquet_table(engine, there, files.open_stream if repair else None),
    )
    repaired = replace_errors(_unreadable_message(files.name), lambda: find_repaired_columns(engine, there))
    disordered = replace_errors(
        _unreadable_message(files.name),
        lambda: find_wrongly_ordered_columns(engine, files.files(), files.open_stream),
    )
    return OpenTable(_source(files, engine, table, timeout, []), state, lambda: None, unusable, repaired, disordered)


def open_text(
    files: FileLocation,
    state: str,
    timeout: float,
    columns: Sequence[str],
    copied: bool = False,
    shared: OnceLocked[ReadableFiles] | None = None,
) -> OpenTable:
    """Lines of text as a table of these columns. `shared` is the scan of another table over the same files."""
    import ibis

    path, there = files.name, files.files()
    found = replace_errors(_unreadable_message(path), lambda: find_text_files(path, there))
    scan = shared or found.lazy_scan(copied)
    engine, name = embedded_duckdb(), ibis.util.gen_name("lines")
    table = found.kind.table(engine, name, columns)
    prepare = OnceLocked(lambda: _read_through(path, lambda: found.kind.view(engine, name, columns, scan())))
    return OpenTable(_source(files, engine, table, timeout, [scan], untyped=True), state, prepare, scan=scan)


@dataclass(frozen=True)
class TextFiles:
    """Text files of one kind. Those without a single byte have no header, and are legal like every empty table."""

    kind: TextFormat
    files: list[str]

    def lazy_scan(self, copied: bool = False) -> OnceLocked[ReadableFiles]:
        return OnceLocked(lambda: make_readable(self.files, self.kind.rules, copied=copied))


def find_text_files(path: str, files: Sequence[str]) -> TextFiles:
    filled = [file for file in files if _has_bytes(file)]
    return TextFiles(text(path, filled), filled or list(files))


def _has_bytes(file: str) -> bool:
    with open_unpacked(file) as stream:
        return bool(stream.read(1))


def _source(
    files: FileLocation, engine: DuckDB, table: Expression, timeout: float, copies: list[Any], untyped: bool = False
) -> TableSource:
    """`copies` is what must stay as long as the source does."""

    def close() -> None:
        engine.disconnect()
        copies.clear()

    return TableSource(
        table,
        Connection(engine, timeout, close),
        name=files.name,
        untyped=untyped,
        embedded=True,
        lookup=lambda other: _open_domain(engine, file_location([other], files.store), copies),
    )


def _open_domain(engine: DuckDB, listed: FileLocation, copies: list[Any]) -> Expression:
    """A public list in a file: all its columns, which in JSON lines are the keys of the first line."""

    def find_table() -> Expression:
        import ibis

        if listed.has_types:
            return parquet_table(engine, listed.attach(engine))[0]
        there = find_text_files(listed.name, listed.files())
        columns = there.kind.columns or _json_keys(there.files[0])
        name, lines = ibis.util.gen_name("domain"), there.lazy_scan()()
        copies.append(lines)
        table = there.kind.table(engine, name, columns)
        there.kind.view(engine, name, columns, lines)
        return table

    return replace_errors(_unreadable_message(listed.name), find_table)


def _json_keys(file: str) -> list[str]:
    first: object = None
    with suppress(ValueError):
        first = json.loads(first_line(file))
    if not isinstance(first, dict) or not all(first):
        raise QuestionError(f"{file}: every line must be one JSON object; in a domain the first names the columns")
    return sorted(first)


def _unreadable_message(path: str) -> str:
    return f"{path} cannot be read: it is damaged, not of the kind its name says, or not readable by you"


def _read_through(path: str, action: Callable[[], Result]) -> Result:
    """Run; whatever fails, say so without its words."""
    advice = f"{path} could not be read to its end: it is damaged, or there is no space for temporary files"
    return replace_errors(advice, action, SourceError)
