"""A ready histogram as a source: whoever made it did the counting."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Self

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.view_kinds import SLOTS, View
from crestline.question import Limits, Question
from crestline.sources.source import Reading


class ReadySource:
    """Hands out the histogram it was given, cut to the question's `k_bar`.

    The caller must have counted distinct users, and enforced `contribution` when the question states one.
    """

    name = "histogram"

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram

    @property
    def is_public_list(self) -> bool:
        """Whether it lists every item of a public list: then it is for mechanisms that need one."""
        return self._histogram.k_bar == self._histogram.domain_size

    @property
    def most_slots(self) -> int | None:
        """How many items a mechanism may see of it; None for a whole public list, which has all."""
        return None if self.is_public_list else self._histogram.k_bar

    @property
    def limits(self) -> Limits:
        if isinstance(self._histogram, ObservedItems):
            return Limits(views=("observed",))
        return Limits(self.most_slots, public_list=self.is_public_list, views=("slots",))

    def check(self, question: Question, view: View = SLOTS) -> None:
        """Refuse what can no longer be done once the rows are counted."""
        if question.domain is not None:
            raise QuestionError(
                "a ready histogram is counted already; make one over a public list: Histogram.over_domain"
            )
        options = {
            "where": question.where,
            "score": question.score,
            "period": question.period,
            "by": question.by or None,
        }
        for option, value in options.items():
            if value is not None:
                raise QuestionError(f"a ready histogram cannot apply `{option}`; apply it before counting")
        if question.coverage:
            raise QuestionError("a ready histogram does not know who has what: no coverage; give the table")
        ready = self._histogram
        if isinstance(ready, ObservedItems):
            if view.kind == "observed" and ready.unit != view.weights[0]:
                raise QuestionError(
                    f"one user adds {ready.unit} to a score of these observed items, and the mechanism expects "
                    f"{view.weights[0]}: make them with unit={view.weights[0]}"
                )
            return
        if not ready.padded:  # how many rows it has is private, and so is whether they are enough
            raise QuestionError("give a ready histogram with padding: Histogram.from_counts(counts, k_bar)")
        if not self.is_public_list and question.slots > ready.k_bar:
            raise QuestionError(
                f"the histogram was cut at k_bar={ready.k_bar}; ask for at most that, or count again with "
                f"k_bar={question.slots}"
            )

    def ready(self) -> AbstractContextManager[Self]:
        """It is in memory."""
        return nullcontext(self)

    def top_counts(self, question: Question, key: bytes = b"") -> Histogram:
        """The histogram, with at most `k_bar` slots; a whole public list is handed out whole."""
        self.check(question)
        ready = self._histogram
        return ready if self.is_public_list else ready.cut_to(question.slots)

    @contextmanager
    def reading(self, question: Question, key: bytes = b"", view: View = SLOTS) -> Iterator[Reading]:
        """The same as a reading: its labels are its own."""
        self.check(question, view)
        observed = isinstance(self._histogram, ObservedItems)
        yield Reading(self._histogram if observed else self.top_counts(question, key))

    def version(self) -> str | None:
        return None
