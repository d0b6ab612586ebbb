"""Bars: an answer with its noisy counts, or budgets by who holds them. Ours alone, without scripts.

Lengths are percentages and letters have a fixed size, so that a chart is as readable on a telephone as on a desk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crestline.answer.answer import Answer
from crestline.label_text import label_text
from crestline.web.pages.parts.html import Html, element, void

_ROW, _LINE, _BAR = 44, 16, 14
_LONGEST = 40


@dataclass(frozen=True)
class Segment:
    """A part of a bar, from one share of the width to another."""

    low: float
    high: float
    kind: str = "bar"


@dataclass(frozen=True)
class Bar:
    """One row: a name and a value above, a bar below. `whisker` spans where the true value may lie."""

    name: str
    value: str
    segments: tuple[Segment, ...]
    whisker: tuple[float, float] | None = None


def bar_chart(rows: Sequence[Bar], words: str) -> Html:
    """A chart; `words` stand for it where it cannot be seen. A table with the same numbers must be on the page."""
    drawn = [part for place, row in enumerate(rows) for part in _draw_row(place * _ROW, row)]
    return element("svg", *drawn, role="img", aria_label=words, width="100%", height=_ROW * len(rows))


def answer_chart(answer: Answer) -> Html | None:
    """Bars from zero, one for each item, or None where no counts were released: ranks alone have no length."""
    if not answer.counts:
        return None
    counts = [float(count) for count in answer.counts]
    ends = answer.intervals or [None] * len(counts)
    scale = 1 / max(1.0, *(abs(count) for count in counts), *(pair[1] for pair in ends if pair is not None))
    rows = [
        _count_bar(label_text(item), count, pair, scale)
        for item, count, pair in zip(answer.listed_items, counts, ends, strict=True)
    ]
    drawn = bar_chart(rows, f"Bar chart: noisy counts of {len(counts)} items; the table below holds the same numbers.")
    caption = f"{answer.count_unit[0].upper()}{answer.count_unit[1:]}."
    if answer.intervals is not None:
        caption += " The line across the end of a bar is a 95% interval."
    return element("figure", drawn, element("figcaption", caption))


def _count_bar(name: str, count: float, interval: tuple[float, float] | None, scale: float) -> Bar:
    ends = None if interval is None else (max(0.0, interval[0]) * scale, max(0.0, interval[1]) * scale)
    body = Segment(0.0, max(0.0, count) * scale)  # noise may push a small count below zero: its bar is empty
    return Bar(name, f"{count:,.0f}", (body,), ends)


def _draw_row(top: int, row: Bar) -> list[Html]:
    short = row.name if len(row.name) <= _LONGEST else row.name[: _LONGEST - 1] + "…"
    bar_top, middle = top + _LINE + 4, top + _LINE + 4 + _BAR / 2
    parts = [
        element("text", short, x="0", y=top + _LINE - 2),
        element("text", row.value, x="100%", y=top + _LINE - 2, text_anchor="end"),
        void("rect", class_="track", x="0", y=bar_top, width="100%", height=_BAR, rx=3),
    ]
    for part in row.segments:
        width = percent(part.high - part.low)
        parts.append(void("rect", class_=part.kind, x=percent(part.low), y=bar_top, width=width, height=_BAR, rx=3))
    if row.whisker is not None:
        low, high = map(percent, row.whisker)
        parts.append(void("line", class_="whisker", x1=low, x2=high, y1=middle, y2=middle))
        parts += [
            void("line", class_="whisker", x1=end, x2=end, y1=middle - 4, y2=middle + 4)
            for end in dict.fromkeys((low, high))
        ]
    return parts


def percent(share: float) -> str:
    """A share of the width, as SVG writes it."""
    return f"{100 * share:.2f}%"
