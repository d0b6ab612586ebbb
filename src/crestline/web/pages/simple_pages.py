"""What the pages say: sign in, the data sets, an answer, the catalogue (pure: values in, HTML out)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from crestline.answer.answer import Answer
from crestline.answer.tabular import columns
from crestline.config import DatasetConfig
from crestline.ledger.report import fraction_used
from crestline.ledger.storage.rows import Account
from crestline.mechanisms.catalogue import CatalogueEntry
from crestline.prepare.auto_rules import BOUNDED_CHARGED, MANY_ITEMS, WITH_LEDGER, auto_mechanism_names
from crestline.question import Question
from crestline.web.pages.forecast import reason_not_offered
from crestline.web.pages.groups_view import groups_section, has_many_groups
from crestline.web.pages.history.budget_view import remaining_text, title
from crestline.web.pages.parts.chart import answer_chart
from crestline.web.pages.parts.html import Html, element, join_html, table, void
from crestline.web.pages.parts.layout import capitalize_first, definition_list, note_box, section, time_html


def sign_in() -> Html:
    """The form for those who are not signed in."""
    hint = "Ask the owner of the data for one. It is sent once, and not kept in your browser."
    field = void(
        "input", type="password", id="token", name="token", autocomplete="current-password", required=True,
        aria_describedby="token-hint",
    )  # fmt: skip
    form = element(
        "form",
        element(
            "div", element("label", "Token", for_="token"), field, element("p", hint, class_="hint", id="token-hint")
        ),
        element("div", element("button", "Sign in")),
        class_="ask",
        method="post",
        action="/sign-in",
    )
    return element("div", form, class_="card narrow")


def home(datasets: Sequence[DatasetConfig], accounts: Sequence[Account]) -> Html:
    """What may be asked, and what is left for it."""
    rows = [
        (
            element("a", part.name, href=f"/datasets/{part.name}"),
            ", ".join(part.items),
            ", ".join(part.filters) or "none",
            f"at most {part.contribution}" if part.contribution else "any number",
            part.version or "by the source",
        )
        for part in datasets
    ]
    heads = ("Data set", "Items", "Filters", "Items counted of each user", "Version")
    return join_html(
        [
            section("Ask", table("What you may ask; follow a name to ask it", heads, rows), name="ask"),
            section("What is left", _budgets_table(accounts), name="left"),
        ]
    )


def _budgets_table(accounts: Sequence[Account]) -> Html:
    rows = [
        (
            title(account),
            join_html([_budget_meter(account), f" {fraction_used(account):.1%}"]),
            remaining_text(account),
        )
        if account.balance.budget.calendar is None
        else (title(account), "by period", str(account.balance.budget))
        for account in accounts
    ]
    return join_html(
        [
            table("How much of each budget is used", ("Budget", "Used", "Left"), rows),
            element("p", element("a", "Budgets over time", href="/budget")),
        ]
    )


def _budget_meter(account: Account) -> Html:
    part, name = fraction_used(account), f"used of {title(account)}"
    return element("meter", f"{part:.0%}", min="0", max="1", value=f"{part:.4f}", aria_label=name)


def answer_page(answer: Answer, explanation: str, time: str) -> Html:
    """The items, what they cost, why it stopped. `explanation` has one line for each paragraph."""
    cost = section("What it cost", _bill_list(answer, time), name="bill")
    said = section("In plain words", *map(_explanation_paragraph, explanation.splitlines()), name="words")
    if answer.by_group is None:
        came = section(
            "What came back", _stop_note(answer), answer_chart(answer) or "", _items_table(answer), name="items"
        )
        parts = [element("div", came, cost, class_="two"), said]
    else:
        came = section("What came back", *groups_section(answer), name="items")
        about = element("div", cost, said, class_="two")
        parts = [about, came] if has_many_groups(answer) else [came, about]
    again = element("a", f"Ask {answer.source} another question", href=f"/datasets/{quote(answer.source, safe='')}")
    return join_html([*parts, element("p", again)])


def _items_table(answer: Answer) -> Html:
    data = columns(answer)
    rows = list(zip(*data.values(), strict=True))
    if not rows:
        return element("p", "No item could be named privately.")
    width = 0 if answer.counts is None else 1 if answer.intervals is None else 3  # the count, and its interval
    counted = tuple(range(len(data) - width, len(data)))
    caption = (
        "The items, the most popular first"
        if isinstance(answer.items, tuple)
        else "The items; their order means nothing"
    )
    return table(caption, [name.replace("_", " ") for name in data], rows, numbers=counted)


def _stop_note(answer: Answer) -> Html:
    """Whether it stopped, and by how much an item had to be ahead."""
    if not answer.stopped:
        return note_box(
            "The one item that was asked for." if len(answer) == 1 else f"All {len(answer)} items asked for."
        )
    text = f"{len(answer)} of {answer.question.k} items; then it stopped, on purpose. "
    if answer.needs is None:
        return note_box(text + "Nothing more could be named without risking what it says about single users.")
    return note_box(
        f"{text}To be named with 95% probability an item needs {answer.needs}; what came next had less, or chance was "
        "against it."
    )


def _bill_list(answer: Answer, time: str) -> Html:
    question = answer.question
    lines = [
        (
            "Asked for",
            f"the top {question.k} of {', '.join(question.item)}{_by_groups_text(question)} in {answer.source}",
        ),
        ("Filter", question.where or "none"),
        ("Promise", str(answer.guarantee)),
        ("Paid", answer.spent),
    ]
    if answer.bill is not None:
        lines.append(("Left now", answer.bill.remaining_text))
        lines.append(("In the budget's units", f"{answer.bill.paid} of {answer.bill.reserved} reserved"))
    mechanism = f"{answer.mechanism.name}: {answer.mechanism.reason}"
    return definition_list(*lines, ("Mechanism", mechanism), ("When", time_html(time)))


def _by_groups_text(question: Question) -> str:
    return f" for every {' and '.join(question.by)}" if question.by else ""


def _explanation_paragraph(line: str) -> Html:
    first, colon, rest = line.partition(":")
    return element("p", element("strong", first + colon), rest) if colon and first.isalpha() else element("p", line)


def mechanisms(lines: Sequence[CatalogueEntry]) -> Html:
    """The catalogue."""
    taken = auto_mechanism_names()
    rows = [
        (
            line.name,
            line.output,
            line.price,
            line.section,
            capitalize_first(reason_not_offered(line) or "yes"),
            _yes_or_blank(line.name in taken),
        )
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


def _yes_or_blank(taken: bool) -> str:
    return "Yes" if taken else ""


def auto_choice_text() -> Html:
    """What automatic choice takes here, and why."""
    lines = (
        ("Where the owner bounds the items of each user", BOUNDED_CHARGED),
        ("In one pass over the table", MANY_ITEMS),
        ("Otherwise", WITH_LEDGER),
    )
    return section(
        "Automatic choice",
        definition_list(*((when, f"{rule.name}: {rule.reason}") for when, rule in lines)),
        name="auto",
    )
