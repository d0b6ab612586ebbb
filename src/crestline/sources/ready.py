"""A ready histogram as a source: whoever made it did the counting."""

from __future__ import annotations

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.question import Question


class ReadySource:
    """Hands out the histogram it was given, cut to the question's `k_bar`.

    The caller must have counted distinct users, and enforced `contribution` when the question states one.
    """

    name = "histogram"

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram

    @property
    def most_slots(self) -> int | None:
        """How many items a mechanism may see of it; None for a public universe, which has all."""
        return None if self._histogram.domain_size is not None else self._histogram.k_bar

    def check(self, question: Question) -> None:
        """Refuse what can no longer be done once the rows are counted."""
        for option, value in (("where", question.where), ("score", question.score)):
            if value is not None:
                raise QuestionError(f"a ready histogram cannot apply `{option}`; apply it before counting")
        ready = self._histogram
        if not ready.padded:  # how many rows it has is private, and so is whether they are enough
            raise QuestionError("give a ready histogram with padding: Histogram.from_counts(counts, k_bar)")
        if ready.domain_size is None and question.k_bar > ready.k_bar:
            raise QuestionError(
                f"the histogram was cut at k_bar={ready.k_bar}; ask for at most that, or count again with "
                f"k_bar={question.k_bar}"
            )

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram, with at most `k_bar` slots; a public universe is handed out whole."""
        self.check(question)
        ready = self._histogram
        return ready if ready.domain_size is not None else ready.cut(question.k_bar)

    def version(self) -> str | None:
        return None
