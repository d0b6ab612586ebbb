"""Chart of an answer: bars with whiskers for noisy counts, otherwise a ranked list."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import TYPE_CHECKING, Any

from crestline.answer.answer import Answer
from crestline.histogram.label_order import Label
from crestline.label_text import label_text
from crestline.pictures import BACKGROUND, COLOUR, DARK, QUIET, SIZE, Picture, import_altair

if TYPE_CHECKING:
    from altair import Chart, Y

_ROW = SIZE["row"]
_WIDTH = 460
_LONGEST = 48


def plot(answer: Answer) -> Picture:
    """Chart of an answer without groups; it displays values of the answer only."""
    alt = import_altair()
    title = alt.Title(answer.heading, subtitle=_subtitle(answer))
    return Picture(items_chart(alt, answer).properties(title=title))


def items_chart(
    alt: ModuleType,
    answer: Answer,
    *,
    width: int = _WIDTH,
    longest: int = _LONGEST,
    nothing: str = "No item could be named.",
) -> Chart:
    """Chart of the items without a title; labels longer than `longest` characters are cut."""
    rows = _chart_rows(answer, longest)
    if not rows:
        layers = [text_layer(alt, nothing)]
    elif answer.counts is None:
        layers = _ranked_list_layers(alt, rows, ordered=isinstance(answer.items, tuple))
    else:
        what = answer.count_unit if answer.question.score is None else answer.question.score
        title = f"{what} (noisy {'count' if answer.question.score is None else 'sum'})"
        layers = _bars(alt, rows, title, whiskers=answer.intervals is not None)
    chart: Chart = alt.layer(*layers).properties(width=width, height=_ROW * max(2, len(rows)))
    return chart


def _chart_rows(answer: Answer, longest: int) -> list[dict[str, Any]]:
    rows = []
    names = _make_distinct([label_on_one_line(item, longest) for item in answer.listed_items])
    for place, name in enumerate(names):
        row: dict[str, Any] = {"place": place, "number": str(place + 1), "item": name}
        if answer.counts is not None:
            count = float(answer.counts[place])
            row |= {"count": count, "shown": f"{count:,.0f}"}
            if answer.intervals is not None:
                row |= dict(zip(("low", "high"), answer.intervals[place], strict=True))
        rows.append(row)
    return rows


def _bars(alt: ModuleType, rows: list[dict[str, Any]], title: str, *, whiskers: bool) -> list[Chart]:
    """Bars with their numbers at the right; the line of an interval stands out from its bar by a rim."""
    base = alt.Chart(alt.Data(values=rows)).encode(y=_item_axis(alt, rows))
    axis = alt.Axis(orient="top", tickCount=4, format=",.0f", titleAlign="right", titleAnchor="end")
    scale = alt.Scale(range=[0, alt.ExprRef(f"width - {SIZE['value']}")])
    count = alt.X("count:Q", title=title, axis=axis, scale=scale)
    layers = [base.mark_bar(color=COLOUR, size=SIZE["bar"], cornerRadius=SIZE["radius"]).encode(x=count)]
    if whiskers:
        for colour, width in ((BACKGROUND, SIZE["halo"]), (DARK, SIZE["whisker"])):
            ends = {"x": alt.X("low:Q", title=title, scale=scale), "x2": "high:Q"}
            layers.append(base.mark_rule(color=colour, strokeWidth=width).encode(**ends))
    number = base.mark_text(align="right", fontSize=SIZE["font_label"], fontWeight=600)
    return [*layers, number.encode(x=alt.value(alt.ExprRef("width")), text="shown:N")]


def _ranked_list_layers(alt: ModuleType, rows: list[dict[str, Any]], *, ordered: bool) -> list[Chart]:
    """Layers with numbers in discs and labels beside them; items of a set, which has no order, get plain dots."""
    place = alt.Y("place:O", axis=None)
    base = alt.Chart(alt.Data(values=rows)).encode(y=place)
    names = base.mark_text(align="left", fontSize=13).encode(x=alt.value(30), text="item:N")
    if not ordered:
        return [base.mark_circle(color=QUIET, size=40, opacity=1).encode(x=alt.value(12)), names]
    disc = base.mark_circle(color=COLOUR, size=330, opacity=1).encode(x=alt.value(12))
    number = base.mark_text(color="white", fontSize=11, fontWeight="bold").encode(x=alt.value(12), text="number:N")
    return [disc, number, names]


def text_layer(alt: ModuleType, text: str) -> Chart:
    """Layer with a line of text, for a chart without items."""
    words = alt.Chart(alt.Data(values=[{"text": text}]))
    return words.mark_text(align="left", fontSize=14, color=QUIET).encode(
        x=alt.value(0), y=alt.value(SIZE["row"]), text="text:N"
    )


def _item_axis(alt: ModuleType, rows: list[dict[str, Any]]) -> Y:
    return alt.Y("item:N", sort=[row["item"] for row in rows], title=None, axis=alt.Axis(ticks=False, domain=False))


def _subtitle(answer: Answer) -> list[str]:
    text = f"{len(answer)} of {answer.question.k} named"
    if answer.stopped:
        text += ", then it stopped on purpose"
        if answer.needs is not None:
            text += f" (an item needed {answer.needs})"
    return [text, *promise_subtitle(answer)]


def promise_subtitle(answer: Answer) -> list[str]:
    """Lines of the subtitle: the guarantee, and how to read whiskers."""
    lines = [f"{answer.guarantee} for every single user · {answer.mechanism.name}"]
    if answer.intervals is not None:
        lines.append(f"Whiskers: 95% intervals, in {answer.count_unit}")
    if answer.replayed:
        lines.append("Made with replayable randomness: not private")
    return lines


def label_on_one_line(item: Label, longest: int = _LONGEST) -> str:
    """A label as one line of text, cut to `longest` characters."""
    text = label_text(item)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _make_distinct(names: list[str]) -> list[str]:
    """The names, with a number after each that equals an earlier one, such as 1 and '1', or two that were cut."""
    times: Counter[str] = Counter()
    result = []
    for name in names:
        times[name] += 1
        result.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return result
