"""A plan as a table with its advice: text for a terminal, HTML for a notebook."""

from __future__ import annotations

from html import escape
from typing import Any

from crestline.answer.printing import align
from crestline.plan.forecast import Estimate, Forecast
from crestline.plan.plan import Plan

COLUMNS = {
    "mechanism": "mechanism",
    "k_bar": "k_bar",
    "needed": "count for 95%",
    "returned": "items named",
    "ratio": "score ratio",
    "output": "output",
}
_LEFT = ("mechanism", "output")


def to_text(plan: Plan) -> str:
    """The table, and the lines below it."""
    left = [name in _LEFT for name in COLUMNS]
    return "\n".join([*align([list(COLUMNS.values()), *_rows(plan)], left), "", *lines_below(plan)])


def to_html(plan: Plan) -> str:
    """The table with the question above it and the advice below."""
    sides = [f' style="text-align:{"left" if name in _LEFT else "right"}"' for name in COLUMNS]
    heads = "".join(f"<th{side}>{escape(head)}</th>" for side, head in zip(sides, COLUMNS.values(), strict=True))
    rows = [
        "".join(f"<td{side}>{escape(cell)}</td>" for side, cell in zip(sides, row, strict=True)) for row in _rows(plan)
    ]
    return (
        f"<table><caption>{escape(plan.question.words())}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(f'<tr>{row}</tr>' for row in rows)}</tbody></table>"
        f"<p>{'<br>'.join(map(escape, lines_below(plan)))}</p>"
    )


def lines_below(plan: Plan) -> tuple[str, ...]:
    """The advice, what `auto` takes, warnings, and how many mechanisms are left out."""
    many = len(plan.skipped)
    left_out = f"{many} mechanism{'s' if many > 1 else ''} cannot answer this; `skipped` (JSON: left_out) says why."
    return (plan.advice, f"mechanism='auto' takes {plan.auto}.", *plan.notes, *((left_out,) if many else ()))


def plan_cells(row: Forecast, *, plain: bool = False) -> dict[str, Any]:
    """Cells of one forecast, by the names of `COLUMNS`; plain numbers for programs."""
    seen = "all" if row.k_bar is None else row.k_bar
    values = {
        "needed": row.needed if plain else "" if row.needed is None else f"{row.needed:,.0f}",
        "returned": row.returned.value if plain else _estimate_text(row.returned, "{:.1f}"),
        "ratio": row.ratio.value if plain else _estimate_text(row.ratio, "{:.3f}"),
    }
    return {"mechanism": row.mechanism, "k_bar": seen, "output": row.output, **values}


def csv_rows(plan: Plan) -> tuple[list[str], list[list[Any]]]:
    """Heads and rows of CSV, with plain numbers."""
    return list(COLUMNS), [[plan_cells(row, plain=True)[name] for name in COLUMNS] for row in plan.rows]


def _rows(plan: Plan) -> list[list[str]]:
    cells = map(plan_cells, plan.rows)
    return [[str(row[name]) for name in COLUMNS] for row in cells]


def _estimate_text(estimate: Estimate, form: str) -> str:
    """An estimate, with its error where that has a digit to show."""
    text, error = form.format(estimate.value), form.format(estimate.error)
    return f"{text} ± {error}" if estimate.simulated and float(error) else text
