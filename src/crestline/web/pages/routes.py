"""The pages' addresses: sign in, the data sets, how answers are made; the others are in modules of their own."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from crestline.charts.drawing import Bar
from crestline.mechanisms.catalogue import CATALOGUE
from crestline.prepare.auto_rules import BOUNDED_CHARGED, MANY_ITEMS, WITH_LEDGER, auto_mechanism_names
from crestline.web.access.callers import caller_by_cookie, caller_by_token
from crestline.web.pages.answers import answer_pages, bars_of
from crestline.web.pages.ask_routes import ask_pages
from crestline.web.pages.balances import Remaining, newest_remaining, title_of
from crestline.web.pages.forecast import reason_not_offered
from crestline.web.pages.forms import COOKIE, CurrentState, Fields, SignedIn, first_value
from crestline.web.pages.history import history_reader, lines_of, past_pages
from crestline.web.pages.owner import owner_pages
from crestline.web.pages.rendering import KINDS, asset, page_response
from crestline.web.pages.reports import report_pages
from crestline.web.permissions import Caller, find_answer
from crestline.web.problems import Problem
from crestline.web.service_state import ServedDataset, ServiceState

_RECENT = 4
_SHOWN_ITEMS = 5

pages = APIRouter(include_in_schema=False)
pages.include_router(ask_pages)
pages.include_router(report_pages)
pages.include_router(past_pages)
pages.include_router(answer_pages)
pages.include_router(owner_pages)


@pages.get("/style.css")
@pages.get("/script.js")
@pages.get("/icon.svg")
def static_file(request: Request) -> Response:
    name = request.url.path.rpartition("/")[2]
    return Response(asset(name), media_type=KINDS[name])


@dataclass(frozen=True)
class _NewestAnswer:
    """The newest answer of a data set that the reader may see."""

    number: int
    title: str
    rows: list[Bar]


@dataclass(frozen=True)
class _Card:
    """What the first page says about a data set."""

    name: str
    title: str
    description: str | None
    columns: tuple[str, ...]
    users: str
    left: Remaining
    newest: _NewestAnswer | None


@pages.get("/")
def home(request: Request, state: CurrentState) -> Response:
    caller = caller_by_cookie(state, request.cookies.get(COOKIE))
    if caller is None:
        return page_response("sign_in.html", who=None, message=None)
    cards = [_card(state, caller, part) for part in caller.visible_datasets(state)]
    recent = lines_of(state, caller, history_reader(state, caller).lines(None, _RECENT))
    return page_response("home.html", who=caller, here="/", datasets=cards, lines=recent)


def _card(state: ServiceState, caller: Caller, part: ServedDataset) -> _Card:
    config, account = part.config, part.ledger.account(caller.payer)
    return _Card(
        config.name,
        title_of(config),
        config.description,
        config.items,
        config.words.users,
        newest_remaining(part.ledger, account),
        _newest_answer(state, caller, config.name),
    )


def _newest_answer(state: ServiceState, caller: Caller, dataset: str) -> _NewestAnswer | None:
    settled = history_reader(state, caller).newest_settlement(dataset)
    if settled is None or settled.receipt is None:
        return None
    number = settled.receipt if caller.payer is None else settled.analyst_number
    try:
        answer, _ = find_answer(state, caller, number)
    except Problem:  # it was settled without an answer
        return None
    return _NewestAnswer(number, answer.heading, bars_of(answer)[:_SHOWN_ITEMS])


@pages.post("/sign-in")
def sign_in(state: CurrentState, form: Fields) -> Response:
    try:
        caller = caller_by_token(state, first_value(form, "token").strip())
    except Problem as problem:
        message = "This token is not known." if problem.status == 403 else problem.message
        return page_response("sign_in.html", who=None, status=problem.status, message=message)
    response = RedirectResponse("/", 303)
    cookie = state.sessions.create_cookie(caller.token, caller.person.name)
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=True)
    return response


@pages.post("/sign-out")
def sign_out(request: Request, state: CurrentState, form: Fields) -> Response:
    state.sessions.end(request.cookies.get(COOKIE, ""))
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=True)
    return response


@pages.get("/how")
def how(caller: SignedIn) -> Response:
    """How answers are made, for everybody; the mechanisms, for those who choose one."""
    rules = {
        "Where the owner bounds the items of each user": BOUNDED_CHARGED,
        "In one pass over the table": MANY_ITEMS,
        "Otherwise": WITH_LEDGER,
    }
    return page_response(
        "how.html",
        who=caller,
        catalogue=CATALOGUE,
        taken=auto_mechanism_names(),
        rules=rules,
        reason_not_offered=reason_not_offered,
    )
