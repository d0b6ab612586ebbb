"""The addresses of an answer: its page, and the same as files."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Path, Request
from fastapi.responses import JSONResponse, Response

from crestline.answer.answer import Answer
from crestline.answer.explain import promise_line
from crestline.answer.group_answers import GroupItems, groups_per_user_text, items_found_text
from crestline.answer.tabular import columns
from crestline.charts.drawing import Bar, largest_value, with_commas
from crestline.label_text import label_text, write_csv
from crestline.ledger.entries import Entry
from crestline.web.pages.balances import Remaining, newest_remaining, remaining_of, title_of
from crestline.web.pages.forms import CurrentState, SignedIn
from crestline.web.pages.history_lines import question_address
from crestline.web.pages.rendering import capitalize_first, page_response
from crestline.web.pages.request_examples import curl_command, public_lists, python_program, request_body
from crestline.web.permissions import Caller, explain_without_address, find_answer, stored_answer_json
from crestline.web.service_state import ServedDataset, ServiceState

MANY_GROUPS = 12  # from here on a list of all groups comes first
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
    answer, time = find_answer(state, caller, number)
    reserved = _reservation(state, caller, number)
    served = state.datasets[reserved.dataset]
    body = request_body(answer, public_lists(answer, reserved.content["question"], served.config.domains))
    address = f"{_service_address(request)}/v1/datasets/{quote(answer.source, safe='')}/top"
    return page_response(
        "answer.html",
        who=caller,
        here="/",
        script=True,
        code={"curl": curl_command(address, body), "Python": python_program(address, body)},
        **answer_values(answer, served, caller, number, time),
    )


def answer_values(answer: Answer, served: ServedDataset, caller: Caller, number: int, time: str) -> dict[str, Any]:
    """What the page says about an answer."""
    words, table = served.config.words, columns(answer)
    question = answer.question
    unit = words.users if question.score is None else str(question.score)
    groups = [_Group(label_text(group.label), bars_of(group), group.stopped) for group in answer.by_group or ()]
    explanation = explain_without_address(answer, width=10**6).splitlines()
    return {
        "answer": answer,
        "number": number,
        "time": time,
        "dataset": served.config,
        "title": title_of(served.config),
        "unit": unit,
        "lead": lead_sentence(answer, unit),
        "rows": bars_of(answer),
        "interval": _interval_text(answer, unit),
        "groups": groups,
        "most": largest_value([row for group in groups for row in group.rows]),
        "many": MANY_GROUPS,
        "summary": [] if answer.by_group is None else _group_sentences(answer, answer.by_group),
        "heads": [capitalize_first(name.replace("_", " ")) for name in table],
        "cells": list(zip(*table.values(), strict=True)),
        "promise": promise_line(answer).partition(": ")[2],
        "explanation": [line.partition(": ") if _has_head(line) else ("", "", line) for line in explanation],
        "steps": list(_next_steps(answer, served)),
        "again": _address(answer),
        "left": _remaining(answer, served, caller),
    }


@dataclass(frozen=True)
class _Group:
    """One group: its name and its ranking."""

    name: str
    rows: list[Bar]
    stopped: bool


@dataclass(frozen=True)
class _Step:
    """Something to ask next: what, why, and the form with it."""

    title: str
    reason: str
    address: str


def bars_of(part: Answer | GroupItems) -> list[Bar]:
    """The items of an answer, or of a group, as lines of a ranking."""
    items = part.listed_items
    counts: Sequence[Fraction | None] = part.counts or [None] * len(items)
    ends = part.intervals or [(None, None)] * len(items)
    last_ranks = [last for _, last in part.rank_intervals or ()] or range(1, len(items) + 1)
    return [
        Bar(label_text(item), None if count is None else float(count), low, high, last > rank)
        for rank, (item, count, (low, high), last) in enumerate(
            zip(items, counts, ends, last_ranks, strict=True), start=1
        )
    ]


def lead_sentence(answer: Answer, unit: str) -> str:
    """The result in one or two sentences, which are on top of the page."""
    if answer.by_group is not None:
        return f"{capitalize_first(items_found_text(answer.by_group, answer.question.k))}."
    if not len(answer):
        return ""
    rows = bars_of(answer)
    named = f"{len(answer)} of {answer.question.k} named; then it stopped, on purpose." if answer.stopped else ""
    if not isinstance(answer.items, tuple):
        return f"{named} A set: the order of its items means nothing.".strip()
    first = rows[0]
    text = f"“{first.name}” leads" + ("" if first.value is None else f" with about {with_commas(first.value)} {unit}")
    close = [f"{rank} and {rank + 1}" for rank, row in enumerate(rows[:-1], 1) if row.near]
    if close:
        text += f". Ranks {', '.join(close)} are too close to order"
    return f"{text}. {named}".strip()


def _group_sentences(answer: Answer, groups: Sequence[GroupItems]) -> list[str]:
    """What must be known to read the groups."""
    text = [f"{capitalize_first(groups_per_user_text(answer.question))}."]
    if answer.question.groups is None:
        text.append("Of a group in which nothing could be named nothing is said, not even that it exists.")
    else:
        text.append("Every group of the public list is shown.")
    return text if answer.needs is None or not groups else [*text, f"In its group an item needs {answer.needs}."]


def _interval_text(answer: Answer, unit: str) -> str:
    """How wide the intervals are."""
    widths = sorted((high - low) / 2 for low, high in answer.intervals or ())
    if not widths:
        return ""
    few, many = with_commas(widths[0]), with_commas(widths[-1])
    return f"95% interval, ± {few if few == many else f'{few} to ± {many}'} {unit}"


def _has_head(line: str) -> bool:
    head, colon, _ = line.partition(":")
    return bool(colon) and head.isalpha()


def _address(answer: Answer, **changes: object) -> str:
    """The form with the question of an answer, but for some fields."""
    question = answer.question
    chosen = ("user", "k_bar", "mechanism")
    asked = {name: value for name, value in question.to_fields().items() if name not in chosen}
    fields = {"k": question.k, "item": question.item, **asked, **changes}
    return question_address(answer.source, {name: value for name, value in fields.items() if value is not None})


def _next_steps(answer: Answer, served: ServedDataset) -> Iterator[_Step]:
    """Up to three questions that name more; they follow from the question alone."""
    question, words = answer.question, served.config.words
    if not answer.stopped:
        return
    if question.where:
        yield _Step(
            "Leave the filter out",
            f"All rows, not only those where {question.where}: more {words.users} share what is popular.",
            _address(answer, where=None),
        )
    if question.by:
        yield _Step(
            "Ask without groups",
            "One ranking of all rows: what is spread over the groups comes together.",
            _address(answer, by=None, groups_per_user=None, groups=None, floor=None),
        )
    coarser = [name for name in served.config.items if name not in question.item]
    if coarser:
        name = words.nouns[coarser[0]][1] if coarser[0] in words.nouns else coarser[0]
        yield _Step(
            f"Ask for {name}",
            f"Another column: if it has fewer values, more {words.users} share each.",
            _address(answer, item=coarser[0]),
        )
    yield _Step(
        "Pay more for it",
        "A larger share of the budget names what fewer have. The forecast says how many, before anything is paid.",
        _address(answer, epsilon=None, delta=None) + "#more",
    )


def _remaining(answer: Answer, served: ServedDataset, caller: Caller) -> Remaining:
    """What is left of the account that paid; of several periods, of the last."""
    ledger, period = served.ledger, answer.question.periods
    account = ledger.account(caller.payer)
    if period is None:
        return newest_remaining(ledger, account)
    label = period.labels[-1]
    paid = [one for one in ledger.periods(caller.payer) if one.period == label and one.span == 1]
    return remaining_of(paid[0] if paid else account, label)


def _reservation(state: ServiceState, caller: Caller, number: int) -> Entry:
    """The entry that reserved the cost of an answer."""
    receipt = number if caller.payer is None else state.store.reservation_of_number(caller.payer, number)
    reserved = None if receipt is None else state.store.entry(receipt)
    assert reserved is not None, "an answer has its reservation"
    return reserved


def _service_address(request: Request) -> str:
    """The address of the service as the browser knows it: behind a proxy with TLS, unless it is on this machine."""
    host = request.headers.get("host", "")
    local = urlsplit(f"//{host}").hostname in ("127.0.0.1", "::1", "localhost")
    return f"{'http' if local else 'https'}://{host}"


def _attachment_header(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
