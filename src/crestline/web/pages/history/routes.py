"""The addresses of what was asked and spent so far."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.rows import Account
from crestline.web.pages.forms import CurrentState, SignedIn, page_response
from crestline.web.pages.history.budget_view import budget_page
from crestline.web.pages.history.lines import (
    entry_matches,
    history,
    history_lines,
    older_link,
    search_form,
    search_words,
)
from crestline.web.pages.history.pagination import HistoryReader
from crestline.web.pages.history.spending import (
    SpendingPoint,
    earlier_reservations,
    spending_over_time,
    steps_by_number,
)
from crestline.web.pages.parts.layout import section
from crestline.web.permissions import Caller
from crestline.web.service_state import ServiceState

LINES = 50  # of the history, on one page
STEPS = 80  # entries of the ledger for a picture
_LARGEST = 2**63 - 1

past_pages = APIRouter(include_in_schema=False)


@past_pages.get("/history")
def history_page(
    state: CurrentState,
    caller: SignedIn,
    find: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    find = find.strip()
    reader = _history_reader(state, caller)
    found = reader.lines(reader.sequence_of_number(before), LINES + 1, search_words(find), entry_matches)
    shown = found[:LINES] if len(found) <= LINES else reader.cut_at_numbered_line(found[:LINES])
    settled = reader.settlements([entry.sequence for entry in shown if entry.kind == "reserved"])
    own = (account for account in caller.accounts(state) if account.analyst == caller.payer)
    limits = {account.dataset: account.balance.budget.limit for account in own}
    again = reader.entries_by_number([entry.receipt for entry in shown if entry.kind == "answered" and entry.receipt])
    lines = history_lines([*shown, *settled.values()], caller.payer, limits, {entry.sequence: entry for entry in again})
    rest = older_link(reader.visible_number(shown[-1]), find) if len(found) > LINES else ""
    newest = "" if before is None else older_link(None, find)
    body = (search_form(find), history(lines, with_analysts=caller.is_owner, find=find), newest, rest)
    lead = "Everybody's questions." if caller.is_owner else "Your own questions."
    page = section("Questions", *body, name="questions")
    return page_response("History", page, who=caller, here="/history", lead=lead)


@past_pages.get("/budget")
def budget(state: CurrentState, caller: SignedIn) -> Response:
    accounts = caller.accounts(state)
    calendars = [_calendar(state, account) for account in accounts if account.balance.budget.calendar is not None]
    plain = [account for account in accounts if account.balance.budget.calendar is None]
    lead = "Everybody's budgets." if caller.is_owner else "Your own budgets. What others spend is the owner's to see."
    page = budget_page(_spending_of_accounts(_history_reader(state, caller), plain), utc_now(), calendars)
    return page_response("Budget", page, who=caller, here="/budget", lead=lead)


def _history_reader(state: ServiceState, caller: Caller) -> HistoryReader:
    return HistoryReader(
        state.store.database, tuple(part.config.name for part in caller.visible_datasets(state)), caller.payer
    )


def _calendar(state: ServiceState, account: Account) -> tuple[Account, list[Account]]:
    """A budget by period, and its accounts."""
    return account, state.datasets[account.dataset].ledger.periods(account.analyst)


def _spending_of_accounts(reader: HistoryReader, accounts: list[Account]) -> list[tuple[Account, list[SpendingPoint]]]:
    """Every account with what was used when, as far as the newest entries tell."""
    spent = []
    for dataset in dict.fromkeys(account.dataset for account in accounts):
        steps = steps_by_number(reader.charges(dataset, STEPS))
        before = steps_by_number(reader.entries_by_number(earlier_reservations(steps)))
        own = [account for account in accounts if account.dataset == dataset]
        spent += [(account, spending_over_time(account, steps, before)) for account in own]
    return spent
