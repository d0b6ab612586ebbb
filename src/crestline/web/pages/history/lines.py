"""Who asked what, what came of it and what it cost: the entries of a ledger as one line for each question (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from crestline.ledger.amount import Amount
from crestline.ledger.budget import Budget
from crestline.ledger.budget_fractions import fraction_of
from crestline.ledger.entries import ENDINGS, Entry
from crestline.web.pages.parts.html import Html, element, join_html, table, void
from crestline.web.pages.parts.layout import time_html

NOBODY = "the data set itself"  # an owner asks at its expense
_EVERYWHERE = {"top", "where", "by", "for", "every", "and", "with"}  # our own words


@dataclass(frozen=True)
class HistoryLine:
    """One line: a question, or a budget that was opened."""

    sequence: int
    time: str
    dataset: str
    analyst: str | None
    words: str
    outcome: Html
    cost: Html | str


def history_lines(
    entries: Sequence[Entry],
    payer: str | None,
    limits: Mapping[str, Amount],
    served: Mapping[int | None, Entry] | None = None,
) -> list[HistoryLine]:
    """The lines, the newest first. Costs are parts of the payer's own budget of each data set, whose ends are `limits`;
    None stands for the data set's. `served` has the reservations of an analyst that were answered again, by number."""
    settled = {entry.receipt: entry for entry in entries if entry.kind in ENDINGS}
    begun = {entry.receipt for entry in entries if entry.kind == "begun"}
    lines = []
    for entry in entries:
        if entry.kind in ("begun", *ENDINGS):
            continue  # told with its reservation
        paid, names = partial(_part, payer, limits), partial(_answer_number, payer)
        if entry.kind == "answered":
            words, outcome, cost = _same_answer_cells(
                entry.receipt if payer is None else names((served or {})[entry.receipt])
            )
        else:
            words, outcome, cost = _line_cells(entry, settled.get(entry.sequence), paid, names)
        if entry.is_reserved_ahead and entry.sequence not in settled and entry.sequence not in begun:
            outcome, cost = _status_tag("reserved ahead"), paid(entry)
        lines.append(HistoryLine(entry.sequence, entry.time, entry.dataset, entry.analyst, words, outcome, cost))
    return sorted(lines, key=lambda line: line.sequence, reverse=True)


def history(lines: Sequence[HistoryLine], *, with_analysts: bool, find: str = "") -> Html:
    """The lines as a table."""
    if not lines:
        return element("p", f"Nothing here holds {find!r}." if find else "Nothing was asked so far.")
    rows = []
    for line in lines:
        who = (line.analyst or NOBODY,) if with_analysts else ()
        rows.append((time_html(line.time), *who, line.dataset, line.words, line.outcome, line.cost))
    heads = ("When", *(("Who pays",) if with_analysts else ()), "Data set", "Question", "Outcome", "Part of the budget")
    return table(f"{len(rows)} lines, the newest first", heads, rows)


def search_form(find: str) -> Html:
    """The form to search with."""
    field = void("input", type="search", id="find", name="find", value=find, maxlength="200")
    parts = (element("label", "Search questions", for_="find"), field, element("button", "Search", class_="second"))
    return element("form", *parts, class_="search", role="search", method="get", action="/history")


def search_words(find: str) -> tuple[str, ...]:
    """The words that are searched for, without those that every line has. Capital letters matter, as in a filter."""
    return tuple(word for word in find.split() if word not in _EVERYWHERE)


def entry_matches(entry: Entry, words: Sequence[str]) -> bool:
    """Whether all words are in the question as it is shown, the data set, who asked, or what happened."""
    asked = question_text(entry.content.get("question") or {}) if entry.kind in ("reserved", "refused") else ""
    text = " ".join((asked, entry.dataset, entry.analyst or NOBODY, entry.kind))
    return all(word in text for word in words)


def older_link(before: int | None, find: str) -> Html:
    """The way to older lines, or back to the newest."""
    fields = {"find": find} if find else {}
    words = "Back to the newest" if before is None else "Older"
    told = urlencode(fields if before is None else {**fields, "before": str(before)})
    return element("p", element("a", words, href=f"/history?{told}" if told else "/history"))


def _part(payer: str | None, limits: Mapping[str, Amount], entry: Entry) -> Html:
    """The part of the payer's budget that an entry charges; what that is in its own units, on a closer look."""
    charge = entry.charge_of(payer)
    return element("span", f"{fraction_of(charge, limits[entry.dataset]):.1%}", title=str(charge))


def _answer_number(payer: str | None, reserved: Entry) -> int:
    """The number of an answer for whoever looks: analysts count their own questions, an owner sees the ledger's."""
    return reserved.sequence if payer is None else reserved.analyst_number


def _same_answer_cells(number: int | None) -> tuple[str, Html, str]:
    return f"the same as answer {number}", _answer_link(number, "served again"), "nothing"


def _line_cells(
    entry: Entry, settled: Entry | None, paid: Callable[[Entry], Html], name: Callable[[Entry], int]
) -> tuple[str, Html, Html | str]:
    content = entry.content
    if entry.kind == "opened":
        return f"budget of {Budget.from_json(content['budget'])}", _status_tag("opened"), ""
    words = question_text(content.get("question") or {})
    if entry.kind == "refused":
        return words, _status_tag("refused", bad=True), "nothing"
    if settled is None:
        return words, _status_tag("not ended", bad=True), join_html([paid(entry), " (stays charged)"])
    if settled.kind == "voided":
        return words, _status_tag("not asked", bad=True), "nothing"
    link = _answer_link(name(entry), f"answer {name(entry)}")
    if name(entry) == entry.analyst_number:
        return words, link, paid(settled)
    return (
        words,
        join_html([link, f" ({entry.analyst}'s {entry.analyst_number})"]),
        paid(settled),
    )  # what they know it by


def question_text(question: dict[str, Any]) -> str:
    """A question of a ledger in words."""
    if "k" not in question or "item" not in question:
        return "a question in other words"  # asked by a program with words of its own
    text = f"top {question['k']} {' and '.join(map(str, question['item']))}"
    if question.get("by"):
        text += f" for every {' and '.join(map(str, question['by']))}"
    if question.get("where"):
        text += f" where {question['where']}"
    return f"{text}, by {_mechanism_text(question)}" if question.get("mechanism") else text


def _mechanism_text(question: dict[str, Any]) -> str:
    """The mechanism; of one that adds counts, the one that selects."""
    inner = str((question.get("parameters") or {}).get("mechanism", "")).partition("(")[0]
    return f"{inner} with {question['mechanism']}" if inner else str(question["mechanism"])


def _answer_link(number: int | None, words: str) -> Html:
    return element("a", words, href=f"/answers/{number}")


def _status_tag(words: str, *, bad: bool = False) -> Html:
    return element("span", words, class_="tag bad" if bad else "tag")
