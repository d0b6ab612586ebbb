"""The one door through which a plan may look at data: a file that its owner declares public."""

from __future__ import annotations

from collections.abc import Sequence

from crestline.errors import ParameterError, QuestionError
from crestline.histogram.histogram import Histogram
from crestline.plan.candidates import Wish
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.sources import open_source

_KEY_WORDS = 4


def public_counts(path: str, *, declared: bool, user: str | None, item: Sequence[str] | None, wish: Wish) -> Histogram:
    """The counts of a public file. Refused before the file is opened unless it was `declared` public."""
    if not declared:
        raise ParameterError(
            "a plan shows what it was made from, so it only looks at public data: add --public if nothing in "
            f"{path} needs protection, or plan on a shape (--users, --shape)"
        )
    if not user or not item:
        raise QuestionError("name the columns of the public file: --user COLUMN --item COLUMN")
    source = open_source(path)
    question = Question(user, tuple(item), wish.k, max(wish.k_bars), contribution=wish.contribution)
    source.check(question)
    with source.reading(question, system().words(_KEY_WORDS).tobytes()) as reading:
        return reading.histogram
