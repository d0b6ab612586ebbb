"""Scaling plots: seconds against one size, both on logarithmic axes, and the slope of each line in words."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from benchmarks.measuring import Row, in_words, slope
from crestline.pictures import COLOUR, DARK, PALE, QUIET, Picture, import_altair

COLOURS = (COLOUR, QUIET, PALE, DARK, "#b5652b", "#5d8a2f")

# How the decades of an axis are written, in the language of Vega.
SIZES = "format(datum.value, '~s')"
SECONDS = (
    "datum.value < 0.0005 ? format(datum.value * 1e6, '.3~g') + ' µs' : "
    "datum.value < 0.5 ? format(datum.value * 1e3, '.3~g') + ' ms' : format(datum.value, '.3~g') + ' s'"
)


def lines(rows: list[Row], axis: str) -> dict[str, list[Row]]:
    """For each of those measured the rows along an axis, by size; only where there are at least three."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.median and axis in row.setting:
            found[row.who].append(row)
    return {who: sorted(some, key=lambda row: row.setting[axis]) for who, some in found.items() if len(some) > 2}


def slopes(rows: list[Row], axis: str) -> list[str]:
    """One sentence for each line."""
    result = []
    for who, some in lines(rows, axis).items():
        exponent = slope([row.setting[axis] for row in some], [row.median or 0.0 for row in some])
        result.append(f"{who}, against {axis}, {in_words(exponent)}.")
    return result


def picture(rows: list[Row], axis: str, title: str) -> Picture | None:
    """Lines through the medians, with the quartiles as bars; none where nothing was measured at three sizes."""
    found = lines(rows, axis)
    if not found:
        return None
    alt = import_altair()
    values: list[dict[str, Any]] = [
        {"who": who.replace("`", ""), axis: row.setting[axis], "median": row.median, "low": row.low, "high": row.high}
        for who, some in found.items()
        for row in some
    ]
    names = list(dict.fromkeys(value["who"] for value in values))
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(
            f"{axis}:Q",
            scale=alt.Scale(type="log"),
            title=axis,
            axis=_decades([value[axis] for value in values], SIZES),
        ),
        color=alt.Color(
            "who:N",
            sort=names,
            scale=alt.Scale(domain=names, range=list(COLOURS[: len(names)])),
            legend=alt.Legend(title=None, orient="bottom", columns=2, labelLimit=0, labelFontSize=12),
        ),
    )
    low, high = min(value["low"] for value in values), max(value["high"] for value in values)
    y = alt.Y(
        "median:Q",
        scale=alt.Scale(type="log", domain=[low / 1.5, high * 1.5]),
        title="time",
        axis=_decades([low, high], SECONDS),
    )
    path = base.mark_line(strokeWidth=2).encode(y=y)
    points = base.mark_point(filled=True, size=45, opacity=1).encode(y=y)
    bars = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title="time"), y2="high:Q")
    return Picture(alt.layer(bars, path, points).properties(width=520, height=300, title=title))


def _decades(values: list[float], labels: str) -> Any:
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    ticks = [10.0**power for power in range(first, last + 1)]
    return import_altair().Axis(values=ticks, labelExpr=labels, grid=True, gridColor="#ececec")
