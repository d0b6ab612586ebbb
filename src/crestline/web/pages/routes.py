"""The pages' addresses: sign in, the data sets, an answer, budgets, the history, the catalogue."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from crestline.mechanisms.catalogue import CATALOGUE
from crestline.web.access.callers import caller_by_cookie, caller_by_token
from crestline.web.pages import simple_pages
from crestline.web.pages.answers.routes import answer_pages
from crestline.web.pages.ask_routes import ask_pages
from crestline.web.pages.assets import KINDS, asset
from crestline.web.pages.forms import COOKIE, CurrentState, Fields, SignedIn, first_value, page_response
from crestline.web.pages.history.routes import past_pages
from crestline.web.pages.owner.routes import owner_pages
from crestline.web.pages.parts.layout import alert_box
from crestline.web.pages.reports.routes import report_pages
from crestline.web.problems import Problem

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


@pages.get("/")
def home(request: Request, state: CurrentState) -> Response:
    caller = caller_by_cookie(state, request.cookies.get(COOKIE))
    if caller is None:
        return page_response(
            "Sign in", simple_pages.sign_in(), who=None, lead="Private top-k over data that stay where they are."
        )
    body = simple_pages.home([part.config for part in caller.visible_datasets(state)], caller.accounts(state))
    return page_response("Data sets", body, who=caller, here="/")


@pages.post("/sign-in")
def sign_in(state: CurrentState, form: Fields) -> Response:
    try:
        caller = caller_by_token(state, first_value(form, "token").strip())
    except Problem as problem:
        message = "This token is not known." if problem.status == 403 else problem.message
        return page_response("Sign in", alert_box(message), simple_pages.sign_in(), who=None, status=problem.status)
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


@pages.get("/mechanisms")
def mechanisms(caller: SignedIn) -> Response:
    lead = "Which mechanism answers is decided from the question alone, never from the data."
    body = (simple_pages.auto_choice_text(), simple_pages.mechanisms(CATALOGUE))
    return page_response("Mechanisms", *body, who=caller, here="/mechanisms", lead=lead)
