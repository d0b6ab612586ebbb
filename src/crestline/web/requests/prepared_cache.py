"""Questions that were prepared and checked before, for each person alone: asked again, they need neither."""

from __future__ import annotations

import threading
from typing import TypeAlias

from crestline.prepare import Prepared
from crestline.question import Question

_REMEMBERED = 4096
_Key: TypeAlias = tuple[str, Question, str]


class PreparedCache:
    """The questions that one data set was asked. A budget is never changed, so what was prepared stays as it was; only
    where the budget is by period the day decides, and nothing is remembered."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._known: dict[_Key, Prepared] = {}

    def find(self, who: str, question: Question) -> Prepared | None:
        """What was prepared when the same person asked the same."""
        return self._known.get(_cache_key(who, question))

    def keep(self, who: str, question: Question, prepared: Prepared) -> None:
        if prepared.question.period is not None:
            return
        with self._turn:
            while len(self._known) >= _REMEMBERED:
                del self._known[next(iter(self._known))]  # the oldest
            self._known[_cache_key(who, question)] = prepared


def _cache_key(who: str, question: Question) -> _Key:
    """Questions that differ in their public lists alone are equal, and must not be taken for each other."""
    return who, question, repr((question.domain, question.groups))
