"""The addresses of the owner: one page, and two forms. Everybody else is refused as if nothing were there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from crestline.access.expiry import expiry_time
from crestline.access.tokens import Token
from crestline.config import AnalystConfig, DatasetConfig
from crestline.errors import ParameterError
from crestline.ledger.entries import utc_text
from crestline.ledger.receipt import utc_now
from crestline.web.pages.balances import Remaining, newest_remaining, title_of
from crestline.web.pages.forms import CurrentState, Fields, SignedInOwner, first_value
from crestline.web.pages.rendering import capitalize_first, page_response
from crestline.web.permissions import Caller
from crestline.web.problems import Problem
from crestline.web.service_state import ServiceState

USUAL_LIFE = "90d"

owner_pages = APIRouter(include_in_schema=False)


@owner_pages.get("/owner")
def owner_home(state: CurrentState, caller: SignedInOwner) -> Response:
    return _overview_response(state, caller, USUAL_LIFE, {})


@owner_pages.post("/owner/tokens")
def create(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """Make a token, and show it: in this response alone, which nothing keeps."""
    analyst, life = first_value(form, "analyst"), first_value(form, "expires").strip()
    if analyst not in state.config.analysts:
        raise Problem(422, "bad_request", "Choose an analyst of the list.")
    try:
        end = expiry_time(life, utc_now()) if life else None
    except ParameterError as error:
        return _overview_response(state, caller, life[:10], {"expires": capitalize_first(str(error)) + "."})
    token = state.tokens.create(analyst, end, by=caller.person.name)
    return page_response(
        "token.html", who=caller, here="/owner", script=True, analyst=analyst, token=token, expires=end
    )


@owner_pages.post("/owner/revoke")
def revoke(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """End a token; one's own, too, which signs out."""
    try:
        state.tokens.revoke(first_value(form, "number"), by=caller.person.name)
    except ParameterError:
        raise Problem(422, "bad_request", "There is no token of this number.") from None
    return RedirectResponse("/owner#tokens", 303)


@dataclass(frozen=True)
class _Served:
    """A data set, and what is left of its budget."""

    config: DatasetConfig
    title: str
    left: Remaining


@dataclass(frozen=True)
class _Person:
    """An account: its budgets, each with the data set's title and what is left, and how many tokens hold."""

    person: AnalystConfig
    budgets: list[tuple[str, str, Remaining]]
    tokens: int


def _overview_response(state: ServiceState, caller: Caller, life: str, errors: Mapping[str, str]) -> Response:
    now = utc_now()
    tokens = [(token, token_state(token, now)) for token in reversed(state.tokens.list_tokens())]
    served = [
        _Served(part.config, title_of(part.config), newest_remaining(part.ledger, part.ledger.account()))
        for part in state.datasets.values()
    ]
    accounts = [
        _Person(
            person,
            _budgets(state, person.name),
            sum(token.analyst == person.name and holds == "holds" for token, holds in tokens),
        )
        for person in state.config.analysts.values()
    ]
    return page_response(
        "owner.html",
        who=caller,
        here="/owner",
        status=422 if errors else 200,
        datasets=served,
        accounts=accounts,
        tokens=tokens,
        life=life,
        errors=errors,
    )


def _budgets(state: ServiceState, analyst: str) -> list[tuple[str, str, Remaining]]:
    """The budgets of an analyst."""
    return [
        (title_of(part.config), str(account.balance.budget), newest_remaining(part.ledger, account))
        for part in state.datasets.values()
        for account in part.ledger.accounts
        if account.analyst == analyst
    ]


def token_state(token: Token, now: datetime) -> str:
    """Whether a token holds."""
    if token.revoked is not None:
        return "revoked"
    return "holds" if token.expires is None or utc_text(now) < token.expires else "expired"
