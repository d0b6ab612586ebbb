"""The addresses of the owner: one page, and two forms. Everybody else is refused as if nothing were there."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from crestline.access.expiry import expiry_time
from crestline.errors import ParameterError
from crestline.ledger.receipt import utc_now
from crestline.web.pages.forms import CurrentState, Fields, SignedInOwner, first_value, page_response
from crestline.web.pages.owner.owner_page import new_token_page, owner_page
from crestline.web.pages.parts.layout import capitalize_first
from crestline.web.permissions import Caller
from crestline.web.problems import Problem
from crestline.web.service_state import ServiceState

owner_pages = APIRouter(include_in_schema=False)


@owner_pages.get("/owner")
def owner_home(state: CurrentState, caller: SignedInOwner) -> Response:
    return _overview_response(state, caller)


@owner_pages.post("/owner/tokens")
def create(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """Make a token, and show it: in this response alone, which nothing keeps."""
    analyst, life = first_value(form, "analyst"), first_value(form, "expires").strip()
    if analyst not in state.config.analysts:
        raise Problem(422, "bad_request", "Choose an analyst of the list.")
    try:
        end = expiry_time(life, utc_now()) if life else None
    except ParameterError as error:
        return _overview_response(state, caller, capitalize_first(str(error)) + ".")
    token = state.tokens.create(analyst, end, by=caller.person.name)
    return page_response("Token", new_token_page(analyst, token, end), who=caller, here="/owner", script=True)


@owner_pages.post("/owner/revoke")
def revoke(state: CurrentState, caller: SignedInOwner, form: Fields) -> Response:
    """End a token; one's own, too, which signs out."""
    try:
        state.tokens.revoke(first_value(form, "number"), by=caller.person.name)
    except ParameterError:
        raise Problem(422, "bad_request", "There is no token of this number.") from None
    return RedirectResponse("/owner#tokens", 303)


def _overview_response(state: ServiceState, caller: Caller, wrong: str | None = None) -> Response:
    body = owner_page(state.config, caller.accounts(state), state.tokens.list_tokens(), utc_now(), wrong)
    status = 200 if wrong is None else 422
    lead = "What is served, to whom, and the tokens. Data sets, analysts and budgets are set in the configuration."
    return page_response("Owner", body, who=caller, status=status, here="/owner", lead=lead)
