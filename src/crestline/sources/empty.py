"""A CSV or JSON lines file without a single line: it has no columns yet, and is legal like every empty table.

Refusing it would tell that nobody is in it. So it is asked like a table that has the columns of the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crestline.histogram.histogram import Histogram
from crestline.question import Question
from crestline.sources import where
from crestline.sources.domain import Domain
from crestline.sources.engines import embedded
from crestline.sources.score import score_column
from crestline.sources.source import Reading
from crestline.sources.table import TableSource


class EmptySource:
    """Every column exists, and no row does."""

    def __init__(self, name: str, timeout: float, version: Callable[[], str] | None = None) -> None:
        self.name = name
        self._timeout = timeout
        self._version = version

    def check(self, question: Question, domain: Domain | None = None) -> None:
        """Refuse what no file could answer."""
        self._table(question).check(question, domain)

    @contextmanager
    def reading(self, question: Question, key: bytes = b"", domain: Domain | None = None) -> Iterator[Reading]:
        """A histogram of padding; over a public list every item has count zero."""
        with self._table(question).reading(question, key, domain) as reading:
            yield reading

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram alone."""
        return self._table(question).top_counts(question, key)

    def version(self) -> str | None:
        return None if self._version is None else self._version()

    def _table(self, question: Question) -> TableSource:
        import pyarrow

        columns = {question.user, *question.item}
        if question.where is not None:
            columns |= where.columns(where.parse(question.where))
        if question.score is not None:
            columns.add(score_column(question.score))
        nothing: Any = pyarrow.array([], pyarrow.string())
        engine = embedded()
        engine.con.register("nothing", pyarrow.table(dict.fromkeys(sorted(columns), nothing)))
        return TableSource(
            engine.table("nothing"),
            engine,
            name=self.name,
            timeout=self._timeout,
            untyped=True,
            embedded=True,
            close=engine.disconnect,
        )
