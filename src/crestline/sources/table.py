"""TableSource: any table Ibis can reach, asked through one expression (DESIGN D1)."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.labels import Label, Padding
from crestline.question import Question
from crestline.sources.counting import Counting
from crestline.sources.domain import Domain, DomainCounting, Lookup, domain_counting
from crestline.sources.engines import EMBEDDED, Expression
from crestline.sources.running import Runner

_KEPT = 32
"""Questions whose expressions are kept: one is checked, then asked, and often asked again; building takes 10 ms."""


class TableSource:
    """One Ibis table on one engine.

    untyped    its columns are text that may hold numbers (CSV, JSON lines)
    embedded   its text is UTF-8 for sure and compared by its bytes: files in a DuckDB of our own
    """

    def __init__(
        self,
        table: Expression,
        engine: Any,
        *,
        name: str,
        timeout: float,
        untyped: bool = False,
        embedded: bool = False,
        lookup: Lookup | None = None,
        version: Callable[[], str] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self._runner = Runner(engine, timeout)
        dialect = EMBEDDED if embedded else self._runner.name
        self._counting = lru_cache(_KEPT)(lambda question: Counting(table, question, dialect, untyped))
        self._lookup = lookup or _no_lookup
        self._version = version
        if close is not None:
            weakref.finalize(self, close)  # the connection was opened for this source, and ends with it

    def check(self, question: Question) -> None:
        """Build the expression and throw it away: every refusal there is happens here, and no row is read."""
        self.expression(question, bytes(32))

    def expression(self, question: Question, key: bytes = b"") -> Expression:
        """The question as one Ibis expression of at most `k_bar + 1` rows."""
        return self._counting(question).top(key)

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """Run the expression; the engine counts, and `k_bar + 1` rows come back."""
        counting = self._counting(question)
        items = counting.items
        rows = self._runner.rows(counting.top(key))
        labelled = [(items.label(row[:-1]), row[-1]) for row in rows]
        return Histogram.from_ranked(labelled, question.k_bar, step=counting.step)

    def check_domain(self, question: Question, domain: Domain) -> None:
        """Build the expression over the domain and throw it away."""
        self._over(question, domain).multiplicities(bytes(32))

    def multiplicities(self, question: Question, domain: Domain, key: bytes = b"") -> Histogram:
        """How many items of a public universe have each count; its items are `(count, index)` pairs for `names`."""
        over = self._over(question, domain)
        rows = self._runner.rows(over.multiplicities(key))
        return Histogram.from_multiplicities(dict(rows), step=over.counting.step)

    def names(
        self, question: Question, domain: Domain, picks: Sequence[tuple[int, int]], key: bytes = b""
    ) -> list[Label]:
        """The labels of `(count, index)` pairs, in their order, with the key of `multiplicities`.

        A pair that is no longer there, because the table changed in between, comes back as padding.
        """
        over = self._over(question, domain)
        rows = self._runner.rows(over.names(picks, key))
        found = {(count, index): over.items.label(values) for count, index, *values in rows}
        return [found.get((int(count), int(index)), Padding(0)) for count, index in picks]

    def version(self) -> str | None:
        return None if self._version is None else self._version()

    def _over(self, question: Question, domain: Domain) -> DomainCounting:
        return domain_counting(self._counting(question), domain, self._lookup)


def _no_lookup(name: str) -> Expression:
    raise QuestionError("name a domain by text only where the source is a database URL or a file; give the items")
