"""Public files: the only data that a plan reads, and only if the owner declares them public."""

from __future__ import annotations

from dataclasses import replace

from crestline.errors import ParameterError
from crestline.histogram.histogram import Histogram
from crestline.plan.candidates import k_bar_choices
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.sources import open_source

_KEY_WORDS = 4


def read_public_counts(path: str, question: Question, *, declared: bool) -> Histogram:
    """Counts of a public file; raises ParameterError, before the file is opened, unless it is `declared` public."""
    if not declared:
        raise ParameterError(
            "a plan shows what it was made from, so it only reads public data: add --public if nothing in "
            f"{path} needs protection, or plan on a shape (--users, --shape)"
        )
    source, asked = open_source(path), replace(question, k_bar=max(k_bar_choices(question)))
    source.check(asked)
    with source.reading(asked, system().words(_KEY_WORDS).tobytes()) as reading:
        assert isinstance(reading.histogram, Histogram), "slots were asked for"
        return reading.histogram
