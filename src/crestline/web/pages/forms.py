"""Forms: who sends one, what its fields say, and how a page is sent back."""

from __future__ import annotations

from typing import Annotated, TypeAlias, Unpack
from urllib.parse import parse_qs, urlsplit

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from crestline.web.access.callers import caller_by_cookie
from crestline.web.pages.parts.layout import Frame, Visitor, alert_box, error_footer, page
from crestline.web.permissions import Caller
from crestline.web.problems import Problem, forbidden_problem
from crestline.web.service_state import ServiceState

COOKIE = "crestline"
# Nothing but our own files, and no script, style or handler inside a page.
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)

Form: TypeAlias = dict[str, list[str]]


class SignInFirst(Problem):
    """Nobody is signed in."""

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


def page_response(
    title: str, *body: object, who: Caller | None, status: int = 200, **frame: Unpack[Frame]
) -> HTMLResponse:
    """A page with its headers; `frame` goes to `page`."""
    visitor = None if who is None else Visitor(who.person.name, who.is_owner)
    text = page(title, *body, who=visitor, **frame)
    return HTMLResponse(text, status_code=status, headers={"Content-Security-Policy": POLICY})


def error_page(request: Request, problem: Problem) -> Response:
    """A refusal as a page; who is not signed in is sent to do so."""
    if isinstance(problem, SignInFirst):
        return RedirectResponse("/", 303)
    body = (alert_box(problem.message), error_footer(request.state.request_id))
    who = getattr(request.state, "signed_in", None)
    return page_response("This did not work", *body, who=who, status=problem.status)


def first_value(form: Form, name: str) -> str:
    """The first value of a field, or nothing."""
    return form.get(name, [""])[0]
