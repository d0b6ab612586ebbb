"""The addresses of a question: the form, its forecast, and asking it."""

from __future__ import annotations

import re
import secrets
from typing import TypeAlias, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, RedirectResponse, Response

from crestline.config import DEFAULT_SHAPE, DatasetConfig, PublicFacts
from crestline.errors import CrestlineError
from crestline.question import AUTO, Question, QuestionFields
from crestline.question_fields import FIELDS, MOST_COLUMNS, Face, QuestionField, ValueKind, fields_of
from crestline.randomness.entropy import system
from crestline.sources.expression import where
from crestline.web.answer_once import QueuedQuestion, answer_from_queue, run_unpaid
from crestline.web.pages.ask_view import FormState, ask_page
from crestline.web.pages.forecast import PER_USER, forecast, offered_mechanisms
from crestline.web.pages.forecast_view import forecast_section
from crestline.web.pages.forms import CurrentState, Fields, Form, SignedIn, first_value, page_response
from crestline.web.pages.parts.html import Html
from crestline.web.pages.parts.layout import alert_box, capitalize_first
from crestline.web.permissions import Caller
from crestline.web.problems import Problem, problem_of
from crestline.web.requests.idempotency import cancel_request

_MOST_USERS = 10**10
_FIELD = re.compile(rf"({'|'.join(FIELDS)})\b")

ask_pages = APIRouter(include_in_schema=False)

Said: TypeAlias = Html | tuple[Html, tuple[str, str] | None] | None  # with the field that it is about, and why


@ask_pages.get("/datasets/{name}")
def new_question_page(name: str, state: CurrentState, caller: SignedIn) -> Response:
    dataset = caller.dataset(state, name).config
    return _question_page(dataset, caller, {}, _new_key(), None, items=list(dataset.items[:1]))


@ask_pages.post("/datasets/{name}")
async def submit_question(request: Request, name: str, state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    dataset = caller.dataset(state, name).config
    key, status = first_value(form, "key")[:200], 200
    said: Said
    try:
        question = _question(form)
        if first_value(form, "do") != "forecast":
            body = await answer_from_queue(
                state, QueuedQuestion(caller, name, question, key or None), request.is_disconnected
            )
            return RedirectResponse(f"/answers/{body['id']}", 303)
        guess = _guessed_data(form, dataset)
        gone = request.is_disconnected
        table = await run_unpaid(
            state, caller, name, lambda: forecast(state, caller, name, question, guess, system()), gone
        )
        said = forecast_section(table)
    except (CrestlineError, Problem) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        words, status = _refusal(problem), problem.status
        field = field_of_problem(problem)
        said = (alert_box(words), None if field is None else (field, words))
        open_end = problem.status >= 500 or problem.code == "unfinished"  # pressing the button again must not pay again
        key = key if open_end else _new_key()
    ticked = [*form.get("item", []), *(f"by {name}" for name in form.get("by", []))]
    return _question_page(dataset, caller, form, key or _new_key(), said, items=ticked, status=status)


@ask_pages.post("/cancel")
def cancel(state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    """What became of a question that its asker gave up; asked until it is decided."""
    key = first_value(form, "key")[:200]
    if not key:
        raise FieldProblem("key", "The key of the question is missing.")
    found = cancel_request(state.store, caller.person.name, key)
    return JSONResponse(found if found["state"] == "ended" else {**found, "key": _new_key()})


@ask_pages.post("/progress")
def question_progress(state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    """Which step a question of the caller is at, as far as this process knows."""
    return JSONResponse({"step": state.tickets.step(caller.person.name, first_value(form, "key")[:200])})


def _question_page(
    dataset: DatasetConfig, who: Caller, form: Form, key: str, said: Said, *, items: list[str], status: int = 200
) -> Response:
    said, wrong = said if isinstance(said, tuple) else (said, None)
    given = {field: values[0] for field, values in form.items()}
    body = ask_page(dataset, FormState(given, wrong), items, key, said)
    return page_response(f"Ask {dataset.name}", body, who=who, status=status, here="/", script=True)


def _question(form: Form) -> Question:
    """The question of a form.

    Raises:
        FieldProblem: A field holds what cannot be read; the first one, in the order of the table.
    """
    if not form.get("item"):
        raise FieldProblem("item", "Tick at least one column to rank.")
    if first_value(form, "mechanism") not in ("", AUTO, *offered_mechanisms()):
        raise FieldProblem("mechanism", "Choose a mechanism of the list.")
    _check_filter(first_value(form, "where").strip() or None)
    read = {row.name: _read_field(form, row) for row in fields_of(Face.HTTP)}
    given = {name: value for name, value in read.items() if value not in (None, [])}
    if not first_value(form, "score"):
        given.pop("clip", None)  # the field stands in every form
    if not form.get("by"):
        for name in ("groups_per_user", "groups", "floor"):
            given.pop(name, None)
    return Question.from_fields(cast(QuestionFields, given))


def _read_field(form: Form, row: QuestionField) -> object:
    """The value that a form gives to a field; None where it gives none."""
    if row.kind is ValueKind.FLAG:
        return first_value(form, row.name) == "yes" if row.name in form else None
    if row.kind is ValueKind.COLUMNS:
        return form.get(row.name, [])[:MOST_COLUMNS]
    text = first_value(form, row.name).strip()
    if not text and row.default is not ...:
        return None
    if row.kind is ValueKind.COUNT:
        return _parse_count(form, row.name, row.in_form, row.at_most or 1)
    if row.kind in (ValueKind.EPSILON, ValueKind.DELTA) and len(text) > (row.longest or 0):
        raise FieldProblem(row.name, "Write ε and δ as short numbers, such as 0.5 or 1e-8.")
    return text[: row.longest]


def _guessed_data(form: Form, dataset: DatasetConfig) -> PublicFacts | None:
    """What the form says about data of this kind; nothing where it does not say how many users there are."""
    if not first_value(form, "users").strip():
        return None
    users = _parse_count(form, "users", "Users, roughly", _MOST_USERS)
    per_user = PER_USER
    if first_value(form, "per_user").strip():
        per_user = _parse_count(form, "per_user", "Items of each user", 10**6)
    shape = first_value(form, "shape") or DEFAULT_SHAPE
    items = dataset.public.items if dataset.public else None
    return PublicFacts(users=users, items=items, per_user=per_user, shape=shape[:200])


def _parse_count(form: Form, name: str, label: str, most: int) -> int:
    text = first_value(form, name).strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 20 and 1 <= int(text) <= most):
        raise FieldProblem(name, f"{label}: write a whole number from 1 to {most:,}.")
    return int(text)


def _refusal(problem: Problem) -> str:
    words = capitalize_first(problem.message.rstrip(".")) + "."
    return f"Refused, and nothing was charged. {words}" if problem.code == "budget_exhausted" else words


def _new_key() -> str:
    return secrets.token_urlsafe(16)


class FieldProblem(Problem):
    """Something that was written into a field of the form, and cannot be asked."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(422, "bad_question", message)
        self.field = field


def field_of_problem(problem: Problem) -> str | None:
    """The field that a refusal is about, as far as that is known: the core begins with its name."""
    if isinstance(problem, FieldProblem):
        return problem.field
    named = _FIELD.match(problem.message) if problem.code == "bad_question" else None
    return None if named is None else named[1]


def _check_filter(text: str | None) -> None:
    try:
        if text is not None:
            where.parse_filter(text)
    except CrestlineError as error:
        raise FieldProblem("where", capitalize_first(str(error))) from None
