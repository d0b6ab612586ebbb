"""Chart of a plan: one bar for each mechanism, as long as the number of items it is expected to name."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from crestline.exact_numbers import decimal_text
from crestline.pictures import COLOUR, DARK, PALE, Picture, import_altair
from crestline.plan.advice_sentence import advised_row
from crestline.plan.plan import Plan

_ROW = 30
_WIDTH = 460


def plot(plan: Plan) -> Picture:
    """Bars of the expected number of items, with the error of the simulation and the score ratio beside each."""
    alt = import_altair()
    rows = _plot_rows(plan)
    order = [row["name"] for row in rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(ticks=False, domain=False))
    )
    scale = alt.Scale(domain=[0, plan.question.k])
    title = "items expected to be named"
    bars = base.mark_bar(height={"band": 0.66}).encode(
        x=alt.X("returned:Q", scale=scale, title=title, axis=alt.Axis(grid=False)),
        color=alt.condition("datum.best", alt.value(COLOUR), alt.value(PALE)),
    )
    whisker = base.mark_rule(color=DARK, strokeWidth=1.5).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    words = base.mark_text(align="left", dx=8, fontSize=12).encode(x=alt.value(_WIDTH), text="words:N")
    chart = alt.layer(bars, whisker, words).properties(
        width=_WIDTH,
        height=_ROW * max(2, len(rows)),
        title=alt.Title(_title(plan), subtitle="Percentages: score of what is named over the score of the true top k"),
    )
    return Picture(chart)


def _plot_rows(plan: Plan) -> list[dict[str, Any]]:
    """Values of each bar."""
    taken = advised_row(plan.rows, plan.auto) if plan.rows else None
    return [
        {
            "name": row.mechanism if row.k_bar is None else f"{row.mechanism}, k_bar {row.k_bar}",
            "returned": row.returned.value,
            "low": max(0.0, row.returned.value - row.returned.error),
            "high": min(plan.question.k, row.returned.value + row.returned.error),
            "words": f"{row.ratio.value:.1%}",
            "best": row is taken,
        }
        for row in plan.rows
    ]


def _title(plan: Plan) -> str:
    """Title of the chart, with the total of the question."""
    question = plan.question
    bound = "" if question.contribution is None else f", at most {question.contribution} items per user"
    epsilon, delta = (decimal_text(number or Fraction(0)) for number in (question.epsilon, question.delta))
    return f"Top {question.k} at ε = {epsilon}, δ = {delta}{bound}"
