"""Every field of a question reaches every face, or stands here with the reason why not."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace

import pytest

import crestline as cl
from crestline.cli.analyst.plan import plan
from crestline.cli.analyst.price import price
from crestline.cli.analyst.top import top
from crestline.periods.calendar import Calendar, Periods
from crestline.price.batch import ARGUMENTS
from crestline.question import Question, QuestionFields
from crestline.score import Sum
from crestline.session import Dataset
from crestline.web.api.schemas import TopRequest

# The total of a question is written as two numbers, and a sum as its text and its clip.
WRITTEN = set(QuestionFields.__annotations__)

# Where a field is not offered, and why.
NOT_OFFERED = {
    "crestline price": {"user": "a price does not depend on whose presence is hidden: it is the ledger that knows"},
    "HTTP": {"user": "the owner says in the configuration which column holds the user"},
    "crestline plan": {
        "where": "a plan looks at no rows",
        "counts": "a plan compares selections",
        "score": "a plan is about numbers of users",
        "clip": "a plan is about numbers of users",
        "domain": "a public list has no rows to read: --public-items says that there is one",
        **dict.fromkeys(("period", "since", "until", "last", "open"), "a plan looks at no rows, of whatever time"),
        "by": "a plan is for one group: --users says how many are in it",
        "groups": "a plan is for one group",
        "floor": "a plan looks at no rows",
    },
}
FACES = {
    "top_k": set(inspect.signature(cl.top_k).parameters),
    "Dataset.top": set(inspect.signature(Dataset.top).parameters),
    "Dataset.price": set(inspect.signature(Dataset.price).parameters),
    "files of questions": set(ARGUMENTS),
    "crestline top": set(inspect.signature(top).parameters),
    "crestline price": set(inspect.signature(price).parameters),
    "crestline plan": set(inspect.signature(plan).parameters),
    "HTTP": set(TopRequest.model_fields),
}


@pytest.mark.parametrize("face", FACES)
def test_every_field_is_offered_or_left_out_for_a_reason(face: str) -> None:
    left_out = NOT_OFFERED.get(face, {})
    assert WRITTEN - FACES[face] == set(left_out)
    assert all(left_out.values())


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
