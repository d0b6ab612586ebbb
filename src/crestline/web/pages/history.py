"""The addresses of what was asked and spent so far: the history, and budgets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from fastapi.responses import Response

from crestline.ledger.entries import Entry
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import promise_texts
from crestline.ledger.storage.rows import Account
from crestline.web.pages.balances import (
    Remaining,
    earlier_periods,
    newest_remaining,
    recent_periods,
    short_period,
    title_of,
)
from crestline.web.pages.forms import CurrentState, SignedIn
from crestline.web.pages.history_lines import HistoryLine, HistoryWriter
from crestline.web.pages.pagination import HistoryReader
from crestline.web.pages.rendering import page_response
from crestline.web.permissions import Caller
from crestline.web.service_state import ServiceState

LINES = 50  # of the history, on one page
_LARGEST = 2**63 - 1

past_pages = APIRouter(include_in_schema=False)


@past_pages.get("/history")
def history_page(
    state: CurrentState,
    caller: SignedIn,
    find: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None,
) -> Response:
    words, reader, writer = tuple(find.split()), history_reader(state, caller), _history_writer(state, caller, {})
    start = reader.sequence_of_number(before)
    fits = partial(writer.matches, words) if words else None
    found = reader.lines(start, LINES + 1, writer.stored_words(words), fits)
    shown = found[:LINES] if len(found) <= LINES else reader.cut_at_numbered_line(found[:LINES])
    fields = {"find": find.strip()} if find.strip() else {}
    older = {**fields, "before": str(reader.visible_number(shown[-1]))} if len(found) > LINES else None
    return page_response(
        "history.html",
        who=caller,
        here="/history",
        find=find.strip(),
        lines=lines_of(state, caller, shown),
        older=None if older is None else f"/history?{urlencode(older)}",
        newest=None if before is None else f"/history?{urlencode(fields)}" if fields else "/history",
    )


def lines_of(state: ServiceState, caller: Caller, entries: Sequence[Entry]) -> list[HistoryLine]:
    """Lines for entries that open one, with what became of each."""
    reader = history_reader(state, caller)
    settled = reader.settlements([entry.sequence for entry in entries if entry.kind == "reserved"])
    again = reader.entries_by_number([one.receipt for one in entries if one.kind == "answered" and one.receipt])
    writer = _history_writer(state, caller, {one.sequence: one for one in again})
    return writer.lines([*entries, *settled.values()])


def history_reader(state: ServiceState, caller: Caller) -> HistoryReader:
    """What the caller may read of the ledger."""
    return HistoryReader(
        state.store.database, tuple(part.config.name for part in caller.visible_datasets(state)), caller.payer
    )


def _history_writer(state: ServiceState, caller: Caller, served: dict[int | None, Entry]) -> HistoryWriter:
    own = (account for account in caller.accounts(state) if account.analyst == caller.payer)
    limits = {account.dataset: account.balance.budget.limit for account in own}
    datasets = {part.config.name: part.config for part in caller.visible_datasets(state)}
    return HistoryWriter(caller.payer, limits, datasets, served)


@dataclass(frozen=True)
class _Budget:
    """The reader's own budget of one data set; for an owner, with the budgets of all accounts."""

    name: str
    title: str
    budget: str
    left: Remaining
    periods: list[Remaining]
    earlier: list[Remaining]
    per: str
    promises: tuple[str, ...]
    accounts: tuple[_Budget, ...] = ()


@past_pages.get("/budget")
def budget(state: CurrentState, caller: SignedIn) -> Response:
    budgets = []
    for part in caller.visible_datasets(state):
        own = part.ledger.account(caller.payer)
        others = [one for one in part.ledger.accounts if one.analyst is not None] if caller.is_owner else []
        accounts = tuple(_budget(part.ledger, one, part.config.name, title_of(part.config)) for one in others)
        budgets.append(_budget(part.ledger, own, part.config.name, title_of(part.config), accounts))
    return page_response("budget.html", who=caller, here="/budget", budgets=budgets, short_period=short_period)


def _budget(ledger: Ledger, account: Account, name: str, title: str, accounts: tuple[_Budget, ...] = ()) -> _Budget:
    limit, periods = account.balance.budget, recent_periods(ledger, account)
    promised = account.analyst is None and limit.calendar is not None
    touched = sum(one.span == 1 for one in ledger.periods()) if promised else 0
    return _Budget(
        name,
        title,
        str(limit),
        newest_remaining(ledger, account),
        periods,
        earlier_periods(ledger, account),
        "" if limit.calendar is None else limit.calendar.per,
        promise_texts(limit, touched) if promised else (),
        accounts,
    )
