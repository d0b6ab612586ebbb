"""Ranking over time as a bump chart: a line for each item, from rank to rank, with a gap where an edition lacks it.

The chart is a plain SVG without scripts or style sheets, so that it can be published, mailed, and put into any page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from crestline.label_text import html_text, label_text

if TYPE_CHECKING:
    from crestline.reports.report import Edition, ReportRun

# Distinguishable with colour blindness (Okabe and Ito); from the ninth item on they repeat, with dashed lines.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#8c6d31")
_STEP, _ROW, _TOP, _LEFT = 56, 34, 34, 56
_MOST_LETTERS = 28
_NARROWEST = 4  # least width in editions, so that the label of a short report fits


def rank_chart(series: ReportRun) -> str:
    """The chart as SVG text."""
    editions, ranks = series.editions, max([series.report.question.k, *(len(one.items) for one in series.editions)])
    placed = _ranks_of_items(editions)
    words = max((len(_shorten(item)) for item in placed), default=0)
    width = _LEFT + max(len(editions), _NARROWEST) * _STEP + words * 8 + 24
    height = _TOP + ranks * _ROW + 44
    parts = [_ranks(ranks, len(editions)), *(_column(place, one, ranks) for place, one in enumerate(editions))]
    colours = {item: _COLOURS[number % len(_COLOURS)] for number, item in enumerate(placed)}
    for number, (item, places) in enumerate(placed.items()):
        parts.append(_line(item, places, colours[item], dashed=number >= len(_COLOURS)))
    parts.append(_names(placed, colours, len(editions)))
    about = (
        f"Ranking over time of {series.report.name}: {len(editions)} editions, {len(placed)} items; the table has all."
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html_text(about)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="13">'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def _ranks_of_items(editions: Sequence[Edition]) -> dict[str, list[tuple[int, int]]]:
    """(edition, rank) pairs of each item, the best ranked items of the newest edition first."""
    found: dict[str, list[tuple[int, int]]] = {}
    for place, edition in enumerate(editions):
        for rank, item in enumerate(edition.items, start=1):
            found.setdefault(label_text(item), []).append((place, rank))
    return dict(sorted(found.items(), key=lambda pair: (-pair[1][-1][0], pair[1][-1][1])))


def _ranks(ranks: int, editions: int) -> str:
    """Lines and numbers of the ranks."""
    end = _x(max(editions, 1) - 1) + 14
    lines = (
        f'<line x1="{_LEFT - 14}" x2="{end}" y1="{_y(rank)}" y2="{_y(rank)}" stroke="#e4e4e4"/>'
        f'<text x="{_LEFT - 22}" y="{_y(rank) + 4}" text-anchor="end" fill="#555555">{rank}</text>'
        for rank in range(1, ranks + 1)
    )
    return "".join(lines)


def _column(place: int, edition: Edition, ranks: int) -> str:
    """Label of an edition; where it stopped or was missed, with a band below its last item that states so."""
    x, bottom = _x(place), _y(ranks) + 16
    label = (
        f'<text x="{x}" y="{bottom + 14}" text-anchor="middle" fill="#555555" font-size="10">{edition.period}</text>'
    )
    if edition.status == "published":
        return label
    top = _y(len(edition.items) + 1) - 13
    band = f'<rect x="{x - 15}" y="{top}" width="30" height="{max(0, bottom - 4 - top)}" rx="4" fill="#eeeeee"/>'
    middle = (top + bottom - 4) / 2
    word = (
        f'<text x="{x}" y="{middle}" text-anchor="middle" fill="#555555" font-size="10" '
        f'transform="rotate(-90 {x} {middle})" dy="3">{edition.status}</text>'
    )
    return band + word + label


def _line(item: str, places: Sequence[tuple[int, int]], colour: str, *, dashed: bool) -> str:
    """Strokes of an item between consecutive editions, and a dot for each."""
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    strokes = "".join(
        f'<path d="M{_x(a)} {_y(b)}C{_x(a) + _STEP // 2} {_y(b)} {_x(c) - _STEP // 2} {_y(d)} {_x(c)} {_y(d)}" '
        f'fill="none" stroke="{colour}" stroke-width="2.5"{dash}/>'
        for (a, b), (c, d) in pairwise(places)
        if c == a + 1
    )
    title = f"<title>{html_text(item)}</title>"
    dots = "".join(f'<circle cx="{_x(a)}" cy="{_y(b)}" r="5" fill="{colour}">{title}</circle>' for a, b in places)
    return strokes + dots


def _names(placed: Mapping[str, Sequence[tuple[int, int]]], colours: Mapping[str, str], editions: int) -> str:
    """Names of the items: of the newest ranking at the right, of others above their last dot."""
    newest = max((places[-1][0] for places in placed.values()), default=0)
    parts = []
    for item, places in placed.items():
        last, rank = places[-1]
        name, fill = html_text(_shorten(item)), colours[item]
        if last == newest:
            parts.append(f'<text x="{_x(editions - 1) + 24}" y="{_y(rank) + 4}" fill="{fill}">{name}</text>')
        else:
            place = f'x="{_x(last)}" y="{_y(rank) - 9}" text-anchor="middle" font-size="9"'
            parts.append(f'<text {place} fill="{fill}">{name}</text>')
    return "".join(parts)


def _shorten(item: str) -> str:
    """The name of an item, cut where it is too long."""
    return item if len(item) <= _MOST_LETTERS else item[: _MOST_LETTERS - 1] + "…"


def _x(place: int) -> int:
    """Horizontal position of an edition."""
    return _LEFT + place * _STEP


def _y(rank: int) -> int:
    """Vertical position of a rank."""
    return _TOP + (rank - 1) * _ROW
