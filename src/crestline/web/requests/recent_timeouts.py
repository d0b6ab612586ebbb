"""Questions that took too long: asked again soon, they would take as long, and be charged again for nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable

from crestline.ledger.entries import canonical_json
from crestline.question import Question

SECONDS = 600.0
_REMEMBERED = 10_000


class RecentTimeouts:
    """Remembers, for each person alone, which questions were given up. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._turn = threading.Lock()
        self._until: dict[str, float] = {}

    def note_timeout(self, who: str, dataset: str, question: Question) -> None:
        """This question was given up just now."""
        with self._turn:
            if len(self._until) >= _REMEMBERED:
                self._until.clear()
            self._until[_question_key(who, dataset, question)] = self._clock() + SECONDS

    def wait(self, who: str, dataset: str, question: Question) -> float:
        """For how many seconds the same question is not asked again; 0 where it may be asked."""
        return max(0.0, self._until.get(_question_key(who, dataset, question), 0.0) - self._clock())


def _question_key(who: str, dataset: str, question: Question) -> str:
    return canonical_json([who, dataset, {**question.to_json(), "domain": str(question.domain)}])
