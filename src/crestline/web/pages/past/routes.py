"""The addresses of what was asked and spent so far."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from crestline.ledger.storage.records import Account
from crestline.web.asking import Caller
from crestline.web.clock import utc_now
from crestline.web.pages.forms import CurrentState, SignedIn, page_response
from crestline.web.pages.parts.layout import section
from crestline.web.pages.past.budget_view import budget_page
from crestline.web.pages.past.history import asked, history, holds, older, search, words_of
from crestline.web.pages.past.query import Reader
from crestline.web.pages.past.spending import Point, read, spending, unknown_reservations
from crestline.web.state import ServiceState

LINES = 50  # of the history, on one page
STEPS = 80  # entries of the ledger for a picture
_LARGEST = 2**63 - 1

past_pages = APIRouter(include_in_schema=False)


@past_pages.get("/history")
def past(
    state: CurrentState,
    caller: SignedIn,
    find: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    find = find.strip()
    reader = _reader(state, caller)
    found = reader.lines(reader.place_of(before), LINES + 1, words_of(find), holds)
    shown = found[:LINES] if len(found) <= LINES else reader.to_a_numbered_line(found[:LINES])
    settled = reader.settlements([entry.sequence for entry in shown if entry.kind == "reserved"])
    own = (account for account in caller.accounts(state) if account.analyst == caller.payer)
    limits = {account.dataset: account.balance.budget.limit for account in own}
    again = reader.numbered([entry.receipt for entry in shown if entry.kind == "answered" and entry.receipt])
    lines = asked([*shown, *settled.values()], caller.payer, limits, {entry.sequence: entry for entry in again})
    rest = older(reader.told(shown[-1]), find) if len(found) > LINES else ""
    newest = "" if before is None else older(None, find)
    body = (search(find), history(lines, with_analysts=caller.is_owner, find=find), newest, rest)
    lead = "Everybody's questions." if caller.is_owner else "Your own questions."
    page = section("Questions", *body, name="questions")
    return page_response("History", page, who=caller, here="/history", lead=lead)


@past_pages.get("/budget")
def budget(state: CurrentState, caller: SignedIn) -> Response:
    accounts = caller.accounts(state)
    calendars = [_calendar(state, account) for account in accounts if account.balance.budget.calendar is not None]
    plain = [account for account in accounts if account.balance.budget.calendar is None]
    lead = "Everybody's budgets." if caller.is_owner else "Your own budgets. What others spend is the owner's to see."
    page = budget_page(_spent(_reader(state, caller), plain), utc_now(), calendars)
    return page_response("Budget", page, who=caller, here="/budget", lead=lead)


def _reader(state: ServiceState, caller: Caller) -> Reader:
    return Reader(state.tables, tuple(part.config.name for part in caller.sees(state)), caller.payer)


def _calendar(state: ServiceState, account: Account) -> tuple[Account, list[Account]]:
    """A budget by period, and its accounts."""
    return account, state.datasets[account.dataset].ledger.periods(account.analyst)


def _spent(reader: Reader, accounts: list[Account]) -> list[tuple[Account, list[Point]]]:
    """Every account with what was used when, as far as the newest entries tell."""
    spent = []
    for dataset in dict.fromkeys(account.dataset for account in accounts):
        steps = read(reader.charges(dataset, STEPS))
        before = read(reader.numbered(unknown_reservations(steps)))
        own = [account for account in accounts if account.dataset == dataset]
        spent += [(account, spending(account, steps, before)) for account in own]
    return spent
