"""Files and globs through an embedded DuckDB, looked at anew whenever they have changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from crestline.errors import EngineDefect, SourceError
from crestline.question import Question
from crestline.sources.files.locations import FileLocation, file_location
from crestline.sources.files.open_table import OpenTable, open_parquet, open_text
from crestline.sources.files.s3 import S3
from crestline.sources.source import SlotSource
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource, Result, columns_of

_KEPT = 8
"""Sets of columns whose tables are kept open: questions on one file often name the same few."""


def file_source(paths: Sequence[str], timeout: float, store: S3 | None = None) -> SlotSource:
    """Paths, globs, folders or addresses that are one table, as a source."""
    return FileSource(file_location(paths, store), timeout)


class FileSource(PerQuestionSource):
    """The table behind a place. What is opened for one state of the files is not used for another."""

    def __init__(self, files: FileLocation, timeout: float) -> None:
        self.name = files.name
        self._place = files
        self._timeout = timeout
        self._typed = files.has_types
        self._tables: dict[tuple[tuple[str, ...], bool], OpenTable] = {}
        self._lock = threading.Lock()
        if self._typed:
            self._open_columns(())  # a damaged file is refused now
        else:
            files.files()

    def version(self) -> str | None:
        return self._place.version()

    def _run_on_table(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        """Ask the fast way; the careful way where that failed, or where the files changed meanwhile.

        The fast way may fail because of a row, the careful way may not: it works on a copy of which every row is in
        order. So no failure tells anything of the rows.
        """
        table = self._open_for_question(question)
        try:
            table.prepare()
            result = action(table.source)
        except SourceError as failure:
            row = isinstance(failure, EngineDefect)  # and not an engine that was late or lost
            if not (row or self._place.state() != table.state):
                raise
        else:
            if self._place.state() == table.state:
                return result
        careful = self._open_columns(columns_of(question), careful=True)
        careful.prepare()
        return action(careful.source)

    def _table(self, question: Question) -> TableSource:
        return self._open_for_question(question).source

    def _open_for_question(self, question: Question) -> OpenTable:
        columns = columns_of(question)
        found = self._open_columns(() if self._typed else columns)
        found.refuse_unusable(columns)
        return found

    def _open_columns(self, columns: tuple[str, ...], careful: bool = False) -> OpenTable:
        """The table with these columns (or all that there are, in Parquet) in the present state of the files."""
        state = self._place.state()
        with self._lock:
            self._tables = {key: table for key, table in self._tables.items() if table.state == state}
            key = (columns, careful)
            if key not in self._tables:
                found = self._open(columns, careful, state)
                self._tables = dict([*self._tables.items(), (key, found)][-_KEPT:])
            return self._tables[key]

    def _open(self, columns: tuple[str, ...], careful: bool, state: str) -> OpenTable:
        if self._typed:
            return open_parquet(self._place, state, self._timeout, columns if careful else None)
        scans = [table.scan for (_, way), table in self._tables.items() if way == careful]
        return open_text(self._place, state, self._timeout, columns, careful, next(iter(scans), None))
