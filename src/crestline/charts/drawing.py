"""Charts as HTML and SVG text (pure): rankings, balances, and rank over time.

Colours come from classes of the style sheet, so one drawing serves light, dark and print. Lengths of rankings and
balances are per cent of the width; `rank_lines` has fixed sizes and is drawn for a desk and for a telephone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise

from crestline.charts.tokens import tokens
from crestline.label_text import html_text

LONGEST_NAME = 40  # letters in a chart of fixed size; lists and tables have names in full
COLOURED = 5


@dataclass(frozen=True)
class Bar:
    """One line of a ranking; `near` is true where the next one is too close to order."""

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    near: bool = False


def with_commas(number: float) -> str:
    """A number without decimals, with a minus sign that is as wide as a digit."""
    return f"{number:,.0f}".replace("-", "−")


def round_ticks(highest: float) -> list[float]:
    """Three to five round numbers from zero on."""
    for exponent in count():
        for step in (digit * 10**exponent for digit in (1, 2, 2.5, 5)):
            if highest / step <= 4.2:
                return [step * place for place in range(int(0.94 * highest / step) + 1)]
    raise AssertionError("some step is large enough")


def largest_value(rows: Sequence[Bar]) -> float:
    """The number at the right end of a ranking's scale."""
    return 1.02 * max([1.0, *(max(row.value or 0.0, row.high or 0.0) for row in rows)])


def ranking(rows: Sequence[Bar], unit: str = "", *, mini: bool = False, most: float | None = None) -> str:
    """A ranking as an ordered list: names are text, with a bar and its interval beside each that has a number.

    `mini` is for cards and groups: the bar stands below its name. `most` is the end of a scale that others share.
    """
    counted = any(row.value is not None for row in rows)
    highest = most or largest_value(rows)
    marks = [] if mini or not counted else round_ticks(highest)
    lines = [_axis(marks, highest, unit)] if marks else []
    for rank, row in enumerate(rows, 1):
        before = rank > 1 and rows[rank - 2].near
        joined = {(False, True): "first", (True, True): "middle", (True, False): "last"}.get((before, row.near))
        near = f' class="near near-{joined}"' if joined and not mini else ""
        number = "" if mini else f'<span class="rank">{rank}</span>'
        drawn = ""
        if row.value is not None:
            bar = _thin_bar(row, row.value, highest) if mini else _bar(row, row.value, highest, marks)
            drawn = f'{bar}<span class="value">{with_commas(row.value)}</span>'
        lines.append(f'<li{near}>{number}<span class="name">{html_text(row.name)}</span>{drawn}</li>')
    kind = "bars mini" if mini else "bars" if counted else "bars names"
    return f'<ol class="{kind}">{"".join(lines)}</ol>'


def _axis(marks: Sequence[float], highest: float, unit: str) -> str:
    words = "".join(
        f'<text class="t-quiet t-small" x="{_percent(mark / highest)}" y="15" '
        f'text-anchor="{"middle" if mark else "start"}">{with_commas(mark)}</text>'
        for mark in marks
    )
    return (
        '<li class="axis" aria-hidden="true"><span class="rank"></span><span class="name"></span>'
        f'<svg>{words}</svg><span class="value-head">{html_text(unit)}</span></li>'
    )


def _bar(row: Bar, value: float, highest: float, marks: Sequence[float]) -> str:
    """A bar with the line of its interval; noise may push a small number below zero, and then the bar is empty."""
    grid = "".join(
        f'<line class="grid" x1="{_percent(mark / highest)}" x2="{_percent(mark / highest)}" y1="0" y2="100%"/>'
        for mark in marks
    )
    bar = f'<rect class="bar" y="-8" width="{_percent(value / highest)}" height="16" rx="2"/>'
    span = ""
    if row.low is not None and row.high is not None:
        ends = f'x1="{_percent(row.low / highest)}" x2="{_percent(row.high / highest)}" y1="50%" y2="50%"'
        span = f'<line class="halo" {ends}/><line class="whisker" {ends}/>'
    return f'<svg aria-hidden="true">{grid}<svg y="50%" overflow="visible">{bar}</svg>{span}</svg>'


def _thin_bar(row: Bar, value: float, highest: float) -> str:
    """A bar too thin for a line: pale from the lower to the upper end of its interval, with a tick at the number."""
    low, at, high = (_percent((value if end is None else end) / highest) for end in (row.low, value, row.high))
    return (
        f'<svg aria-hidden="true"><rect class="bar-quiet" x="0" y="1" width="{high}" height="7" rx="1.5"/>'
        f'<rect class="bar" x="0" y="1" width="{low}" height="7" rx="1.5"/>'
        f'<line class="tick" x1="{at}" x2="{at}" y1="0" y2="9"/></svg>'
    )


def blocks(left: int, now: int = 0, total: int = 10) -> str:
    """What is left, one block for each usual question; `now` of those left would be taken by this one."""
    width = 100 / total
    kinds = ("left" if place < left - now else "now" if place < left else "used" for place in range(total))
    parts = "".join(
        f'<rect class="{kind}" x="{place * width:.2f}%" width="{width * 0.86:.2f}%" height="100%" rx="2"/>'
        for place, kind in enumerate(kinds)
    )
    return f'<div class="pips" aria-hidden="true"><svg>{parts}</svg></div>'


def balance(used: float, held: float = 0.0) -> str:
    """One bar, from the left: what is left, reserved, used. `used` has what is reserved in it."""
    left = max(0.0, 1 - used)
    parts = '<rect class="used" width="100%" height="100%" rx="3"/>'
    parts += f'<rect class="left" width="{_percent(left)}" height="100%" rx="3"/>'
    if held:
        box = f'x="{_percent(left)}" width="{_percent(held)}" height="100%"'
        parts += f'<rect class="track" {box}/><rect class="reserved" fill="url(#hatch)" {box}/>'
    return f'<svg aria-hidden="true">{parts}</svg>'


def period_balance(used: float, held: float = 0.0, *, short: bool = False) -> str:
    """One period, filled from below with what is left, hatched where it is reserved."""
    left = max(0.0, 1 - used)
    top = f'y="{_percent(1 - left)}" width="100%" height="{_percent(left)}" rx="3"'
    parts = f'<rect class="used" width="100%" height="100%" rx="3"/><rect class="left" {top}/>'
    if held:
        box = f'y="{_percent(1 - left - held)}" width="100%" height="{_percent(held)}"'
        parts += f'<rect class="track" {box}/><rect class="reserved" fill="url(#hatch)" {box}/>'
    kind = ' class="short"' if short else ""
    return f'<svg aria-hidden="true"{kind}>{parts}</svg>'


@dataclass(frozen=True)
class Column:
    """One edition of a report: its label, its items in order, and whether it was missed."""

    label: str
    items: tuple[str, ...]
    is_missed: bool = False


def rank_lines(columns: Sequence[Column], wanted: int, words: str, *, small: bool = False) -> str:
    """A line for each item, from rank to rank; a dotted one where it was not named in between.

    The first items of the newest column are coloured. `words` are what the chart shows, for people who cannot see it.
    """
    body, width, height = _rank_body(columns[-4:] if small else columns, wanted, small=small)
    kind = "for-small" if small else "for-wide"
    return (
        f'<svg class="drawing {kind}" role="img" aria-label="{html_text(words)}" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{body}</svg>'
    )


def rank_file(columns: Sequence[Column], wanted: int, title: str, notes: Sequence[str], words: str) -> str:
    """The same as a file of its own, with a title, notes below it, and its colours inside."""
    body, inner_width, inner_height = _rank_body(columns, wanted, small=False)
    margin, head = int(tokens()["size"]["margin"]), 54
    width, height = inner_width + 2 * margin, head + inner_height + 26 + 18 * len(notes)
    lines = "".join(
        f'<text class="t-quiet t-small" x="{margin}" y="{below}">{html_text(note)}</text>'
        for below, note in zip(count(head + inner_height + 20, 18), notes, strict=False)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{html_text(words)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}"><style>{_file_style()}</style>'
        f'<rect class="paper" width="100%" height="100%"/><text class="serif t-title" x="{margin}" y="36">'
        f'{html_text(title)}</text><g transform="translate({margin} {head})">{body}</g>{lines}</svg>'
    )


@dataclass(frozen=True)
class _Grid:
    """Where ranks and columns of a chart stand."""

    left: float
    step: float
    row: float

    def x(self, place: int) -> float:
        return self.left + place * self.step

    def y(self, rank: int) -> float:
        return 34 + (rank - 0.5) * self.row


def _rank_body(columns: Sequence[Column], wanted: int, *, small: bool) -> tuple[str, int, int]:
    """The elements of a chart, its width and its height."""
    rows = max([wanted, *(len(column.items) for column in columns)])
    letters = max((len(_shorten(item)) for column in columns for item in column.items), default=0)
    left, names, row = (20.0, 184.0, 34.0) if small else (34.0, 44 + 7.6 * letters, tokens()["size"]["bump_row"])
    steps = max(1, len(columns) - 1)
    width = 322.0 if small else max(480.0, min(880.0, left + names + 90 * steps))
    grid = _Grid(left, (width - left - names) / steps, row)
    height = int(34 + row * rows + 18)
    places = _places(columns)
    newest = columns[-1].items if columns else ()
    kinds = {name: f"s{place}" for place, name in enumerate(newest[:COLOURED], 1)}
    drawn = sorted(places, key=lambda item: item in kinds)
    body = [*_rank_rows(grid, rows, width - names), *_column_heads(grid, columns, wanted, height)]
    body += [part for item in drawn for part in _trace(grid, places[item], kinds.get(item, "context"))]
    body += [part for item in drawn for part in _marks(grid, item, places[item], kinds, len(columns))]
    return "".join(body), int(width), height


def _places(columns: Sequence[Column]) -> Mapping[str, list[tuple[int, int]]]:
    """Column and rank of each item, in every column that has it."""
    places: dict[str, list[tuple[int, int]]] = {}
    for place, column in enumerate(columns):
        for rank, item in enumerate(column.items, 1):
            places.setdefault(item, []).append((place, rank))
    return places


def _rank_rows(grid: _Grid, rows: int, end: float) -> Iterator[str]:
    for rank in range(1, rows + 1):
        y = grid.y(rank)
        yield f'<text class="t-quiet t-small" x="0" y="{y + 4:.0f}">{rank}</text>'
        yield f'<line class="grid" x1="{grid.left:.0f}" x2="{end:.0f}" y1="{y:.0f}" y2="{y:.0f}"/>'


def _column_heads(grid: _Grid, columns: Sequence[Column], wanted: int, height: int) -> Iterator[str]:
    """The label of each column; below those with fewer items than wanted, why."""
    every = max(1, round(70 / max(1.0, grid.step)))
    for place, column in enumerate(columns):
        middle = f'x="{grid.x(place):.1f}" text-anchor="middle"'
        if (len(columns) - 1 - place) % every == 0:
            yield f'<text class="t-quiet t-small" {middle} y="14">{html_text(column.label)}</text>'
        if len(column.items) < wanted:
            words = "missed" if column.is_missed else f"{len(column.items)} of {wanted}"
            yield f'<text class="t-quiet t-small" {middle} y="{height - 2}">{words}</text>'


def _trace(grid: _Grid, places: Sequence[tuple[int, int]], kind: str) -> Iterator[str]:
    for (start, rank), (end, following) in pairwise(places):
        x, y, to_x, to_y = grid.x(start), grid.y(rank), grid.x(end), grid.y(following)
        half = (x + to_x) / 2
        path = f"M{x:.1f} {y:.1f}C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
        if kind != "context":
            yield f'<path class="trace halo" d="{path}"/>'
        yield f'<path class="trace {kind}{" gap" if end - start > 1 else ""}" d="{path}"/>'


def _marks(
    grid: _Grid, item: str, places: Sequence[tuple[int, int]], kinds: Mapping[str, str], columns: int
) -> Iterator[str]:
    """A point for each place of an item, and its name beside the last of the newest column."""
    kind = kinds.get(item, "context")
    for place, rank in places:
        x, y = grid.x(place), grid.y(rank)
        if place == columns - 1:
            strong = "t-strong " if item in kinds else ""
            yield f'<circle class="end {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{tokens()["size"]["point_last"]}"/>'
            yield f'<text class="on t-small" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{rank}</text>'
            name = html_text(_shorten(item))
            yield f'<text class="{strong}{kind} t-label" x="{x + 20:.1f}" y="{y + 5:.1f}">{name}</text>'
        else:
            radius = tokens()["size"]["point"] - (kind == "context")
            title = f"<title>{html_text(item)}</title>"
            yield f'<circle class="mark {kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">{title}</circle>'


def _shorten(name: str) -> str:
    """A name, cut where it is too long for a chart of fixed size."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"


def _percent(share: float) -> str:
    """A share of the width, as SVG writes it; nothing below zero."""
    return f"{100 * max(0.0, share):.2f}%"


def _file_style() -> str:
    """What a drawing needs of the style sheet, with the values of the tokens, for light and dark."""
    font = tokens()["font"]
    return (
        f"text{{font-family:{font['sans']}}}.serif{{font-family:{font['title']};font-weight:700}}"
        ".t-small{font-size:12px}.t-label{font-size:14px}.t-title{font-size:20px}.t-strong,.on{font-weight:600}"
        ".trace{fill:none;stroke-width:3;stroke-linecap:round}.trace.context{stroke-width:1.5}"
        ".trace.halo{stroke-width:7}.mark{stroke-width:2.5}.mark.context{stroke-width:1.5}.gap{stroke-dasharray:2 6}"
        f"{_colours(tokens()['light'])}@media(prefers-color-scheme:dark){{{_colours(tokens()['dark'])}}}"
    )


def _colours(colour: Mapping[str, str]) -> str:
    series = "".join(
        f".s{place}{{stroke:{colour[f'series-{place}']}}}"
        f"text.s{place},.end.s{place}{{fill:{colour[f'series-{place}']};stroke:none}}"
        for place in range(1, COLOURED + 1)
    )
    return (
        f".paper{{fill:{colour['card']}}}text{{fill:{colour['ink']}}}.grid{{stroke:{colour['line']}}}"
        f".t-quiet,text.context{{fill:{colour['quiet']};stroke:none}}.halo{{stroke:{colour['card']}}}"
        f".trace.context,.mark.context{{stroke:{colour['context']}}}.end.context{{fill:{colour['context']}}}{series}"
        f".mark,text.on{{fill:{colour['card']}}}"
    )
