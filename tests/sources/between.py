"""A mechanism with somebody who writes to the table while it works: between the counting and the naming."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crestline.answer.answer import Answer
from crestline.ask import ask
from crestline.guarantees.guarantee import PureDP
from crestline.mechanisms.selection import Selection
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import replay
from crestline.sources import Source

# 12 and 11 are counted by two users each, 10 by one; afterwards 10 and 11 by two, 12 by three: every place has moved.
BEFORE = pa.table({"user": [1, 2, 1, 2, 1], "item": [12, 12, 11, 11, 10]})
AFTER = pa.table({"user": [1, 2, 3, 1, 2, 1, 2, 4], "item": [12, 12, 12, 11, 11, 10, 10, 14]})
DOMAIN = [10, 11, 12, 13, 14, 15]
NAMED = (12, 11, 10, 15, 13, 14)


@dataclass(frozen=True)
class Interrupted:
    """Chooses by places, after `write` has changed the table."""

    write: Callable[[], Any]

    def guarantee(self) -> PureDP:
        return PureDP(1)

    def release(self, histogram: Any, entropy: Any) -> Selection:
        self.write()
        return Selection(histogram.names([1, 0, 2, 5, 3, 4]), False)


def answered(source: Source, write: Callable[[], Any], domain: Any) -> Answer:
    mechanism = Interrupted(write)
    question = Question(k=6, k_bar=6, mechanism=mechanism, domain=domain)
    return ask(prepare(question), source=source, entropy=replay("between"))
