"""What the pages say: sign in, the data sets, an answer, the catalogue (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from crestline.answer.answer import Answer
from crestline.answer.tabular import columns
from crestline.ledger.report import used
from crestline.ledger.storage.records import Account
from crestline.mechanisms.catalogue import Entry
from crestline.prepare.rules import BOUNDED_CHARGED, MANY_ITEMS, WITH_LEDGER, auto_takes
from crestline.question import Question
from crestline.web.config import DatasetConfig
from crestline.web.pages.forecast import why_not
from crestline.web.pages.groups_view import groups_part, many_groups
from crestline.web.pages.parts.chart import chart
from crestline.web.pages.parts.html import Html, join, table, tag, void
from crestline.web.pages.parts.layout import capital, facts, moment, note, section
from crestline.web.pages.past.budget_view import left, title


def sign_in() -> Html:
    """The form for those who are not signed in."""
    hint = "Ask the owner of the data for one. It is sent once, and not kept in your browser."
    field = void(
        "input", type="password", id="token", name="token", autocomplete="current-password", required=True,
        aria_describedby="token-hint",
    )  # fmt: skip
    form = tag(
        "form",
        tag("div", tag("label", "Token", for_="token"), field, tag("p", hint, class_="hint", id="token-hint")),
        tag("div", tag("button", "Sign in")),
        class_="ask",
        method="post",
        action="/sign-in",
    )
    return tag("div", form, class_="card narrow")


def home(datasets: Sequence[DatasetConfig], accounts: Sequence[Account]) -> Html:
    """What may be asked, and what is left for it."""
    rows = [
        (
            tag("a", part.name, href=f"/datasets/{part.name}"),
            ", ".join(part.items),
            ", ".join(part.filters) or "none",
            f"at most {part.contribution}" if part.contribution else "any number",
            part.version or "by the source",
        )
        for part in datasets
    ]
    heads = ("Data set", "Items", "Filters", "Items counted of each user", "Version")
    return join(
        [
            section("Ask", table("What you may ask; follow a name to ask it", heads, rows), name="ask"),
            section("What is left", _left(accounts), name="left"),
        ]
    )


def _left(accounts: Sequence[Account]) -> Html:
    rows = [
        (
            title(account),
            join([_meter(account), f" {used(account):.1%}"]),
            left(account),
        )
        if account.balance.budget.calendar is None
        else (title(account), "by period", str(account.balance.budget))
        for account in accounts
    ]
    return join(
        [
            table("How much of each budget is used", ("Budget", "Used", "Left"), rows),
            tag("p", tag("a", "Budgets over time", href="/budget")),
        ]
    )


def _meter(account: Account) -> Html:
    part, name = used(account), f"used of {title(account)}"
    return tag("meter", f"{part:.0%}", min="0", max="1", value=f"{part:.4f}", aria_label=name)


def answer_page(answer: Answer, explanation: str, time: str) -> Html:
    """The items, what they cost, why it stopped. `explanation` has one line for each paragraph."""
    cost = section("What it cost", _bill(answer, time), name="bill")
    said = section("In plain words", *map(_paragraph, explanation.splitlines()), name="words")
    if answer.by_group is None:
        came = section("What came back", _stop(answer), chart(answer) or "", _items(answer), name="items")
        parts = [tag("div", came, cost, class_="two"), said]
    else:
        came = section("What came back", *groups_part(answer), name="items")
        about = tag("div", cost, said, class_="two")
        parts = [about, came] if many_groups(answer) else [came, about]
    again = tag("a", f"Ask {answer.source} another question", href=f"/datasets/{quote(answer.source, safe='')}")
    return join([*parts, tag("p", again)])


def _items(answer: Answer) -> Html:
    data = columns(answer)
    rows = list(zip(*data.values(), strict=True))
    if not rows:
        return tag("p", "No item could be named privately.")
    counted = (len(data) - 1,) if answer.counts is not None else ()
    caption = (
        "The items, the most popular first"
        if isinstance(answer.items, tuple)
        else "The items; their order means nothing"
    )
    return table(caption, [name.replace("_", " ") for name in data], rows, numbers=counted)


def _stop(answer: Answer) -> Html:
    """Whether it stopped, and by how much an item had to be ahead."""
    if not answer.stopped:
        return note("The one item that was asked for." if len(answer) == 1 else f"All {len(answer)} items asked for.")
    text = f"{len(answer)} of {answer.question.k} items; then it stopped, on purpose. "
    if answer.needs is None:
        return note(text + "Nothing more could be named without risking what it says about single users.")
    return note(
        f"{text}To be named with 95% probability an item needs {answer.needs}; what came next had less, or chance was "
        "against it."
    )


def _bill(answer: Answer, time: str) -> Html:
    question = answer.question
    lines = [
        ("Asked for", f"the top {question.k} of {', '.join(question.item)}{_each(question)} in {answer.source}"),
        ("Filter", question.where or "none"),
        ("Promise", str(answer.guarantee)),
        ("Paid", answer.spent),
    ]
    if answer.bill is not None:
        lines.append(("Left now", answer.bill.rest))
        lines.append(("In the budget's units", f"{answer.bill.paid} of {answer.bill.reserved} reserved"))
    mechanism = f"{answer.mechanism.name}: {answer.mechanism.reason}"
    return facts(*lines, ("Mechanism", mechanism), ("When", moment(time)))


def _each(question: Question) -> str:
    return f" for every {' and '.join(question.by)}" if question.by else ""


def _paragraph(line: str) -> Html:
    first, colon, rest = line.partition(":")
    return tag("p", tag("strong", first + colon), rest) if colon and first.isalpha() else tag("p", line)


def mechanisms(lines: Sequence[Entry]) -> Html:
    """The catalogue."""
    taken = auto_takes()
    rows = [
        (line.name, line.output, line.price, line.section, capital(why_not(line) or "yes"), _mark(line.name in taken))
        for line in lines
    ]
    heads = (
        "Mechanism",
        "Returns",
        "Steps it pays for",
        "Theorem",
        "Can be asked here",
        "Automatic choice may take it",
    )
    return section("All mechanisms", table("What each returns and costs", heads, rows), name="all")


def _mark(taken: bool) -> str:
    return "Yes" if taken else ""


def choices() -> Html:
    """What automatic choice takes here, and why."""
    lines = (
        ("Where the owner bounds the items of each user", BOUNDED_CHARGED),
        ("In one pass over the table", MANY_ITEMS),
        ("Otherwise", WITH_LEDGER),
    )
    return section(
        "Automatic choice", facts(*((when, f"{rule.name}: {rule.reason}") for when, rule in lines)), name="auto"
    )
