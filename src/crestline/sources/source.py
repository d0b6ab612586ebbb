"""The protocol of a source: one table behind an engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from crestline.histogram.histogram import Histogram
from crestline.histogram.labels import Label
from crestline.question import Question


class Source(Protocol):
    """One table that can be asked."""

    @property
    def name(self) -> str:
        """How the table is called in answers and in the ledger; never depends on its rows."""
        ...

    def check(self, question: Question) -> None:
        """Refuse a question that cannot be asked (missing column, bad filter) without reading a row."""
        ...

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The top `k_bar + 1` rows of the question, ranked by count and then by label, as a histogram.

        `key` decides which items of a user are kept when `question.contribution` is set; it must be fresh random bytes,
        at least 16 of them (`fresh_key`), drawn without looking at the data.
        """
        ...

    def version(self) -> str | None:
        """A fingerprint of the data's state (for files: what the file system knows), or None when it has none."""
        ...


@runtime_checkable
class Universal(Protocol):
    """A source that can also count over a public universe without holding it in memory (DESIGN D9)."""

    def check_domain(self, question: Question, domain: Any) -> None:
        """Refuse a universe that does not fit the question (no such table, other types) without reading a row."""
        ...

    def multiplicities(self, question: Question, domain: Any, key: bytes = b"") -> Histogram:
        """How many items of the universe have each count."""
        ...

    def names(self, question: Question, domain: Any, picks: Sequence[tuple[int, int]], key: bytes = b"") -> list[Label]:
        """The labels behind `(count, index)` pairs of `multiplicities` with the same key, in their order.

        A pair that is gone, because the table changed in between, comes back as padding.
        """
        ...
