"""Curves in panels: the one kind of picture the result pages draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crestline.pictures import Picture, import_altair

# Distinguishable for colour-blind readers (Okabe & Ito), and on white and dark pages: pictures are drawn on white.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8a8f98")


@dataclass(frozen=True)
class Point:
    """One point of a curve: `line` names the curve, `panel` the small picture it is in."""

    x: float
    y: float
    line: str
    panel: str


@dataclass(frozen=True)
class Axis:
    """What an axis says, and whether it is logarithmic; `domain` fixes its ends."""

    title: str
    log: bool = False
    domain: tuple[float, float] | None = None


def curves(
    points: Sequence[Point],
    *,
    x: Axis,
    y: Axis,
    title: str,
    subtitle: str = "",
    columns: int = 3,
    dashed: Sequence[str] = (),
    dots: Sequence[str] = (),
    colours: Mapping[str, str] | None = None,
    size: tuple[int, int] = (230, 170),
    shared_y: bool = True,
) -> Picture:
    """Panels of curves that share their axes; lines named in `dots` (published numbers) are drawn as points."""
    alt = import_altair()
    names = list(dict.fromkeys(point.line for point in points))
    hues = dict(colours or {})
    spare = [hue for hue in COLOURS if hue not in hues.values()]
    for name in names:
        hues.setdefault(name, spare.pop(0) if spare else "#8a8f98")
    kind = {name: "dots" if name in dots else "dashed" if name in dashed else "line" for name in names}
    values = [{"x": p.x, "y": p.y, "line": p.line, "panel": p.panel, "kind": kind[p.line]} for p in points]
    colour = alt.Color(
        "line:N",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=[hues[name] for name in names]),
        legend=alt.Legend(orient="top", labelLimit=0, symbolType="stroke", symbolStrokeWidth=3, columns=4),
    )
    base = alt.Chart().encode(x=_scaled(alt.X, "x:Q", x), y=_scaled(alt.Y, "y:Q", y), color=colour)
    layers = [
        base.mark_line(strokeWidth=1.8).transform_filter("datum.kind == 'line'"),
        base.mark_line(strokeWidth=1.8, strokeDash=[5, 3]).transform_filter("datum.kind == 'dashed'"),
        base.mark_point(size=16, filled=True, opacity=0.9).transform_filter("datum.kind == 'dots'"),
    ]
    order = list(dict.fromkeys(point.panel for point in points))
    chart = (
        alt.layer(*layers, data=alt.Data(values=values))
        .properties(width=size[0], height=size[1])
        .facet(facet=alt.Facet("panel:N", title=None, sort=order), columns=columns)
        .resolve_scale(y="shared" if shared_y else "independent")
        .properties(title=alt.Title(text=title, subtitle=subtitle) if subtitle else title)
    )
    return Picture(chart)


def _scaled(channel: Any, field: str, axis: Axis) -> Any:
    alt = import_altair()
    options: dict[str, Any] = {"type": "log"} if axis.log else {"zero": False}
    if axis.domain is not None:
        options |= {"domain": list(axis.domain), "nice": False}
    return channel(field, title=axis.title, scale=alt.Scale(**options), axis=alt.Axis(grid=True, tickCount=5))
