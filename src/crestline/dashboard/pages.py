"""The pages' addresses: sign in, the catalogue, a question, an answer, the history."""

from __future__ import annotations

import secrets
from typing import Annotated, Any, TypeAlias
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from crestline.dashboard import views
from crestline.dashboard.style import STYLE
from crestline.errors import CrestlineError
from crestline.price.price import price
from crestline.service.admission import admitted, admitted_again
from crestline.service.answering import answer_once
from crestline.service.asking import Caller, Wanted, explained, prepared, recalled
from crestline.service.house import House
from crestline.service.problems import Problem, forbidden, problem_of

COOKIE = "crestline"
_POLICY = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
_SHOWN = 200

Form: TypeAlias = dict[str, list[str]]
pages = APIRouter(include_in_schema=False)


class SignInFirst(Problem):
    """Nobody is signed in."""

    def __init__(self) -> None:
        super().__init__(401, "sign_in", "Sign in first.")


def _house(request: Request) -> House:
    house: House = request.app.state.house
    return house


OpenHouse = Annotated[House, Depends(_house)]


def _visitor(request: Request, house: OpenHouse) -> Caller:
    caller = admitted_again(house, request.cookies.get(COOKIE))
    if caller is None:
        raise SignInFirst
    return caller


async def _form(request: Request) -> Form:
    """The fields of a form that one of our own pages sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise forbidden()
    return parse_qs((await request.body()).decode("utf-8", "replace"))


Visitor = Annotated[Caller, Depends(_visitor)]
Fields = Annotated[Form, Depends(_form)]


def shown(title: str, *body: Any, who: str | None, status: int = 200) -> HTMLResponse:
    """A page with its headers."""
    return HTMLResponse(
        views.page(title, *body, who=who), status_code=status, headers={"Content-Security-Policy": _POLICY}
    )


def error_page(problem: Problem, number: str) -> Response:
    """A refusal as a page; who is not signed in is sent to do so."""
    if isinstance(problem, SignInFirst):
        return RedirectResponse("/", 303)
    body = (views.alert(problem.message), views.way_back(number))
    return shown("This did not work", *body, who=None, status=problem.status)


@pages.get("/style.css")
def style() -> Response:
    return Response(STYLE, media_type="text/css")


@pages.get("/")
def home(request: Request, house: OpenHouse) -> Response:
    caller = admitted_again(house, request.cookies.get(COOKIE))
    if caller is None:
        return shown("Sign in", views.sign_in(), who=None)
    body = views.home([part.config for part in caller.sees(house)], caller.accounts(house))
    return shown("Data sets", body, who=caller.person.name)


@pages.post("/sign-in")
def sign_in(house: OpenHouse, form: Fields) -> Response:
    try:
        caller = admitted(house, _one(form, "token").strip())
    except Problem as problem:
        message = "This token is not known." if problem.status == 403 else problem.message
        return shown("Sign in", views.alert(message), views.sign_in(), who=None, status=problem.status)
    response = RedirectResponse("/", 303)
    cookie = house.sessions.cookie(caller.token)
    response.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=True)
    return response


@pages.post("/sign-out")
def sign_out(form: Fields) -> Response:
    response = RedirectResponse("/", 303)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=True)
    return response


@pages.get("/datasets/{name}")
def ask_page(name: str, house: OpenHouse, caller: Visitor) -> Response:
    dataset = caller.dataset(house, name).config
    form = views.ask_form(dataset, {}, dataset.items[:1], secrets.token_urlsafe(16))
    return shown(f"Ask {dataset.name}", form, who=caller.person.name)


@pages.post("/datasets/{name}")
def asked(name: str, house: OpenHouse, caller: Visitor, form: Fields) -> Response:
    served = caller.dataset(house, name)
    key, status = _one(form, "key")[:200], 200
    try:
        wanted = _wanted(form)
        if _one(form, "do") != "price":
            body = answer_once(house, caller, name, wanted, key or None)
            return RedirectResponse(f"/answers/{body['id']}", 303)
        said = views.note(_price(house, caller, name, wanted))
    except (CrestlineError, Problem) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        said, status = views.alert(problem.message), problem.status
        open_end = problem.status >= 500 or problem.code == "unfinished"  # pressing the button again must not pay again
        key = key if open_end else secrets.token_urlsafe(16)
    given = {field: values[0] for field, values in form.items()}
    again = views.ask_form(served.config, given, form.get("item", []), key or secrets.token_urlsafe(16))
    return shown(f"Ask {name}", said, again, who=caller.person.name, status=status)


@pages.get("/answers/{number}")
def answer(number: Annotated[int, Path(ge=0, le=2**63 - 1)], house: OpenHouse, caller: Visitor) -> Response:
    found, time = recalled(house, caller, number)
    body = views.answer_page(found, explained(found), time)
    return shown(f"Answer {number}", body, who=caller.person.name)


@pages.get("/history")
def history(house: OpenHouse, caller: Visitor) -> Response:
    entries = [entry for part in caller.sees(house) for entry in part.ledger.history(10 * _SHOWN)]
    mine = [entry for entry in entries if caller.is_owner or entry.analyst == caller.payer]
    newest = sorted(mine, key=lambda entry: entry.sequence)[-_SHOWN:]
    return shown("History", views.history(newest), who=caller.person.name)


def _wanted(form: Form) -> Wanted:
    k = _one(form, "k")
    if not (k.isascii() and k.isdigit() and 0 < len(k) <= 9):
        raise Problem(422, "bad_question", "How many items? Write a whole number.")
    if not form.get("item"):
        raise Problem(422, "bad_question", "Tick at least one column to rank.")
    where, epsilon, delta = (_one(form, name).strip() or None for name in ("where", "epsilon", "delta"))
    for number in (epsilon, delta):
        if number is not None and len(number) > 40:
            raise Problem(422, "bad_question", "Write ε and δ as short numbers, such as 0.5 or 1e-8.")
    return Wanted(tuple(form["item"][:16]), int(k), where, epsilon, delta, counts="counts" in form)


def _price(house: House, caller: Caller, name: str, wanted: Wanted) -> str:
    served = caller.dataset(house, name)
    _, chosen = prepared(served, caller, wanted, house.config.limits)
    accounts = [account for account in served.ledger.payers(caller.payer) if account in caller.accounts(house)]
    found = price(chosen, [(account.title, account.balance) for account in accounts])
    fits = "It fits what is left." if found.fits else "It does not fit what is left: it would be refused."
    return f"Nothing was asked yet. This would cost {found}.\n{fits}"


def _one(form: Form, name: str) -> str:
    return form.get(name, [""])[0]
