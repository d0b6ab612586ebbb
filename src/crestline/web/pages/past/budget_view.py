"""The page about budgets: who has used how much, and when. Every picture has a table with the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crestline.ledger.periods import promises
from crestline.ledger.report import calendar_of, used, usual_questions
from crestline.ledger.shares import part_of, worth
from crestline.ledger.storage.records import Account
from crestline.web.pages.parts.chart import Bar, Segment, bars
from crestline.web.pages.parts.html import Html, join, table, tag, void
from crestline.web.pages.parts.layout import amount, minute, section
from crestline.web.pages.past.spending import Point

_TOP, _HEIGHT = 18, 90
_WIDE = 1000  # units of the stretched part of a picture
_LISTED = 30


def budget_page(
    spent: Sequence[tuple[Account, Sequence[Point]]],
    now: datetime,
    calendars: Sequence[tuple[Account, Sequence[Account]]] = (),
) -> Html:
    """By account, then over time; budgets by period as calendars."""
    accounts = [account for account, _ in spent]
    whose = "By analyst" if any(account.analyst is None for account in accounts) else "What is left"
    parts = [section("By period", *(_calendar(*one) for one in calendars), name="periods")] if calendars else []
    if accounts:
        parts += [section(whose, _by_account(accounts), name="by-analyst")]
        parts += [section("Over time", *_all(spent, now), name="time")]
    return join(parts)


def _calendar(whole: Account, periods: Sequence[Account]) -> Html:
    """What is left of each period that was asked about, and what the budget promises."""
    single = [account for account in periods if account.span == 1]
    heads, rows = calendar_of(single)
    words = f"{title(whole)}: left of each period; of those not listed, everything"
    listed = table(words, heads, rows) if single else tag("p", f"{title(whole)}: no period was asked about so far.")
    said = promises(whole.balance.budget, len(single)) if whole.analyst is None else ()
    return join([tag("p", str(whole.balance.budget)), listed, *(tag("p", line, class_="hint") for line in said)])


def _all(spent: Sequence[tuple[Account, Sequence[Point]]], now: datetime) -> list[Html]:
    """A picture for every account that was ever charged; the others are named."""
    charged = [(account, points) for account, points in spent if account.balance.charged.loss]
    idle = [title(account) for account, _ in spent if not account.balance.charged.loss]
    parts = [tag("div", *(_over_time(*one, now) for one in charged), class_="small-charts")] if charged else []
    return [*parts, tag("p", f"Nothing was charged so far to: {', '.join(idle)}.", class_="hint")] if idle else parts


def title(account: Account) -> str:
    """An account in few words."""
    return f"{account.dataset}: in all" if account.analyst is None else f"{account.dataset}: {account.analyst}"


def budgets(accounts: Sequence[Account]) -> Html:
    """What may be spent, what is, and what is left."""
    rows = [
        (
            title(account),
            str(account.balance.budget),
            f"{used(account):.1%}",
            f"{part_of(account.balance.held, account.balance.budget.limit):.1%}",
            left(account),
            amount(account.balance.remaining),
        )
        for account in accounts
    ]
    heads = ("Budget", "In all", "Used", "Of it reserved", "Left", "Left, in its units")
    return table("What may be spent, and what is left", heads, rows, numbers=(2, 3))


def left(account: Account) -> str:
    """What is left of a budget, as people read it."""
    balance, pays = account.balance, usual_questions(account)
    text = f"{1 - used(account):.1%}, worth epsilon {worth(balance.budget, balance.remaining):.3g}"
    return text if pays is None else f"{text}: about {pays:,} usual questions"


def _by_account(accounts: Sequence[Account]) -> Html:
    rows = []
    for account in accounts:
        limit = account.balance.budget.limit
        settled, everything = part_of(account.balance.settled, limit), used(account)
        parts = (
            (Segment(0.0, settled), Segment(settled, everything, "held"))
            if everything > settled
            else (Segment(0.0, settled),)
        )
        rows.append(Bar(title(account), f"{everything:.1%} used", parts))
    drawn = bars(rows, f"Bar chart: how much of {len(rows)} budgets is used; the table below holds the same numbers.")
    held = "The part in another colour is reserved: by a question that is being answered, or by one that never ended."
    below = (tag("figcaption", held),) if any(len(row.segments) > 1 for row in rows) else ()
    return join([tag("figure", drawn, *below), budgets(accounts)])


def _over_time(account: Account, points: Sequence[Point], now: datetime) -> Html:
    if not points:
        return tag(
            "figure", tag("h3", title(account)), tag("p", "Nothing was asked in the last entries of the ledger.")
        )
    words = (
        f"Line chart: {points[-1].used:.1%} of the budget {title(account)} was used by {minute(now)} UTC, "
        f"{points[0].used:.1%} at {minute(points[0].time)} UTC; the table below holds the steps."
    )
    listed = table(
        f"{title(account)}: used after each entry, the newest first",
        ("When (UTC)", "Used"),
        [(minute(point.time), f"{point.used:.2%}") for point in list(reversed(points))[:_LISTED]],
        numbers=(1,),
    )
    return tag(
        "figure",
        tag("h3", title(account)),
        _steps(points, now, words),
        tag("details", tag("summary", f"The last steps of {title(account)} as a table"), listed),
    )


def _steps(points: Sequence[Point], now: datetime, words: str) -> Html:
    """A line that rises when something is charged and falls when a part is given back."""
    start, end = points[0].time, max(now, points[-1].time)
    length = (end - start).total_seconds() or 1.0
    corners = [f"M0 {_y(points[0].used)}"]
    for point in points[1:]:
        corners.append(f"H{(point.time - start).total_seconds() / length * _WIDE:.1f}V{_y(point.used)}")
    line = "".join(corners) + f"H{_WIDE}"
    stretched = tag(
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
        tag("text", "100% of the budget", class_="quiet", x="0", y=_TOP - 5),
        tag("text", minute(start), class_="quiet", x="0", y=bottom),
        tag("text", f"now: {points[-1].used:.1%}", class_="quiet", x="100%", y=bottom, text_anchor="end"),
    )
    return tag("svg", *rules, stretched, *marks, role="img", aria_label=words, width="100%", height=bottom + 6)


def _y(used: float) -> str:
    return f"{100 * (1 - min(1.0, max(0.0, used))):.2f}"
