"""The figure of [DR] Appendix A: ε of every theorem, relative to the optimum for pure steps, by number of draws."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from crestline.exact_numbers import positive_number, probability, whole_number
from crestline.guarantees.composition import BOUNDS, basic_composition, optimal_composition
from crestline.pictures import Picture, import_altair

_POINTS = 28
_COLOURS = {
    "advanced": "#8a8f98",
    "bounded range": "#c8793a",
    "Dong et al.": "#b0413e",
    "zCDP": "#7a5ea8",
    "Rényi": "#3d8a6b",
    "optimum": "#2f5d8a",
}


def accountant_figure(epsilon: str, slack: str, most: int) -> Picture:
    """Chart for up to `most` draws of one ε."""
    alt = import_altair()
    rows = ratio_rows(epsilon, slack, most)
    colour = alt.Color(
        "accountant:N", scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values())), legend=None
    )
    draws = alt.X("k:Q", title="draws k", scale=alt.Scale(type="log"), axis=alt.Axis(grid=False, tickCount=6))
    ratio = alt.Y("ratio:Q", title="ε over the optimum for pure steps", axis=alt.Axis(format="%"))
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x=draws, y=ratio, color=colour)
    words = (
        alt.Chart(alt.Data(values=_labels(rows, most)))
        .mark_text(align="left", dx=6, fontSize=12)
        .encode(x="k:Q", y="ratio:Q", text="accountant:N", color=colour)
    )
    title = alt.Title(
        "What draws of bounded range cost together",
        subtitle=[
            f"Each draw ε = {epsilon}, failure probability {slack}; no theorem above plain addition.",
            "Below 100%: better than any bound can be for pure DP.",
        ],
    )
    return Picture(alt.layer(lines, words).properties(title=title, width=480, height=320))


def ratio_rows(epsilon: str, slack: str, most: int) -> list[dict[str, Any]]:
    """One row for each theorem and number of draws, with plain addition where that is better."""
    size, spare = positive_number(epsilon, "epsilon"), probability(slack, "slack")
    rows = []
    for k in _counts(whole_number(most, "k", at_least=2)):
        best, plain = optimal_composition(k, size, spare), basic_composition(k, size)
        for bound in BOUNDS:
            if bound.name in _COLOURS:
                ratio = min(bound.epsilon(k, size, spare), plain) / best
                rows.append({"k": k, "accountant": bound.name, "ratio": float(ratio)})
    return rows


def _labels(rows: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """Labels at the right ends of the lines, moved apart where lines end close together."""
    ends = sorted((dict(row) for row in rows if row["k"] == most), key=lambda row: float(row["ratio"]))
    apart = max(row["ratio"] for row in rows) / 18
    for _ in range(100):
        for low, high in pairwise(ends):
            overlap = max(0.0, apart - (high["ratio"] - low["ratio"]))
            low["ratio"] -= overlap / 2
            high["ratio"] += overlap / 2
    return ends


def _counts(most: int) -> list[int]:
    """Integers from 1 to `most`, evenly spaced on a logarithmic scale."""
    return sorted({round(most ** (place / (_POINTS - 1))) for place in range(_POINTS)})
