"""TableSource: any table Ibis can reach, asked through one expression (DESIGN D1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.question import Question
from crestline.sources.counting import counts, items_of, pairs, ranked
from crestline.sources.engines import Expression
from crestline.sources.running import Runner


class TableSource:
    """One Ibis table on one engine."""

    def __init__(
        self,
        table: Expression,
        engine: Any,
        *,
        name: str,
        timeout: float,
        version: Callable[[], str] | None = None,
    ) -> None:
        self.name = name
        self._table = table
        self._runner = Runner(engine, timeout)
        self._version = version

    def check(self, question: Question) -> None:
        """Build the expression and throw it away: every refusal there is happens here, and no row is read."""
        self.expression(question)

    def expression(self, question: Question, key: bytes = b"") -> Expression:
        """The question as one Ibis expression of at most `k_bar + 1` rows."""
        engine = self._runner.name
        items = items_of(self._table, question, engine)
        kept = pairs(self._table, question, items, engine)
        return ranked(counts(kept, items), items, question.k_bar + 1)

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """Run the expression; the engine counts, and `k_bar + 1` rows come back."""
        items = items_of(self._table, question, self._runner.name)
        rows = self._runner.rows(self.expression(question, key))
        return Histogram.from_ranked([(items.label(row[:-1]), row[-1]) for row in rows], question.k_bar)

    def version(self) -> str | None:
        return None if self._version is None else self._version()


def ibis_source(table: Any, timeout: float) -> TableSource:
    """An Ibis table or table expression as a source, on the engine it is bound to."""
    from ibis.expr.types import Table

    if not isinstance(table, Table):
        raise QuestionError(f"of Ibis, a source is a table, not a {type(table).__name__}")
    name = table.get_name() if table.op().__class__.__name__ == "DatabaseTable" else "Ibis table"
    return TableSource(table, table.get_backend(), name=name, timeout=timeout)
