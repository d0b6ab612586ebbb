"""Scores other than counts: `sum(column)`, clipped per user and item, on a public grid of whole numbers.

Each row's value is clipped to [0, clip] and rounded down to the grid; a user's values for one item are added up and
clipped again. So one user moves one score by at most `step` grid units, which is sensitivity 1 after division by `step`
(P0.1). A column of whole numbers with a clip of at most a million keeps its own units, and `step` is the clip;
otherwise the clip is cut into a million steps. Rows whose value is null or nan are dropped; negative values count as
nothing.

No row can make this fail: a value is clipped in its own type before it is converted, so that whatever is converted
fits; a row has at most a million units, so that a user's sum leaves 64 bits only after 9 * 10^12 rows of one user and
one item, and 128 bits (DuckDB, and PostgreSQL's sums of any length) never; and the sum is clipped again before users
are added up, so that 9 * 10^12 users fit 64 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from crestline.errors import QuestionError
from crestline.question import Question
from crestline.sources.engine.engine_functions import Expression, dialect, try_else_null
from crestline.sources.expression.column_keys import column, column_key, representable
from crestline.sources.expression.comparisons import number_in_text

GRID = 1_000_000  # small enough that whole-number sums over every user on earth fit 64 bits
_TINY = 1e-100  # far below a unit of any clip, and far above what a double cannot hold


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
    if question.score is None:
        return None
    name, clip = question.score.column, question.score.clip
    value = column(table, name)
    value = number_in_text(value, engine) if untyped else representable(value, engine)
    kind = value.type()
    if not kind.is_numeric() or kind.is_boolean():
        raise QuestionError(f"column {name!r} is of type {kind}; a score adds up numbers")
    usable = column_key(value, name, engine).usable
    if kind.is_integer() and clip <= GRID:
        return Score(try_else_null(_clip_integers(value, clip), engine), usable, clip)
    share = _clip_doubles(value, clip, engine) * (GRID / clip)
    return Score(try_else_null(share.floor().cast("int64"), engine), usable, GRID)


def _clip_integers(value: Expression, clip: int) -> Expression:
    """From 0 to the clip, in the column's own type until it fits another."""
    import ibis

    kind = value.type().copy(nullable=True)
    if clip <= kind.bounds.upper:
        value = ibis.least(value, ibis.literal(clip, type=kind))
    return ibis.greatest(value, ibis.literal(0, type=kind)).cast("int64")


def _clip_doubles(value: Expression, clip: int, engine: str) -> Expression:
    """From 0 to the clip, as a double. PostgreSQL's decimals may be too large for one, or too close to zero: what is
    less than a unit counts as nothing there, and what is more than the clip as the clip. It also fails on products that
    are too close to zero for a double, so doubles far below a unit are nothing before they are multiplied."""
    import ibis

    highest, nothing = ibis.literal(float(clip), type="float64"), ibis.literal(0.0, type="float64")
    if not (value.type().is_decimal() and dialect(engine).unbounded_decimals):
        clipped = ibis.greatest(ibis.least(value.cast("float64"), highest), nothing)
        return (
            ibis.cases((clipped < _TINY, nothing), else_=clipped) if dialect(engine).products_may_underflow else clipped
        )
    small, large = (ibis.literal(text).cast("decimal") for text in (f"{1 / GRID:f}", str(clip)))
    return ibis.cases((value < small, nothing), (value >= large, highest), else_=value.cast("float64"))
