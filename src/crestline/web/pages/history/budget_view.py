"""The page about budgets: who has used how much, and when. Every picture has a table with the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crestline.ledger.budget_fractions import epsilon_worth, fraction_of
from crestline.ledger.periods import promise_texts
from crestline.ledger.report import fraction_used, period_calendar, usual_questions
from crestline.ledger.storage.rows import Account
from crestline.web.pages.history.spending import SpendingPoint
from crestline.web.pages.parts.chart import Bar, Segment, bar_chart
from crestline.web.pages.parts.html import Html, element, join_html, table, void
from crestline.web.pages.parts.layout import amount_html, minute_text, section

_TOP, _HEIGHT = 18, 90
_WIDE = 1000  # units of the stretched part of a picture
_LISTED = 30


def budget_page(
    spent: Sequence[tuple[Account, Sequence[SpendingPoint]]],
    now: datetime,
    calendars: Sequence[tuple[Account, Sequence[Account]]] = (),
) -> Html:
    """By account, then over time; budgets by period as calendars."""
    accounts = [account for account, _ in spent]
    whose = "By analyst" if any(account.analyst is None for account in accounts) else "What is left"
    parts = [section("By period", *(_calendar(*one) for one in calendars), name="periods")] if calendars else []
    if accounts:
        parts += [section(whose, _account_chart(accounts), name="by-analyst")]
        parts += [section("Over time", *_spending_charts(spent, now), name="time")]
    return join_html(parts)


def _calendar(whole: Account, periods: Sequence[Account]) -> Html:
    """What is left of each period that was asked about, and what the budget promises."""
    single = [account for account in periods if account.span == 1]
    heads, rows = period_calendar(single)
    words = f"{title(whole)}: left of each period; of those not listed, everything"
    listed = table(words, heads, rows) if single else element("p", f"{title(whole)}: no period was asked about so far.")
    said = promise_texts(whole.balance.budget, len(single)) if whole.analyst is None else ()
    return join_html(
        [element("p", str(whole.balance.budget)), listed, *(element("p", line, class_="hint") for line in said)]
    )


def _spending_charts(spent: Sequence[tuple[Account, Sequence[SpendingPoint]]], now: datetime) -> list[Html]:
    """A picture for every account that was ever charged; the others are named."""
    charged = [(account, points) for account, points in spent if account.balance.total_charged.loss]
    idle = [title(account) for account, _ in spent if not account.balance.total_charged.loss]
    parts = [element("div", *(_spending_chart(*one, now) for one in charged), class_="small-charts")] if charged else []
    return (
        [*parts, element("p", f"Nothing was charged so far to: {', '.join(idle)}.", class_="hint")] if idle else parts
    )


def title(account: Account) -> str:
    """An account in few words."""
    return f"{account.dataset}: in all" if account.analyst is None else f"{account.dataset}: {account.analyst}"


def budgets_table(accounts: Sequence[Account]) -> Html:
    """What may be spent, what is, and what is left."""
    rows = [
        (
            title(account),
            str(account.balance.budget),
            f"{fraction_used(account):.1%}",
            f"{fraction_of(account.balance.held, account.balance.budget.limit):.1%}",
            remaining_text(account),
            amount_html(account.balance.remaining),
        )
        for account in accounts
    ]
    heads = ("Budget", "In all", "Used", "Of it reserved", "Left", "Left, in its units")
    return table("What may be spent, and what is left", heads, rows, numbers=(2, 3))


def remaining_text(account: Account) -> str:
    """What is left of a budget, as people read it."""
    balance, pays = account.balance, usual_questions(account)
    text = f"{1 - fraction_used(account):.1%}, worth epsilon {epsilon_worth(balance.budget, balance.remaining):.3g}"
    return text if pays is None else f"{text}: about {pays:,} usual questions"


def _account_chart(accounts: Sequence[Account]) -> Html:
    rows = []
    for account in accounts:
        limit = account.balance.budget.limit
        settled, everything = fraction_of(account.balance.settled, limit), fraction_used(account)
        parts = (
            (Segment(0.0, settled), Segment(settled, everything, "held"))
            if everything > settled
            else (Segment(0.0, settled),)
        )
        rows.append(Bar(title(account), f"{everything:.1%} used", parts))
    drawn = bar_chart(
        rows, f"Bar chart: how much of {len(rows)} budgets is used; the table below holds the same numbers."
    )
    held = "The part in another colour is reserved: by a question that is being answered, or by one that never ended."
    below = (element("figcaption", held),) if any(len(row.segments) > 1 for row in rows) else ()
    return join_html([element("figure", drawn, *below), budgets_table(accounts)])


def _spending_chart(account: Account, points: Sequence[SpendingPoint], now: datetime) -> Html:
    if not points:
        return element(
            "figure",
            element("h3", title(account)),
            element("p", "Nothing was asked in the last entries of the ledger."),
        )
    words = (
        f"Line chart: {points[-1].used:.1%} of the budget {title(account)} was used by {minute_text(now)} UTC, "
        f"{points[0].used:.1%} at {minute_text(points[0].time)} UTC; the table below holds the steps."
    )
    listed = table(
        f"{title(account)}: used after each entry, the newest first",
        ("When (UTC)", "Used"),
        [(minute_text(point.time), f"{point.used:.2%}") for point in list(reversed(points))[:_LISTED]],
        numbers=(1,),
    )
    return element(
        "figure",
        element("h3", title(account)),
        _step_line(points, now, words),
        element("details", element("summary", f"The last steps of {title(account)} as a table"), listed),
    )


def _step_line(points: Sequence[SpendingPoint], now: datetime, words: str) -> Html:
    """A line that rises when something is charged and falls when a part is given back."""
    start, end = points[0].time, max(now, points[-1].time)
    length = (end - start).total_seconds() or 1.0
    corners = [f"M0 {_y(points[0].used)}"]
    for point in points[1:]:
        corners.append(f"H{(point.time - start).total_seconds() / length * _WIDE:.1f}V{_y(point.used)}")
    line = "".join(corners) + f"H{_WIDE}"
    stretched = element(
        "svg",
        void("path", class_="area", d=f"{line}V100H0Z"),
        void("path", class_="step", d=line),
        x="0", y=_TOP, width="100%", height=_HEIGHT, viewBox=f"0 0 {_WIDE} 100", preserveAspectRatio="none",
    )  # fmt: skip
    rules = [
        void("line", class_="grid", x1="0", x2="100%", y1=_TOP + _HEIGHT * part, y2=_TOP + _HEIGHT * part)
        for part in (0, 0.5, 1)
    ]
    bottom = _TOP + _HEIGHT + 16
    marks = (
        element("text", "100% of the budget", class_="quiet", x="0", y=_TOP - 5),
        element("text", minute_text(start), class_="quiet", x="0", y=bottom),
        element("text", f"now: {points[-1].used:.1%}", class_="quiet", x="100%", y=bottom, text_anchor="end"),
    )
    return element("svg", *rules, stretched, *marks, role="img", aria_label=words, width="100%", height=bottom + 6)


def _y(used: float) -> str:
    return f"{100 * (1 - min(1.0, max(0.0, used))):.2f}"
