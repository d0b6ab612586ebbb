"""Answers for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer, Choice
from crestline.guarantees.guarantee import ApproxDP
from crestline.question import Question


def made(items: Any, *, item: tuple[str, ...] = ("venue",), counts: Any = None, **more: Any) -> Answer:
    """An answer with these items."""
    return Answer(
        items=items,
        stopped=len(items) < 5,
        guarantee=ApproxDP(1, "1e-8", theorem="P3.2"),
        question=Question(user="user", item=item, k=5, k_bar=25),
        source="checkins.csv",
        mechanism=Choice("LimitedDomain", {"k": "5"}, "named in the question"),
        counts=None if counts is None else tuple(Fraction(count) for count in counts),
        margin=120.5,
        **more,
    )
