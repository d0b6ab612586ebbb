"""The form of a question: what was written into it, and the question that it asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from crestline.config import DEFAULT_SHAPE, DatasetConfig, PublicFacts
from crestline.errors import CrestlineError
from crestline.exact_numbers import MOST_NAMED
from crestline.question import AUTO, Question, QuestionFields
from crestline.question_fields import ALL, FIELDS, MOST_COLUMNS, Face, QuestionField, ValueKind, fields_of
from crestline.sources.expression import where
from crestline.web.pages.forecast import PER_USER, offered_mechanisms
from crestline.web.pages.forms import Form, first_value
from crestline.web.pages.rendering import capitalize_first
from crestline.web.problems import Problem

NUMBERS = (5, 10, 20)
OTHER = "other"  # the field beside the usual numbers of items
_MOST_USERS = 10**10
_SEVERAL = ("since", "last")  # either replaces the period that is ticked
_WITH_GROUPS = ("groups_per_user", "groups", "floor")
_IN_MORE = (
    *("where", "by", "score", "clip", "since", "until", "last", "open", "epsilon", "delta", "coverage", "ordered"),
    *("domain", "mechanism", "contribution", "k_bar", "passes", *_WITH_GROUPS),
)
GUESSED = ("users", "per_user", "shape")


class FormProblem(Problem):
    """Fields of a form that cannot be read: what is wrong with each, by its name."""

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__(422, "bad_question", " ".join(errors.values()))
        self.errors = errors


@dataclass(frozen=True)
class FormState:
    """What was written into a form, and what is wrong with fields of it."""

    values: Form
    errors: Mapping[str, str] = field(default_factory=dict)

    def get(self, name: str, default: object = "") -> str:
        """What was written into a field."""
        return self.values.get(name, [str(default)])[0]

    def has(self, name: str, value: str) -> bool:
        """Whether a value of a field is ticked."""
        return value in self.values.get(name, [])

    @property
    def number(self) -> str:
        """The number of items, wherever it was written."""
        return number_of_items(self.values) or str(NUMBERS[1])

    @property
    def is_more_used(self) -> bool:
        """Whether a folded field is filled in, or wrong."""
        return any(self.get(name) not in ("", AUTO, "1") for name in _IN_MORE) or not self.errors.keys().isdisjoint(
            (*_IN_MORE, *GUESSED)
        )


def number_of_items(form: Form) -> str:
    """The number of items as it was written: beside the usual ones, or one of them."""
    return first_value(form, OTHER).strip() or first_value(form, "k").strip()


def read_question(form: Form, most: int) -> Question:
    """The question of a form, for at most a number of items.

    Raises:
        FormProblem: Fields hold what cannot be read; all of them.
        CrestlineError: Fields do not go together.
    """
    errors = dict[str, str]()
    given = dict[str, object]()
    for row in fields_of(Face.HTTP):
        try:
            value = _read_field(form, row, most)
        except FormProblem as problem:
            errors |= problem.errors
        else:
            if value not in (None, []):
                given[row.name] = value
    if errors:
        raise FormProblem(errors)
    if any(name in given for name in _SEVERAL):
        given.pop("period", None)
    if "score" not in given:
        given.pop("clip", None)  # the field stands in every form
    if "by" not in given:
        for name in _WITH_GROUPS:
            given.pop(name, None)
    return Question.from_fields(cast(QuestionFields, given))


def _read_field(form: Form, row: QuestionField, most: int) -> object:
    """The value that a form gives to a field; None where it gives none."""
    if row.name == "k":
        number = number_of_items(form)
        return min(most, MOST_NAMED) if number.lower() == ALL else _parse_count("k", number, most)
    if row.kind is ValueKind.FLAG:
        return first_value(form, row.name) == "yes" if row.name in form else None
    if row.kind is ValueKind.COLUMNS:
        return _read_columns(form, row)
    text = first_value(form, row.name).strip()
    if not text:
        return None
    if row.kind is ValueKind.COUNT:
        return _parse_count(row.name, text, row.at_most or 1)
    if row.kind in (ValueKind.EPSILON, ValueKind.DELTA):
        if len(text) > (row.longest or 0):
            raise FormProblem({row.name: "Write ε and δ as short numbers, such as 0.5 or 1e-8."})
        return _check_field(row.name, lambda: row.convert(text)) and text
    if row.name == "mechanism" and text not in (AUTO, *offered_mechanisms()):
        raise FormProblem({row.name: "Choose a mechanism of the list."})
    if row.name == "where":
        _check_field(row.name, lambda: where.parse_filter(text))
    return text[: row.longest]


def _read_columns(form: Form, row: QuestionField) -> list[str]:
    ticked = form.get(row.name, [])[:MOST_COLUMNS]
    if row.name == "item" and not ticked:
        raise FormProblem({row.name: "Tick at least one column to rank."})
    return ticked


def _check_field(name: str, read: Callable[[], object]) -> object:
    """What `read` returns; what it refuses is said beside the field."""
    try:
        return read()
    except CrestlineError as error:
        raise FormProblem({name: f"{capitalize_first(str(error)).rstrip('.')}."}) from None


def read_guess(form: Form, dataset: DatasetConfig) -> PublicFacts | None:
    """What the form says about data of this kind, or else the owner in public; None where neither says anything.

    Raises:
        FormProblem: A number cannot be read.
    """
    if "users" not in form:
        return dataset.public
    if not first_value(form, "users").strip():
        return None
    per_user = first_value(form, "per_user").strip() or str(PER_USER)
    return PublicFacts(
        users=_parse_count("users", first_value(form, "users").strip(), _MOST_USERS),
        items=dataset.public.items if dataset.public else None,
        per_user=_parse_count("per_user", per_user, 10**6),
        shape=(first_value(form, "shape") or DEFAULT_SHAPE)[:200],
    )


def _parse_count(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and 1 <= int(text) <= most):
        label = FIELDS[name].in_form if name in FIELDS else {"users": "Users, roughly"}.get(name, "Items of each user")
        raise FormProblem({name: f"{label}: write a whole number from 1 to {most:,}."})
    return int(text)
