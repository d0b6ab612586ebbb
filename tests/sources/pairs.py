"""The pair suite: the same question of a table with one user's rows and of one without.

What may be seen of a table is its histogram, in which one user moves that user's items by one (or by `step`). So the
two outcomes are of one class always: both answer, or both refuse in the same words. Where both answer, counts differ by
the one user's items only, each by at most a step, all in one direction.

A class that inherits `PairSuite` provides the fixture `pair`: two sources that hold the same columns. Which values,
literals and operators are tried is in `crestline.audit.program.failing_filters`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from crestline.audit.program import failing_filters as battery
from crestline.audit.program.failing_filters import Column
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.question import Question
from crestline.score import Sum
from crestline.sources.source import SlotSource

KEY = bytes(range(32))
ITEMS = frozenset({"tea", "cocoa"})
"""The one user's items in the tables of `crestline.audit.program.neighbouring_files`."""

REFUSALS = ("QuestionError", "ParameterError")
Outcome = Histogram | tuple[str, str]


@dataclass(frozen=True)
class Pair:
    """Two sources that differ by one user, and the columns that both have beside `user` and `item`.

    every   one in this many statements is made; where an engine is slow, the others are left out
    start   with which of them to begin: engines of one kind divide the statements among themselves
    untyped its columns are text that may hold numbers
    """

    with_user: SlotSource
    without: SlotSource
    columns: tuple[Column, ...]
    every: int = 1
    start: int = 0
    untyped: bool = False

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def turn(self, column: Column) -> int:
        return self.start + self.columns.index(column)

    def literals(self, column: Column) -> list[str]:
        return battery.sort_literals(battery.LITERALS) if self.untyped else column.literals


def question(**options: Any) -> Question:
    usual: dict[str, Any] = {"user": "user", "item": ("item",), "k": 1, "k_bar": 60}
    return Question(**(usual | options))


def outcome(source: SlotSource, asked: Question) -> Outcome:
    """What a person who asks would see: a histogram stands for an answer, anything else for its class and words."""
    try:
        source.check(asked)
        return source.top_counts(asked, KEY)
    except Exception as error:  # a raw error is an outcome like any other, and a fault
        return type(error).__name__, str(error)


def counted(histogram: Histogram) -> dict[Any, int]:
    return {
        (type(label).__name__, label): count
        for label, count in zip(histogram.items, histogram.counts, strict=True)
        if not isinstance(label, Padding) and count
    }


def difference(left: Outcome, right: Outcome, moved: frozenset[Any] | None = None) -> str | None:
    """What tells two neighbouring tables apart beyond what one user may move; None when nothing does."""
    if not isinstance(left, Histogram) or not isinstance(right, Histogram):
        return None if left == right else f"with the user: {_shown(left)}; without: {_shown(right)}"
    if left.unit != right.unit:
        return f"one user adds {left.unit} with the user, {right.unit} without"
    first, second = counted(left), counted(right)
    moves = {label: first.get(label, 0) - second.get(label, 0) for label in {**first, **second}}
    far = [label for label, move in moves.items() if not 0 <= move <= left.unit]
    if far:
        return f"{len(far)} counts moved too far, or down"
    strange = [label for (_, label), move in moves.items() if move and moved is not None and label not in moved]
    return f"{len(strange)} counts of others moved" if strange else None


def _shown(seen: Outcome) -> str:
    return "an answer" if isinstance(seen, Histogram) else f"{seen[0]}: {seen[1][:100]}"


def told_apart(pair: Pair, asked: Question, moved: frozenset[Any] | None = None) -> str | None:
    """What the question tells of the user; an engine that fails on both tables is told, too: it fails on rows."""
    left, right = outcome(pair.with_user, asked), outcome(pair.without, asked)
    return difference(left, right, moved) or failed(left)


def failed(seen: Outcome) -> str | None:
    """A question that was taken must be answered; a refusal is not a failure."""
    return f"fails: {_shown(seen)}" if isinstance(seen, tuple) and seen[0] not in REFUSALS else None


def chains(pair: Pair, column: Column) -> Iterator[str]:
    """Every comparison of this column with all literals that it can be compared with, in few conditions."""
    yield from battery.comparison_chains(column.name, _taken(pair.with_user, column.name, pair.literals(column)))


def _taken(source: SlotSource, name: str, literals: list[str]) -> list[str]:
    """The literals that a column can be compared with: all are tried at once, and halves where one is refused."""
    where = " or ".join(f"{name} = {one}" for one in literals)
    if not literals or refusal(source, question(where=where)) is None:
        return literals
    half = len(literals) // 2
    return _taken(source, name, literals[:half]) + _taken(source, name, literals[half:]) if half else []


def filters(pair: Pair, column: Column) -> Iterator[str]:
    """Filters over one column; those for which one fault is known come first, then one in `pair.every`."""
    for name, condition in battery.KNOWN:
        if name == column.name:
            yield f"{battery.ONLY_THE_USER} and {condition}"
    turn = pair.turn(column)
    for number, condition in enumerate([*chains(pair, column), *_others(column)]):
        if (number + turn) % pair.every == 0:
            yield battery.filter_variants(condition)[0 if number % 4 else 1 + (number // 4 + turn) % 2]


def _others(column: Column) -> tuple[str, ...]:
    name = column.name
    like = " or ".join(f"{name} like {pattern}" for pattern in battery.PATTERNS)
    return (f"({like})", f"{name} is null", f"(not ({name} is null))", name)


def found_by_filters(pair: Pair, column: Column) -> list[str]:
    """Every filter over this column that tells the two tables apart, with what it tells."""
    seen = ((where, told_apart(pair, question(where=where), ITEMS)) for where in filters(pair, column))
    return [f"{where[:160]} -> {told}" for where, told in seen if told]


def found_by_keys(pair: Pair, column: Column) -> list[str]:
    """The column as an item, as one of two items, and as a user, with a bound on contributions and without."""
    asked = [question(item=(column.name,)), question(item=("item", column.name), contribution=3)]
    seen = [(one, told_apart(pair, one)) for one in (asked if pair.every == 1 else [asked[pair.turn(column) % 2]])]
    as_user = question(user=column.name, contribution=2)  # the one user has several names here: only failures count
    seen.append((as_user, failed(outcome(pair.with_user, as_user))))
    return [f"user={one.user} item={one.item} -> {told}" for one, told in seen if told]


def found_by_scores(pair: Pair, column: Column) -> list[str]:
    """Sums of the column, clipped at every size."""
    every = min(pair.every, len(battery.CLIPS))  # every column is summed with one clip at least
    clips = battery.CLIPS[pair.turn(column) % every :: every]
    asked = [question(score=Sum(column.name, clip)) for clip in clips]
    seen = ((one, told_apart(pair, one, ITEMS)) for one in asked)
    return [f"{one.score} -> {told}" for one, told in seen if told]


class PairSuite:
    """Inherit, and provide `pair`. Columns that an engine does not have are left out."""

    def test_no_filter_tells_whether_a_user_is_there(self, pair: Pair) -> None:
        assert [told for column in pair.columns for told in found_by_filters(pair, column)] == []

    def test_no_column_tells_by_itself_whether_a_user_is_there(self, pair: Pair) -> None:
        assert [told for column in pair.columns for told in found_by_keys(pair, column)] == []

    def test_no_score_tells_whether_a_user_is_there(self, pair: Pair) -> None:
        columns = [column for column in pair.columns if column.is_number or pair.untyped]
        assert [told for column in columns for told in found_by_scores(pair, column)] == []

    def test_a_refusal_does_not_look_at_rows(self, pair: Pair) -> None:
        """Every kind of literal with every column: refused on both tables in the same words, or on neither."""
        for number, column in enumerate(pair.columns):
            for literal in battery.LITERALS[number % 7 :: 7]:
                for condition in (f"{column.name} < {literal}", f"{column.name} in ({literal}, 1)"):
                    words = refusal(pair.with_user, question(where=condition))
                    assert words == refusal(pair.without, question(where=condition))
                    assert words is None or words.startswith(REFUSALS), condition


def refusal(source: SlotSource, asked: Question) -> str | None:
    try:
        source.check(asked)
    except Exception as error:  # a raw error is one, too: the suite says so
        return f"{type(error).__name__}: {error}"
    return None
