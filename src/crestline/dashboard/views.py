"""What each page says (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from crestline.answer.answer import Answer
from crestline.answer.views import columns
from crestline.cli.ledger_rows import ENTRY_COLUMNS, entry_row, used
from crestline.dashboard.chart import chart
from crestline.dashboard.html import Html, join, table, tag, void
from crestline.ledger.entries import Entry
from crestline.ledger.records import Account
from crestline.service.config import DatasetConfig


def page(title: str, *body: Any, who: str | None) -> Html:
    """A whole page; `who` is signed in, or nobody is."""
    links = [tag("a", "Data sets", href="/"), tag("a", "History", href="/history")]
    leave = tag("form", tag("button", f"Sign out {who}", class_="second"), method="post", action="/sign-out")
    bar = tag("header", tag("strong", "crestline"), *([tag("nav", join(_spaced(links))), leave] if who else ()))
    head = tag(
        "head",
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} – crestline"),
        void("link", rel="stylesheet", href="/style.css"),
    )
    skip = tag("a", "Skip to the content", class_="skip", href="#content")
    main = tag("main", tag("h1", title), *body, id="content")
    return Html("<!DOCTYPE html>" + tag("html", head, tag("body", skip, bar, main), lang="en"))


def sign_in() -> Html:
    """The form for those who are not signed in."""
    return tag(
        "form",
        tag(
            "div",
            tag("label", "Token", for_="token"),
            void("input", type="password", id="token", name="token", autocomplete="current-password", required=True),
            tag(
                "p", "Ask the owner of the data for one. It is sent once, and not kept in your browser.", class_="hint"
            ),
        ),
        tag("div", tag("button", "Sign in")),
        class_="ask",
        method="post",
        action="/sign-in",
    )


def alert(message: str) -> Html:
    """Something went wrong."""
    return tag("p", message, class_="alert", role="alert")


def note(message: str) -> Html:
    """Something to know."""
    return tag("p", message, class_="note", role="status")


def way_back(number: str) -> Html:
    """The number to tell the owner, and a way out."""
    return tag("p", f"Request {number}. ", tag("a", "Back to the data sets", href="/"))


def home(datasets: Sequence[DatasetConfig], accounts: Sequence[Account]) -> Html:
    """The catalogue, and the budgets."""
    rows = [
        (
            tag("a", part.name, href=f"/datasets/{part.name}"),
            ", ".join(part.items),
            ", ".join(part.filters) or "none",
            part.contribution or "not bounded",
            part.version or "by the source",
        )
        for part in datasets
    ]
    heads = ("Data set", "Items", "Filters", "Items of each user", "Version")
    return join([table("What you may ask; follow a name to ask it", heads, rows), budgets(accounts)])


def budgets(accounts: Sequence[Account]) -> Html:
    """What is spent and what is left."""
    rows = [
        (
            account.dataset if account.analyst is None else f"{account.dataset} / {account.analyst}",
            str(account.balance.budget),
            tag("meter", f"{used(account):.0%}", min="0", max="1", high="0.8", value=f"{used(account):.4f}",
                aria_label="used"),
            f"{used(account):.1%}",
            str(account.balance.remaining),
        )
        for account in accounts
    ]  # fmt: skip
    heads = ("Budget", "In all", "", "Used", "Left")
    return join([tag("h2", "Budgets"), table("What may be spent, and what is left", heads, rows)])


def ask_form(dataset: DatasetConfig, given: Mapping[str, str], chosen: Sequence[str], key: str) -> Html:
    """The question. `key` makes it count once, however often the button is pressed."""
    boxes = [
        tag(
            "label",
            void("input", type="checkbox", name="item", value=name, checked=True if name in chosen else None),
            f" {name}",
            class_="inline",
        )
        for name in dataset.items
    ]
    listed = ", ".join(dataset.filters)
    hint = f"Optional. You may use: {listed}. Text and dates in single quotes." if listed else "No filters here."
    counts = void("input", type="checkbox", name="counts", value="yes", checked=True if "counts" in given else None)
    return tag(
        "form",
        void("input", type="hidden", name="key", value=key),
        tag("fieldset", tag("legend", "Items: rank one column, or several together"), *boxes),
        _field("k", "How many", given.get("k", "10"), "number", min="1", required=True),
        _field("where", "Filter", given.get("where", ""), hint=hint),
        _field("epsilon", "ε of this answer", given.get("epsilon", ""), hint="Empty: a tenth of your budget."),
        _field("delta", "δ of this answer", given.get("delta", ""), hint="Empty: a twentieth of your budget."),
        tag("label", counts, " Release noisy counts, too", class_="inline"),
        tag(
            "div",
            tag("button", "Ask", name="do", value="ask"),
            " ",
            tag("button", "Only show the price", class_="second", name="do", value="price"),
        ),
        class_="ask",
        method="post",
        action=f"/datasets/{dataset.name}",
    )


def answer_page(answer: Answer, explanation: str, time: str) -> Html:
    """The items, what they cost, why it stopped."""
    data = columns(answer)
    rows = list(zip(*data.values(), strict=True))
    found = table("The answer", list(data), rows) if rows else note("Nothing could be named.")
    stopped = "Yes, on purpose: nothing more could be named privately." if answer.stopped else "No."
    facts = (
        ("Asked for", f"{answer.question.k} of {', '.join(answer.question.item)} in {answer.source}"),
        ("Filter", answer.question.where or "none"),
        ("Stopped before that", stopped),
        ("Promise", str(answer.guarantee)),
        ("Paid", answer.spent),
        ("Left", answer.remaining),
        ("Mechanism", f"{answer.mechanism.name}: {answer.mechanism.reason}"),
        ("When", time[:19].replace("T", " ") + " UTC"),
    )
    return join(
        [
            chart(answer) or "",
            found,
            table("What was asked, promised and paid", ("", ""), facts),
            tag("h2", "In plain words"),
            tag("pre", Html(escape(explanation))),
        ]
    )


def history(entries: Sequence[Entry]) -> Html:
    """Who asked what, the newest first."""
    rows = []
    for entry in reversed(entries):
        row = entry_row(entry)
        if entry.kind == "settled":
            row["question"] = tag("a", f"answer {entry.receipt}", href=f"/answers/{entry.receipt}")
        rows.append([row[name] for name in ENTRY_COLUMNS])
    return table("The last entries in the books, the newest first", list(ENTRY_COLUMNS.values()), rows)


def _field(name: str, words: str, value: str, kind: str = "text", hint: str | None = None, **more: Any) -> Html:
    described = None if hint is None else f"{name}-hint"
    return tag(
        "div",
        tag("label", words, for_=name),
        void("input", type=kind, id=name, name=name, value=value, aria_describedby=described, **more),
        "" if hint is None else tag("p", hint, class_="hint", id=described),
    )


def _spaced(parts: Sequence[Html]) -> list[Any]:
    return [piece for part in parts for piece in (part, " ")]
