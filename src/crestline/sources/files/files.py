"""Files and globs through an embedded DuckDB, looked at anew whenever they have changed."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import threading
from collections.abc import Callable

from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.question import Question
from crestline.sources.delegated import Delegated, Result, columns_of
from crestline.sources.files.formats import is_parquet
from crestline.sources.files.opened import Opened, opened_parquet, opened_text
from crestline.sources.source import Source
from crestline.sources.table import TableSource

_REMOTE = ("s3://", "gs://", "gcs://", "r2://", "az://", "abfss://", "hf://", "http://", "https://")
_KEPT = 8
"""Sets of columns whose tables are kept open: questions on one file often name the same few."""


def is_remote_file(text: str) -> bool:
    """Whether DuckDB would fetch this address as a file."""
    return text.startswith(_REMOTE)


def file_source(path: str, timeout: float) -> Source:
    """A path or glob as a source."""
    if is_remote_file(path) and not is_parquet(path):
        raise QuestionError(f"{path}: only Parquet is read from afar; fetch the file first, or convert it")
    return FileSource(path, timeout)


class FileSource(Delegated):
    """The table behind a path or glob. What is opened for one state of the files is not used for another."""

    def __init__(self, path: str, timeout: float) -> None:
        self.name = path
        self._timeout = timeout
        self._typed = is_parquet(path)
        self._tables: dict[tuple[tuple[str, ...], bool], Opened] = {}
        self._lock = threading.Lock()
        if self._typed:
            self._opened(())  # a damaged file is refused now
        else:
            self._files()

    def version(self) -> str | None:
        return None if is_remote_file(self.name) else fingerprint(self.name)

    def _asked(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        """Ask the fast way; the careful way where that failed, or where the files changed meanwhile.

        The fast way may fail because of a row, the careful way may not: it works on a copy of which every row is in
        order. So no failure tells anything of the rows.
        """
        table = self._for(question)
        try:
            table.prepare()
            result = action(table.source)
        except SourceError as failure:
            row = isinstance(failure, EngineDefect)  # and not an engine that was late or lost
            if is_remote_file(self.name) or not (row or self._state() != table.state):
                raise
        else:
            if self._state() == table.state:
                return result
        careful = self._opened(columns_of(question), careful=True)
        careful.prepare()
        return action(careful.source)

    def _table(self, question: Question) -> TableSource:
        return self._for(question).source

    def _for(self, question: Question) -> Opened:
        columns = columns_of(question)
        found = self._opened(() if self._typed else columns)
        found.refuse(columns)
        return found

    def _opened(self, columns: tuple[str, ...], careful: bool = False) -> Opened:
        """The table with these columns (or all that there are, in Parquet) in the present state of the files."""
        state = self._state()
        with self._lock:
            self._tables = {key: table for key, table in self._tables.items() if table.state == state}
            key = (columns, careful)
            if key not in self._tables:
                found = self._open(columns, careful, state)
                self._tables = dict([*self._tables.items(), (key, found)][-_KEPT:])
            return self._tables[key]

    def _open(self, columns: tuple[str, ...], careful: bool, state: str) -> Opened:
        files = self._files()
        if self._typed:
            return opened_parquet(self.name, files, state, self._timeout, columns if careful else None)
        scans = [table.scan for (_, way), table in self._tables.items() if way == careful]
        return opened_text(self.name, files, state, self._timeout, columns, careful, next(iter(scans), None))

    def _state(self) -> str:
        return "" if is_remote_file(self.name) else _state(self.name)

    def _files(self) -> list[str]:
        return [self.name] if is_remote_file(self.name) else matches(self.name)


def fingerprint(path: str) -> str:
    """What the file system knows of the files behind a path or glob: names, sizes, times of change."""
    return _hashed(path, lambda status: [status.st_size, status.st_mtime_ns])


def _state(path: str) -> str:
    """The same, and what cannot be set by hand: a file that was put in the place of another is seen in any case."""
    return _hashed(path, lambda status: [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino])


def _hashed(path: str, known: Callable[[os.stat_result], list[int]]) -> str:
    state = hashlib.sha256()
    for file in matches(path):
        state.update(json.dumps([os.path.abspath(file), *known(os.stat(file))]).encode())
    return state.hexdigest()


def matches(path: str) -> list[str]:
    """The files behind a path or glob, in the order of their names."""
    if os.path.isfile(path):
        return [path]
    files = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
    if files:
        return files
    if os.path.isdir(path):
        raise QuestionError(f"{path} is a directory; give a glob such as {os.path.join(path, '*.parquet')}")
    what = "no file matches" if glob.has_magic(path) else "there is no file"
    raise QuestionError(f"{what} {path}")
