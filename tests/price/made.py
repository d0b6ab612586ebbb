"""Questions of a batch for the tests of this folder."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crestline.price.batch import BatchQuestion
from crestline.question import Question


def posed(k: int, epsilon: Fraction | None = None, delta: Fraction | None = None, **more: Any) -> BatchQuestion:
    return BatchQuestion(Question(k=k, epsilon=epsilon, delta=delta, **more))
