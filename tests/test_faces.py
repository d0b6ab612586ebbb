"""Every field of a question reaches every face, or stands here with the reason why not."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import ValidationError

import crestline as cl
from crestline.cli.plan import plan
from crestline.cli.price import price
from crestline.cli.top import top
from crestline.client.remote import RemoteDataset
from crestline.errors import ParameterError
from crestline.exact_numbers import MOST_NAMED
from crestline.periods.calendar import Calendar, Periods
from crestline.price.batch import ARGUMENTS, parse_question
from crestline.question import Question, QuestionFields
from crestline.question_fields import FIELDS, Face, ValueKind
from crestline.score import Sum
from crestline.session import Dataset
from crestline.sql_questions.statement import SqlOptions
from crestline.web.api.schemas import TopRequest
from crestline.web.mcp.tools import TOOLS
from crestline.web.pages.ask_form import read_question

WRITTEN = set(QuestionFields.__annotations__)
OFFERED = {
    "top_k": set(inspect.signature(cl.top_k).parameters),
    "Dataset.top": set(inspect.signature(Dataset.top).parameters),
    "Dataset.price": set(inspect.signature(Dataset.price).parameters),
    "files of questions": set(ARGUMENTS),
    Face.TOP: set(inspect.signature(top).parameters),
    Face.PRICE: set(inspect.signature(price).parameters),
    Face.PLAN: set(inspect.signature(plan).parameters),
    Face.HTTP: set(TopRequest.model_fields),
    "RemoteDataset.top": set(inspect.signature(RemoteDataset.top).parameters),
    "RemoteDataset.price": set(inspect.signature(RemoteDataset.price).parameters),
}
OF_THE_SERVICE = {
    "the tool top": set(TOOLS["top"].arguments.model_fields),
    "the tool price": set(TOOLS["price"].arguments.model_fields),
}


def test_the_table_has_a_row_for_each_field() -> None:
    assert set(FIELDS) == WRITTEN


@pytest.mark.parametrize("face", OFFERED)
def test_every_field_is_offered_or_left_out_for_a_reason(face: str | Face) -> None:
    left_out = {name: row.not_in[face] for name, row in FIELDS.items() if isinstance(face, Face) and face in row.not_in}
    assert WRITTEN - OFFERED[face] == set(left_out)
    assert all(left_out.values())


def test_all_items_are_as_many_as_the_limit_says() -> None:
    every = Question.from_fields({"k": "all"})
    assert every == Question(k=MOST_NAMED) == parse_question({"k": "all"}).question
    assert every.words().startswith("As many as can be named, at most 1,000, of the values of ")
    assert TopRequest.model_validate({"k": "all", "item": "title"}).k == "all"
    for form, most, expected in (({"k": ["all"]}, 50, 50), ({"other": ["All"]}, 5_000, MOST_NAMED)):
        assert read_question({"item": ["title"], **form}, most).k == expected
    assert Question(k=MOST_NAMED - 1).words().startswith("The 999 values of ")
    for name in ("k_bar", "contribution"):
        with pytest.raises(ParameterError, match=name):
            parse_question({"k": 1, name: "all"})
        with pytest.raises(ValidationError):
            TopRequest.model_validate({"k": 1, "item": "title", name: "all"})


@pytest.mark.parametrize("face", OF_THE_SERVICE)
def test_a_tool_takes_what_the_service_takes(face: str) -> None:
    assert OF_THE_SERVICE[face] - {"dataset"} == OFFERED[Face.HTTP]


def test_sql_takes_the_same_on_every_face_of_a_data_set() -> None:
    local, remote = (set(inspect.signature(kind.sql).parameters) for kind in (Dataset, RemoteDataset))
    assert local - remote == {"analyst"}
    assert set(TOOLS["sql"].arguments.model_fields) == {"dataset", "sql", "parameters", *SqlOptions.__annotations__}


@pytest.mark.parametrize("name", [row.name for row in FIELDS.values() if row.kind is ValueKind.COUNT])
def test_a_number_has_one_bound_in_every_face(name: str) -> None:
    most = FIELDS[name].at_most
    assert most is not None
    given: dict[str, Any] = {"k": 1, "item": "a"} | {"clip": {"score": "sum(b)"}, "last": {}}.get(name, {})
    given |= {"by": "c"} if name in ("floor", "groups_per_user") else {}
    given |= {"k_bar": 10**6} if name == "k" else {}
    assert Question.from_fields({**given, name: most})  # type: ignore[typeddict-item] # a name that is not literal
    assert TopRequest(**{**given, name: most})
    with pytest.raises(cl.errors.CrestlineError, match=name):
        Question.from_fields({**given, name: most + 1})  # type: ignore[typeddict-item] # likewise
    with pytest.raises(ValueError, match=name):
        TopRequest(**{**given, name: most + 1})
    assert parse_question({**given, name: str(most)}).fields[name] == most


def test_what_people_write_is_what_a_question_holds() -> None:
    assert {field.name for field in fields(Question)} == WRITTEN - {"clip", "since", "until", "last", "open"}


def test_a_question_survives_the_way_to_json_and_back() -> None:
    question = Question.from_fields(
        {"k": 3, "item": ["a", "b"], "user": "who", "where": "a = 1", "epsilon": "0.3", "delta": 1e-7, "counts": True,
         "mechanism": "LimitedDomain", "k_bar": 9, "contribution": 2, "score": 'sum("odd ""name""")', "clip": 5,
         "since": "2026-08", "until": "2026-10", "open": True,
         "by": ["c", "d"], "groups_per_user": 3, "floor": 4}
    )  # fmt: skip
    assert question.score == Sum('odd "name"', 5)
    assert Question.from_json(question.to_json()) == question
    decided = replace(question, period=Periods.from_labels(Calendar("month", "day"), "2026-08", "2026-10"))
    assert Question.from_json(decided.to_json()) == decided


def test_an_unknown_argument_is_refused_like_everywhere_in_python() -> None:
    with pytest.raises(TypeError, match="itm: no such argument; known: by, clip, contribution"):
        cl.top_k("t.csv", k=1, itm="x")  # type: ignore[call-arg] # on purpose
    with pytest.raises(TypeError, match="k is missing"):
        cl.top_k("t.csv", item="x")  # type: ignore[call-arg] # on purpose
