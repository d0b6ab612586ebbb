"""One table over one state of the files: opened from their schema or header alone, and read when it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from crestline.errors import QuestionError, SourceError
from crestline.sources.engine.connection import Connection, DuckDB
from crestline.sources.engine.engines import Expression, embedded
from crestline.sources.engine.running import Result, refused_as
from crestline.sources.files.formats import Text, text
from crestline.sources.files.lines import Folder, Readable, first_line, opened, readable
from crestline.sources.files.parquet import parquet_table, tidied_parquet
from crestline.sources.files.places import Place, place
from crestline.sources.table import TableSource

Kept = TypeVar("Kept")


class Once(Generic[Kept]):
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
class Opened:
    """A table that can be asked once it is prepared.

    state       the state of the files for which it was opened
    prepare     read what must be read before the first question
    unusable    columns that the files have in types that no type holds exactly, and what to say of them
    scan        the files in which every line is regular, for other tables over the same state
    """

    source: TableSource
    state: str
    prepare: Callable[[], None]
    unusable: dict[str, str] = field(default_factory=dict)
    scan: Once[Readable] | None = None

    def refuse(self, columns: Collection[str]) -> None:
        """Refuse a question on unusable columns."""
        for name in columns:
            if name in self.unusable:
                raise QuestionError(self.unusable[name])


def opened_parquet(
    files: Place, state: str, timeout: float, columns: Sequence[str] | None = None, *, kept: Iterable[Folder] = ()
) -> Opened:
    """Parquet files; with `columns`, a copy of those columns in which every value is in order. The folders `kept` stay
    as long as the source does."""
    engine, there = embedded(), files.files()
    held: list[Any] = [*kept]
    if columns is None:
        files.attach(engine)
    else:
        held.append(_read_through(files.name, partial(tidied_parquet, there, columns, files.opened)))
        there = held[-1].files
    table, unusable = refused_as(_advice(files.name), lambda: parquet_table(engine, there))
    source = _source(files, engine, table, timeout, held)
    return Opened(source, state, lambda: None, unusable)


def opened_text(
    files: Place,
    state: str,
    timeout: float,
    columns: Sequence[str],
    copied: bool = False,
    shared: Once[Readable] | None = None,
) -> Opened:
    """Lines of text as a table of these columns. `shared` is the scan of another table over the same files."""
    import ibis

    path, there = files.name, files.files()
    found = refused_as(_advice(path), lambda: text_files(path, there))
    scan = shared or found.scan(copied)
    engine, name = embedded(), ibis.util.gen_name("lines")
    table = found.kind.table(engine, name, columns)
    prepare = Once(lambda: _read_through(path, lambda: found.kind.view(engine, name, columns, scan())))
    return Opened(_source(files, engine, table, timeout, [scan], untyped=True), state, prepare, scan=scan)


@dataclass(frozen=True)
class TextFiles:
    """Text files of one kind. Those without a single byte have no header, and are legal like every empty table."""

    kind: Text
    files: list[str]

    def scan(self, copied: bool = False) -> Once[Readable]:
        return Once(lambda: readable(self.files, self.kind.rules, copied=copied))


def text_files(path: str, files: Sequence[str]) -> TextFiles:
    filled = [file for file in files if _filled(file)]
    return TextFiles(text(path, filled), filled or list(files))


def _filled(file: str) -> bool:
    with opened(file) as stream:
        return bool(stream.read(1))


def _source(
    files: Place, engine: DuckDB, table: Expression, timeout: float, kept: list[Any], untyped: bool = False
) -> TableSource:
    """`kept` is what must stay as long as the source does: the copies that it reads."""

    def close() -> None:
        engine.disconnect()
        kept.clear()

    return TableSource(
        table,
        Connection(engine, timeout, close),
        name=files.name,
        untyped=untyped,
        embedded=True,
        lookup=lambda other: _domain(engine, place([other], files.store), kept),
    )


def _domain(engine: DuckDB, listed: Place, kept: list[Any]) -> Expression:
    """A public list in a file: all its columns, which in JSON lines are the keys of the first line."""

    def found() -> Expression:
        import ibis

        files = listed.files()
        if listed.typed:
            listed.attach(engine)
            return parquet_table(engine, files)[0]
        there = text_files(listed.name, files)
        columns = there.kind.columns or _keys(there.files[0])
        name, lines = ibis.util.gen_name("domain"), there.scan()()
        kept.append(lines)
        table = there.kind.table(engine, name, columns)
        there.kind.view(engine, name, columns, lines)
        return table

    return refused_as(_advice(listed.name), found)


def _keys(file: str) -> list[str]:
    first: object = None
    with suppress(ValueError):
        first = json.loads(first_line(file))
    if not isinstance(first, dict) or not all(first):
        raise QuestionError(f"{file}: every line must be one JSON object; in a domain the first names the columns")
    return sorted(first)


def _advice(path: str) -> str:
    return f"{path} cannot be read: it is damaged, not of the kind its name says, or not readable by you"


def _read_through(path: str, action: Callable[[], Result]) -> Result:
    """Run; whatever fails, say so without its words."""
    advice = f"{path} could not be read to its end: it is damaged, or there is no space for temporary files"
    return refused_as(advice, action, SourceError)
