"""Answers for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer, Choice
from crestline.answer.count_intervals import count_intervals
from crestline.guarantees.guarantee import ApproxDP
from crestline.question import Question


def made(items: Any, *, item: tuple[str, ...] = ("venue",), counts: Any = None, **more: Any) -> Answer:
    """An answer with these items, whose intervals follow from `spread` where they are not given."""
    numbers = None if counts is None else tuple(Fraction(count) for count in counts)
    known = count_intervals(numbers, None, more.get("spread"), ordered=isinstance(items, tuple))
    return Answer(
        items=items,
        stopped=more.pop("stopped", len(items) < 5),
        guarantee=ApproxDP(1, "1e-8", theorem="P3.2"),
        question=Question(user="user", item=item, k=5, k_bar=25),
        source="checkins.csv",
        mechanism=Choice("LimitedDomain", {"k": "5"}, "named in the question"),
        counts=numbers,
        margin=120.5,
        **(vars(known) | more),
    )
