"""Scores other than counts: `sum(column)`, clipped per user and item, on a public grid of whole numbers.

Each row's value is clipped to [0, clip] and rounded down to the grid; a user's values for one item are added up and
clipped again. So one user moves one score by at most `step` grid units, which is sensitivity 1 after division by `step`
(P0.1). A column of whole numbers with a clip of at most a million keeps its own units, and `step` is the clip;
otherwise the clip is cut into a million steps. Rows whose value is null or nan are dropped; negative values count as
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from crestline.errors import QuestionError
from crestline.parameters import whole
from crestline.question import Question
from crestline.sources.columns import column, key_of
from crestline.sources.engines import Expression

GRID = 1_000_000  # small enough that whole-number sums over every user on earth fit 64 bits

_SUM = re.compile(r'\s*sum\s*\(\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^"()]*[^"()\s]))\s*\)\s*', re.IGNORECASE)


@dataclass(frozen=True)
class Score:
    """How much a row adds to its item, in grid units.

    units    the row's units, a whole number from 0 to `step`
    usable   conditions a row must meet to be counted
    step     the most one user can add to one item
    """

    units: Expression
    usable: tuple[Expression, ...]
    step: int


def score_of(table: Expression, question: Question, engine: str, *, untyped: bool = False) -> Score | None:
    """The question's score, or None when it counts users."""
    import ibis

    if question.score is None:
        if question.clip is not None:
            raise QuestionError("clip goes with score, as in score='sum(price)', clip=100")
        return None
    if question.clip is None:
        raise QuestionError("a score needs clip: the most that one user may add to one item (a public number)")
    name, clip = score_column(question.score), whole(question.clip, "clip")
    value = column(table, name)
    value = value.try_cast("float64") if untyped else value
    kind = value.type()
    if not kind.is_numeric() or kind.is_boolean():
        raise QuestionError(f"column {name!r} is of type {kind}; a score adds up numbers")
    usable = key_of(value, name, engine).usable
    in_range = ibis.greatest(ibis.least(value, clip), 0)
    if kind.is_integer() and clip <= GRID:
        return Score(in_range.cast("int64"), usable, clip)
    return Score((in_range.cast("float64") * (GRID / clip)).floor().cast("int64"), usable, GRID)


def score_column(text: str) -> str:
    """The column of `sum(column)`; an odd name is written in double quotes."""
    match = _SUM.fullmatch(text)
    if match is None:
        raise QuestionError("score must be of the form sum(column); leave it out to count users")
    return match["plain"] or match["quoted"].replace('""', '"')
