"""Files and globs as tables, read by an embedded DuckDB and opened again whenever they have changed.

There are two ways to read, with one meaning. The fast way gives the files to DuckDB as they are, which fails on some
values. The careful way (`repair` of Parquet, copies of lines) has no value on which it fails, and is taken when the
fast way has failed, when the files changed meanwhile, and for questions whose filter could be answered from a file's
statistics without the values: statistics are those of the values before their repair. It is also taken for columns
whose statistics are of another order than the engine's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from crestline.errors import EngineDefect, SourceError
from crestline.question import Question
from crestline.sources.expression import where
from crestline.sources.files.locations import FileLocation, file_location
from crestline.sources.files.open_table import OpenTable, open_parquet, open_text
from crestline.sources.files.s3 import S3
from crestline.sources.source import SlotSource
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource, Result, columns_of

_KEPT = 8
"""Sets of columns whose tables are kept open: questions on one file often name the same few."""

_careful_readers = 0


@contextmanager
def read_carefully() -> Iterator[None]:
    """Read all files of this process the careful way, for tests and audits: answers must be the same."""
    global _careful_readers
    _careful_readers += 1
    try:
        yield
    finally:
        _careful_readers -= 1


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

    @property
    def has_types(self) -> bool:
        """Whether the files have a schema; CSV and JSON lines have none."""
        return self._typed

    def version(self) -> str | None:
        return self._place.version()

    def _run_on_table(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        """Ask the fast way, then the careful way where the fast one failed or the files changed meanwhile.

        The fast way may fail on a row, the careful way may not. So no failure depends on rows.
        """
        table = self._open_for_question(question)
        blind = self._typed and (
            _is_answered_by_statistics(question, table.repaired)
            or not table.disordered.isdisjoint(columns_of(question))
        )
        if not (_careful_readers or blind):
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
        careful = self._open_columns(() if self._typed else columns_of(question), careful=True)
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
            return open_parquet(self._place, state, self._timeout, repair=careful)
        scans = [table.scan for (_, way), table in self._tables.items() if way == careful]
        return open_text(self._place, state, self._timeout, columns, careful, next(iter(scans), None))


def _is_answered_by_statistics(question: Question, repaired: frozenset[str]) -> bool:
    """Whether a filter could select other rows by the values before their repair than by those after it.

    Text before and after its repair compares alike with every text of ASCII: both are the same up to the first byte
    that is changed, and there both are greater. Other columns may be null after their repair alone.
    """
    filtered = set[str]()
    if question.where is not None:
        filtered |= where.columns(where.parse_filter(question.where))
    if question.periods is not None:
        filtered.add(question.periods.calendar.time)
    lists = _may_hold_repaired_text(question.domain) or _may_hold_repaired_text(question.groups)
    return lists or not (question.where or "").isascii() or not repaired.isdisjoint(filtered)


def _may_hold_repaired_text(public: object) -> bool:
    """Whether a public list may name a text that was repaired."""
    if isinstance(public, list | tuple | set | frozenset):
        return any("\N{REPLACEMENT CHARACTER}" in str(label) for label in public)
    return public is not None
