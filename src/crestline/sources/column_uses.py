"""What the columns of a table can be used for, from its schema alone: no row is read.

Each use is tried with `Source.check`, which makes the same refusals before a question is charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from crestline.errors import QuestionError
from crestline.periods.calendar import Calendar, Periods
from crestline.question import Question, QuestionFields
from crestline.sources.files.files import FileSource
from crestline.sources.source import Source
from crestline.sources.table import TableSource
from crestline.sources.wrappers import PerQuestionSource

# Columns of these names hold users, the likeliest first; where none is there, a person has to say it.
_USER_NAMES = (
    "user",
    "customer",
    "client",
    "person",
    "member",
    "patient",
    "reader",
    "subscriber",
    "account",
    "visitor",
)


_SOME_MONTH = 24_000


@dataclass(frozen=True)
class ColumnUses:
    """What one column can be in a question.

    Attributes:
        name: The column.
        type: Its type, as the engine calls it.
        key: Whether it can hold the user, be ranked, and make groups.
        filter, sum, period: Whether it can stand in a filter, be added up, and say when a row happened.
    """

    name: str
    type: str
    key: bool
    filter: bool
    sum: bool
    period: bool


def column_names(source: Source) -> tuple[str, ...]:
    """The columns of a table; empty where the files have no schema (CSV, JSON lines), as a first line may be a row."""
    return tuple(_types(source, ()))


def column_uses(source: Source, names: Sequence[str] = ()) -> list[ColumnUses]:
    """The uses of these columns, or of all that the schema has.

    Raises:
        QuestionError: There is no such column.
    """
    types = _types(source, names)
    keys = [name for name in types if _can_ask(source, Question(k=1, k_bar=1, user=name, item=(name,)))]
    if not keys:
        return [ColumnUses(name, kind, False, False, False, False) for name, kind in types.items()]
    one: QuestionFields = {"k": 1, "k_bar": 1, "user": keys[0], "item": keys[0]}
    any_key = Question.from_fields(one)
    return [
        ColumnUses(
            name,
            kind,
            key=name in keys,
            filter=_can_ask(source, replace(any_key, where=f"{_quoted(name)} is null")),
            sum=_can_ask(source, Question.from_fields({**one, "score": f"sum({_quoted(name)})", "clip": 1})),
            period=_can_ask(source, replace(any_key, period=Periods(Calendar("month", name), _SOME_MONTH))),
        )
        for name, kind in types.items()
        if not names or name in names
    ]


def likely_user(names: Sequence[str]) -> str | None:
    """The column that holds the user by its name; None if that is not clear."""
    for word in _USER_NAMES:
        found = [name for name in names if word in name.lower()]
        if len(found) == 1 or (found and found[0].lower() == word):
            return found[0]
    return None


def _types(source: Source, names: Sequence[str]) -> dict[str, str]:
    """Names and types of the columns; of files without types the columns that are named."""
    if isinstance(source, FileSource) and not source.has_types:
        for name in names:
            source.check(Question(k=1, k_bar=1, user=name, item=(name,)))
        return dict.fromkeys(names, "text, or a number where it is used as one")
    table = source.table_for(Question(k=1)) if isinstance(source, PerQuestionSource) else source
    if not isinstance(table, TableSource):
        return {}
    found = {name: str(kind) for name, kind in table.table.schema().items()}
    missing = [name for name in names if name not in found]
    if missing:
        raise QuestionError(f"there is no column {missing[0]!r}; there are: {', '.join(found)}")
    return found


def _can_ask(source: Source, question: Question) -> bool:
    try:
        source.check(question)
    except QuestionError:
        return False
    return True


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
