"""An answer as a bar chart: bars with whiskers where noisy counts were released. Ours alone, and without scripts."""

from __future__ import annotations

from crestline.answer.answer import Answer
from crestline.answer.views import cell_text
from crestline.dashboard.html import Html, tag, void

_WIDTH, _LABELS, _ROW, _BAR = 720, 220, 30, 18
_LONGEST = 28


def chart(answer: Answer) -> Html | None:
    """Bars from zero, one for each item, or None where no counts were released: ranks alone have no length."""
    if not answer.counts:
        return None
    counts = [float(count) for count in answer.counts]
    spread = answer.spread or 0.0
    room = _WIDTH - _LABELS - 90
    scale = room / max(1.0, *(abs(count) + spread for count in counts))
    rows = [
        _row(place, label(item), count, spread, scale)
        for place, (item, count) in enumerate(zip(answer.listed_items, counts, strict=True))
    ]
    words = f"Bar chart: noisy counts of {len(counts)} items; the table below holds the same numbers."
    height = _ROW * len(counts) + 8
    return tag(
        "svg",
        tag("title", words),
        *rows,
        role="img",
        aria_label=words,
        viewBox=f"0 0 {_WIDTH} {height}",
        width=_WIDTH,
        height=height,
    )


def label(item: object) -> str:
    """An item as people read it."""
    return " · ".join(map(cell_text, item)) if isinstance(item, tuple) else cell_text(item)


def _row(place: int, name: str, count: float, spread: float, scale: float) -> Html:
    top = place * _ROW + 6
    middle = top + _BAR / 2
    end = _LABELS + max(0.0, count) * scale  # noise may push a small count below zero: its bar is empty
    low, high = _LABELS + max(0.0, count - spread) * scale, _LABELS + max(0.0, count + spread) * scale
    short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    parts = [
        tag("text", short, x=_LABELS - 8, y=f"{middle + 4:.1f}", text_anchor="end"),
        void("rect", class_="bar", x=_LABELS, y=top, width=f"{end - _LABELS:.1f}", height=_BAR),
        tag("text", f"{count:,.0f}", x=f"{high + 8:.1f}", y=f"{middle + 4:.1f}"),
    ]
    if spread:
        parts.append(
            void("line", class_="whisker", x1=f"{low:.1f}", x2=f"{high:.1f}", y1=f"{middle:.1f}", y2=f"{middle:.1f}")
        )
    return tag("g", *parts)
