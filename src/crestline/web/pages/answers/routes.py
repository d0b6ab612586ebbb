"""The addresses of an answer: its page, and the same as files."""

from __future__ import annotations

import io
from html import escape
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from crestline.answer.answer import Answer
from crestline.answer.tabular import columns
from crestline.label_text import write_csv
from crestline.web.pages.answers.request_examples import curl_command, public_lists, python_program, request_body
from crestline.web.pages.forms import CurrentState, SignedIn, page_response
from crestline.web.pages.parts.html import Html, element
from crestline.web.pages.parts.layout import section
from crestline.web.pages.simple_pages import answer_page
from crestline.web.permissions import Caller, explain_without_address, find_answer, stored_answer_json
from crestline.web.service_state import ServiceState

Number = Annotated[int, Path(ge=0, le=2**63 - 1)]

answer_pages = APIRouter(include_in_schema=False)


@answer_pages.get("/answers/{number}.csv")
def answer_csv(number: Number, state: CurrentState, caller: SignedIn) -> Response:
    """The items as a table. A program that takes text for formulas gets none."""
    answer, _ = find_answer(state, caller, number)
    table = columns(answer)
    text = io.StringIO()
    write_csv(text, [*table], zip(*table.values(), strict=True))
    return Response(
        text.getvalue(), media_type="text/csv; charset=utf-8", headers=_attachment_header(f"answer-{number}.csv")
    )


@answer_pages.get("/answers/{number}.json")
def answer_json_file(number: Number, state: CurrentState, caller: SignedIn) -> Response:
    """What the API gives."""
    return JSONResponse(stored_answer_json(state, caller, number), headers=_attachment_header(f"answer-{number}.json"))


@answer_pages.get("/answers/{number}")
def page(request: Request, number: Number, state: CurrentState, caller: SignedIn) -> Response:
    found, time = find_answer(state, caller, number)
    again = request_body(found, _public_lists_of(state, caller, number, found))
    body = (
        answer_page(found, explain_without_address(found, width=10**6), time),
        _files_and_examples(request, number, found, again),
    )
    return page_response(found.heading, *body, who=caller, script=True)


def _public_lists_of(state: ServiceState, caller: Caller, number: int, answer: Answer) -> dict[str, Any]:
    """The public lists that the question named."""
    receipt = number if caller.payer is None else state.store.reservation_of_number(caller.payer, number)
    reserved = None if receipt is None else state.store.entry(receipt)
    assert reserved is not None, "an answer has its reservation"
    return public_lists(answer, reserved.content["question"], state.datasets[reserved.dataset].config.domains)


def _files_and_examples(request: Request, number: int, answer: Answer, body: dict[str, Any]) -> Html:
    """Files to keep, and the same question for a program."""
    url = f"{_service_address(request)}/v1/datasets/{quote(answer.source, safe='')}/top"
    files = element(
        "p",
        element("a", "Download as CSV", href=f"/answers/{number}.csv", download=True, class_="button second"),
        " ",
        element("a", "Download as JSON", href=f"/answers/{number}.json", download=True, class_="button second"),
    )
    again = (
        "The same question, asked by a program that has your token in the variable TOKEN. While the version of the "
        "data is the same, it is served again at no cost; otherwise it is a new question, and pays."
    )
    programs = (_code_block("curl", curl_command(url, body)), _code_block("Python", python_program(url, body)))
    return section("Elsewhere", files, element("p", again, class_="hint"), *programs, name="elsewhere")


def _code_block(name: str, text: str) -> Html:
    """Code to copy: by hand, or with the button that our script adds."""
    block = element(
        "pre", element("code", Html(escape(text))), data_copy=name, tabindex="0", role="region", aria_label=f"As {name}"
    )
    return element("details", element("summary", f"As {name}"), block)


def _service_address(request: Request) -> str:
    """The address of the service as the browser knows it: behind a proxy with TLS, unless it is on this machine."""
    host = request.headers.get("host", "")
    local = urlsplit(f"//{host}").hostname in ("127.0.0.1", "::1", "localhost")
    return f"{'http' if local else 'https'}://{host}"


def _attachment_header(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
