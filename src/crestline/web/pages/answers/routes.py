"""The addresses of an answer: its page, and the same as files."""

from __future__ import annotations

import csv
import io
from html import escape
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from crestline.answer.answer import Answer
from crestline.answer.tabular import columns
from crestline.web.asking import Caller, explained, recalled, stored
from crestline.web.pages.answers.again import body_of, curl, lists_of, python
from crestline.web.pages.contents import answer_page
from crestline.web.pages.forms import CurrentState, SignedIn, page_response
from crestline.web.pages.parts.html import Html, tag
from crestline.web.pages.parts.layout import section
from crestline.web.state import ServiceState

Number = Annotated[int, Path(ge=0, le=2**63 - 1)]

answer_pages = APIRouter(include_in_schema=False)


@answer_pages.get("/answers/{number}.csv")
def as_csv(number: Number, state: CurrentState, caller: SignedIn) -> Response:
    """The items as a table. A program that takes text for formulas gets none."""
    answer, _ = recalled(state, caller, number)
    table = columns(answer)
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(map(_cell, table))
    writer.writerows([_cell(value) for value in row] for row in zip(*table.values(), strict=True))
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=_saved_as(f"answer-{number}.csv"))


@answer_pages.get("/answers/{number}.json")
def as_json(number: Number, state: CurrentState, caller: SignedIn) -> Response:
    """What the API gives."""
    return JSONResponse(stored(state, caller, number), headers=_saved_as(f"answer-{number}.json"))


@answer_pages.get("/answers/{number}")
def page(request: Request, number: Number, state: CurrentState, caller: SignedIn) -> Response:
    found, time = recalled(state, caller, number)
    again = body_of(found, _lists(state, caller, number, found))
    body = (answer_page(found, explained(found, width=10**6), time), _elsewhere(request, number, found, again))
    return page_response(f"Answer {number}", *body, who=caller, script=True)


def _lists(state: ServiceState, caller: Caller, number: int, answer: Answer) -> dict[str, Any]:
    """The public lists that the question named."""
    receipt = number if caller.payer is None else state.store.reservation_told(caller.payer, number)
    reserved = None if receipt is None else state.store.entry(receipt)
    assert reserved is not None, "an answer has its reservation"
    return lists_of(answer, reserved.content["question"], state.datasets[reserved.dataset].config.domains)


def _elsewhere(request: Request, number: int, answer: Answer, body: dict[str, Any]) -> Html:
    """Files to keep, and the same question for a program."""
    url = f"{_here(request)}/v1/datasets/{quote(answer.source, safe='')}/top"
    files = tag(
        "p",
        tag("a", "Download as CSV", href=f"/answers/{number}.csv", download=True, class_="button second"),
        " ",
        tag("a", "Download as JSON", href=f"/answers/{number}.json", download=True, class_="button second"),
    )
    again = (
        "The same question, asked by a program that has your token in the variable TOKEN. While the version of the "
        "data is the same, it is served again at no cost; otherwise it is a new question, and pays."
    )
    programs = (_code("curl", curl(url, body)), _code("Python", python(url, body)))
    return section("Elsewhere", files, tag("p", again, class_="hint"), *programs, name="elsewhere")


def _code(name: str, text: str) -> Html:
    """Code to copy: by hand, or with the button that our script adds."""
    block = tag(
        "pre", tag("code", Html(escape(text))), data_copy=name, tabindex="0", role="region", aria_label=f"As {name}"
    )
    return tag("details", tag("summary", f"As {name}"), block)


def _here(request: Request) -> str:
    """The address of the service as the browser knows it: behind a proxy with TLS, unless it is on this machine."""
    host = request.headers.get("host", "")
    local = urlsplit(f"//{host}").hostname in ("127.0.0.1", "::1", "localhost")
    return f"{'http' if local else 'https'}://{host}"


def _cell(value: object) -> object:
    """A text that a spreadsheet would run as a formula is marked as text: labels are somebody else's."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


def _saved_as(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
