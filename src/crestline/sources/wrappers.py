"""Sources whose table depends on the question: which columns it names, and what state the data are in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import lru_cache
from typing import Self, TypeVar

from crestline.histogram.histogram import Histogram
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import NO_LIMITS, Limits, Question
from crestline.sources.expression import where
from crestline.sources.expression.column_functions import base_column
from crestline.sources.source import Reading, Source
from crestline.sources.table import TableSource

Result = TypeVar("Result")

_KEPT = 64


class PerQuestionSource(ABC):
    """A source that hands every question to a table that can answer it."""

    @abstractmethod
    def _table(self, question: Question) -> TableSource:
        """The table for a question, which need not be ready to be read."""

    def table_for(self, question: Question) -> TableSource:
        """The table that answers a question; it need not be ready to be read."""
        return self._table(question)

    def run_on_table(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        """What an action makes of the table that answers a question, once it is ready to be read."""
        return self._run_on_table(question, action)

    def _run_on_table(self, question: Question, action: Callable[[TableSource], Result]) -> Result:
        """Read from the table."""
        return action(self._table(question))

    limits = NO_LIMITS

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Refuse what the table cannot answer, from its schema or header alone."""
        self._table(question).check(question, view)

    def ready(self) -> AbstractContextManager[Self]:
        """The table is in this process: there is no connection that could be lost."""
        return nullcontext(self)

    @contextmanager
    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> Iterator[Reading]:
        """What the question reads, in one snapshot; the rows are read before this hands it out."""
        with ExitStack() as held:
            yield self._run_on_table(question, lambda table: held.enter_context(table.reading(question, key, view)))

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram alone, without a public list."""
        return self._run_on_table(question, lambda table: table.top_counts(question, key))

    def version(self) -> str | None:
        return None


class ForwardingSource(ABC):
    """A source that is another one to everybody who does not read: its name, what it allows and what it refuses."""

    @property
    @abstractmethod
    def inner(self) -> Source:
        """The source that speaks for this one."""

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def limits(self) -> Limits:
        return self.inner.limits

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Refuse what the table cannot answer, from what is known of its columns."""
        self.inner.check(question, view)

    def version(self) -> str | None:
        return self.inner.version()


@lru_cache(_KEPT)
def columns_of(question: Question) -> tuple[str, ...]:
    """The columns that a question names."""
    columns = {question.user, *map(base_column, (*question.item, *question.by))}
    if question.where is not None:
        columns |= where.columns(where.parse_filter(question.where))
    if question.score is not None:
        columns.add(question.score.column)
    if question.periods is not None:
        columns.add(question.periods.calendar.time)
    return tuple(sorted(columns))
