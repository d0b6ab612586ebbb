"""The addresses of the owner: one page, and two forms. Everybody else is refused as if nothing were there."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from crestline.errors import ParameterError
from crestline.web.access.expiry import expiry
from crestline.web.asking import Caller
from crestline.web.clock import utc_now
from crestline.web.pages.forms import CurrentState, Fields, SignedInOwner, one, page_response
from crestline.web.pages.owner.view import owner_page, secret_page
from crestline.web.pages.parts.layout import capital
from crestline.web.problems import Problem
from crestline.web.state import ServiceState

owner_pages = APIRouter(include_in_schema=False)


@owner_pages.get("/owner")
def overview(state: CurrentState, caller: SignedInOwner) -> Response:
    return _overview(state, caller)


@owner_pages.post("/owner/tokens")
def create(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """Make a token, and show it: in this response alone, which nothing keeps."""
    analyst, life = one(form, "analyst"), one(form, "expires").strip()
    if analyst not in state.config.analysts:
        raise Problem(422, "bad_request", "Choose an analyst of the list.")
    try:
        end = expiry(life, utc_now()) if life else None
    except ParameterError as error:
        return _overview(state, caller, capital(str(error)) + ".")
    token = state.tokens.create(analyst, end)
    return page_response("Token", secret_page(analyst, token, end), who=caller, here="/owner", script=True)


@owner_pages.post("/owner/revoke")
def revoke(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """End a token; one's own, too, which signs out."""
    try:
        state.tokens.revoke(one(form, "number"))
    except ParameterError:
        raise Problem(422, "bad_request", "There is no token of this number.") from None
    return RedirectResponse("/owner#tokens", 303)


def _overview(state: ServiceState, caller: Caller, wrong: str | None = None) -> Response:
    body = owner_page(state.config, caller.accounts(state), state.tokens.all(), utc_now(), wrong)
    status = 200 if wrong is None else 422
    lead = "What is served, to whom, and the tokens. Data sets, analysts and budgets are set in the configuration."
    return page_response("Owner", body, who=caller, status=status, here="/owner", lead=lead)
