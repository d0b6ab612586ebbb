"""Forms: who sends one, what its fields say, and how a page is sent back."""

from __future__ import annotations

from typing import Annotated, TypeAlias
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse, Response

from crestline.web.access.callers import caller_by_cookie
from crestline.web.pages.rendering import page_response
from crestline.web.permissions import Caller
from crestline.web.problems import Problem, forbidden_problem
from crestline.web.service_state import ServiceState

COOKIE = "crestline"
_TITLES = {
    402: "Not enough budget",
    403: "You may not see this",
    404: "There is no page here",
    409: "This question was sent before",
    413: "This is too large",
    422: "This cannot be done",
    429: "Too many requests",
    500: "The service made a mistake",
    503: "The data do not answer",
}

# What a person needs to know, where the words of the API speak to a program.
_MESSAGES = {
    "forbidden": "Either it does not exist, or your account may not see it. The owner of the data can allow it.",
    "no_such_route": "The address may be mistyped, or the page is from an earlier version.",
}

Form: TypeAlias = dict[str, list[str]]


class SignInFirst(Problem):
    """The visitor is not signed in."""

    def __init__(self) -> None:
        super().__init__(401, "sign_in", "Sign in first.")


def _service_state(request: Request) -> ServiceState:
    state: ServiceState = request.app.state.service
    return state


CurrentState = Annotated[ServiceState, Depends(_service_state)]


def _signed_in_caller(request: Request, state: CurrentState) -> Caller:
    caller = caller_by_cookie(state, request.cookies.get(COOKIE))
    if caller is None:
        raise SignInFirst
    request.state.signed_in, request.state.analyst = caller, caller.person.name
    return caller


def _owner_or_forbidden(caller: SignedIn) -> Caller:
    if not caller.is_owner:
        raise forbidden_problem()
    return caller


async def _read_form(request: Request) -> Form:
    """The fields of a form that one of our own pages sent."""
    if not _is_same_origin(request):
        raise forbidden_problem()
    return parse_qs((await request.body()).decode("utf-8", "replace"))


def _is_same_origin(request: Request) -> bool:
    """Whether the page that sent a form is of this host, as far as the browser says.

    A browser that says where a form comes from in `Sec-Fetch-Site` is believed. `Origin` is looked at in older ones
    only: because our pages send no referrer, browsers write `null` there for our own forms as well.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


SignedIn = Annotated[Caller, Depends(_signed_in_caller)]
SignedInOwner = Annotated[Caller, Depends(_owner_or_forbidden)]
Fields = Annotated[Form, Depends(_read_form)]


def error_page(request: Request, problem: Problem) -> Response:
    """A refusal as a page; who is not signed in is sent to do so."""
    if isinstance(problem, SignInFirst):
        return RedirectResponse("/", 303)
    return page_response(
        "error.html",
        who=getattr(request.state, "signed_in", None),
        status=problem.status,
        title=_TITLES.get(problem.status, "This did not work"),
        message=_MESSAGES.get(problem.code, problem.message),
        number=request.state.request_id,
    )


def first_value(form: Form, name: str) -> str:
    """The first value of a field, or nothing."""
    return form.get(name, [""])[0]
