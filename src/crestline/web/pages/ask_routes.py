"""The addresses of a question: the form, its forecast, and asking it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response

from crestline.config import DEFAULT_SHAPE, DatasetConfig
from crestline.errors import CrestlineError
from crestline.question_fields import ALL, FIELDS
from crestline.web.answer_once import QueuedQuestion, answer_from_queue, run_unpaid
from crestline.web.pages.ask_form import NUMBERS, FormProblem, FormState, read_guess, read_question
from crestline.web.pages.balances import newest_remaining, recent_periods, short_period, title_of
from crestline.web.pages.forecast import PER_USER, SHAPES, TRIALS, Forecast, forecast, offered_mechanisms
from crestline.web.pages.forms import CurrentState, Fields, Form, SignedIn, first_value
from crestline.web.pages.rendering import capitalize_first, page_response
from crestline.web.permissions import Caller
from crestline.web.problems import Problem, problem_of
from crestline.web.requests.idempotency import cancel_request
from crestline.web.service_state import ServedDataset, ServiceState

_FIELD = re.compile(rf"({'|'.join(FIELDS)})\b")

ask_pages = APIRouter(include_in_schema=False)


@ask_pages.get("/datasets/{name}")
async def new_question_page(request: Request, name: str, state: CurrentState, caller: SignedIn) -> Response:
    """The form with its forecast, as usual or as its address says: a link fills it in, and asks nothing."""
    dataset = caller.dataset(state, name)
    linked = {field: request.query_params.getlist(field) for field in request.query_params}
    usual = {"item": list(dataset.config.items[:1]), "counts": ["yes"]}
    form = await run_in_threadpool(_with_defaults, linked or usual, dataset, caller)
    found = None
    with suppress(CrestlineError, Problem):  # the button says what is wrong
        found = await _forecast(request, state, caller, name, form)
    return await run_in_threadpool(_question_page, state, dataset, caller, _Shown(FormState(form), found=found))


@ask_pages.post("/datasets/{name}")
async def submit_question(request: Request, name: str, state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    dataset = caller.dataset(state, name)
    key = first_value(form, "key")[:200]
    page = partial(_question_page, state, dataset, caller)
    try:
        if first_value(form, "do") == "forecast":
            found = await _forecast(request, state, caller, name, form)
        else:
            question = read_question(form, state.config.limits.k)
            asked = QueuedQuestion(caller, name, question, key or None)
            body = await answer_from_queue(state, asked, request.is_disconnected)
            return RedirectResponse(f"/answers/{body['id']}", 303)
    except (CrestlineError, Problem) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        open_end = problem.status >= 500 or problem.code == "unfinished"  # pressing the button again must not pay again
        errors = field_errors(problem)
        message = None if errors else _refusal(problem)
        kept = key if open_end else ""
        shown = _Shown(FormState(form, errors), key=kept, message=message, status=problem.status)
    else:
        shown = _Shown(FormState(form), key=key, found=found)
    return await run_in_threadpool(page, shown)


async def _forecast(request: Request, state: ServiceState, caller: Caller, name: str, form: Form) -> Forecast:
    """The forecast of what a form asks; refused as the question itself."""
    question = read_question(form, state.config.limits.k)
    guess = read_guess(form, caller.dataset(state, name).config)
    work = partial(forecast, state, caller, name, question, guess)
    return await run_unpaid(state, caller, name, work, request.is_disconnected)


@ask_pages.post("/cancel")
def cancel(state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    """What became of a question that its asker gave up; asked until it is decided."""
    key = first_value(form, "key")[:200]
    if not key:
        raise FormProblem({"key": "The key of the question is missing."})
    found = cancel_request(state.store, caller.person.name, key)
    return JSONResponse(found if found["state"] == "ended" else {**found, "key": _new_key()})


@ask_pages.post("/progress")
def question_progress(state: CurrentState, caller: SignedIn, form: Fields) -> Response:
    """Which step a question of the caller is at, as far as this process knows."""
    return JSONResponse({"step": state.tickets.step(caller.person.name, first_value(form, "key")[:200])})


def field_errors(problem: Problem) -> Mapping[str, str]:
    """What a refusal says about fields of the form, as far as that is known: the core begins with a field's name."""
    if isinstance(problem, FormProblem):
        return problem.errors
    named = _FIELD.match(problem.message) if problem.code == "bad_question" else None
    return {} if named is None else {named[1]: _refusal(problem)}


def _with_defaults(form: Form, dataset: ServedDataset, caller: Caller) -> Form:
    """A form with what it asks where nothing else is written: the usual number, and the last period that has ended."""
    periods = recent_periods(dataset.ledger, dataset.ledger.account(caller.payer))
    named = not periods or any(form.get(name) for name in ("period", "since", "last"))
    return {"k": [FormState(form).number], **form} | ({} if named else {"period": [str(periods[-2].period)]})


@dataclass(frozen=True)
class _Shown:
    """What the page shows: the form, the forecast of its question, or why it was refused. `key` makes it count once."""

    form: FormState
    key: str = ""
    found: Forecast | None = None
    message: str | None = None
    status: int = 200


def _question_page(state: ServiceState, dataset: ServedDataset, caller: Caller, shown: _Shown) -> Response:
    config, form = dataset.config, shown.form
    account = dataset.ledger.account(caller.payer)
    periods = recent_periods(dataset.ledger, account)
    newest = periods[-2].period if periods else None
    return page_response(
        "ask.html",
        who=caller,
        here="/",
        status=shown.status,
        script=True,
        dataset=config,
        title=title_of(config),
        form=form,
        fields=FIELDS,
        key=shown.key or _new_key(),
        most=state.config.limits.k,
        numbers=[*(number for number in NUMBERS if number <= state.config.limits.k), ALL],
        periods=periods,
        newest=newest,
        short_period=short_period,
        left=newest_remaining(dataset.ledger, account),
        choices=_choices(config, form),
        guess=_usual_guess(config),
        message=shown.message,
        found=shown.found,
        trials=TRIALS,
    )


def _choices(dataset: DatasetConfig, form: FormState) -> dict[str, dict[str, str]]:
    """What the fields with a list of choices offer, by field: value and words."""
    shape = form.get("shape", dataset.public.shape if dataset.public else DEFAULT_SHAPE)
    lists = {name: name for name in dataset.domains}
    return {
        "mechanism": {"auto": "automatic", **{name: name for name in offered_mechanisms()}},
        "domain": {"": "not publicly listed", **lists},
        "groups": {"": "not publicly listed: only groups in which an item is named", **lists},
        "shape": SHAPES if shape in SHAPES else {shape: f"as published: {shape}", **SHAPES},
    }


def _usual_guess(dataset: DatasetConfig) -> dict[str, str]:
    """What stands in the fields about data of this kind at first."""
    public = dataset.public
    if public is None:
        return {"users": "", "per_user": str(PER_USER), "shape": DEFAULT_SHAPE}
    return {"users": str(public.users), "per_user": str(public.per_user or PER_USER), "shape": public.shape}


def _refusal(problem: Problem) -> str:
    words = capitalize_first(problem.message.rstrip(".")) + "."
    return f"Refused, and nothing was charged. {words}" if problem.code == "budget_exhausted" else words


def _new_key() -> str:
    return secrets.token_urlsafe(16)
