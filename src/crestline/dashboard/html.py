"""HTML out of text. Everything that is not made here is escaped: labels are somebody else's text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape
from typing import Any

from crestline.answer.views import cell_text


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def safe(value: Any) -> Html:
    """A value as HTML; what is HTML already is left alone."""
    return value if isinstance(value, Html) else Html(escape(cell_text(value)))


def tag(name: str, /, *content: Any, **attributes: Any) -> Html:
    """An element. `class_` and `for_` stand for class and for, `_` for `-`; an attribute that is None is left out."""
    shown = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{shown}>{''.join(map(safe, content))}</{name}>")


def void(name: str, /, **attributes: Any) -> Html:
    """An element without content."""
    shown = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{shown}/>")


def join(parts: Iterable[Any]) -> Html:
    """One after the other."""
    return Html("".join(map(safe, parts)))


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    numbers: Collection[int] = (),
    marked: int | None = None,
) -> Html:
    """A table that can scroll sideways on a small screen; the first cell of a row names it.

    `numbers` are the columns that hold numbers, `marked` is the row to bring out.
    """

    def cell(name: str, place: int, content: Any, scope: str | None) -> Html:
        return tag(name, content, scope=scope, class_="number" if place in numbers else None)

    head = tag("tr", *(cell("th", place, name, "col") for place, name in enumerate(heads)))
    body = [
        tag(
            "tr",
            *(
                cell("th" if place == 0 else "td", place, content, "row" if place == 0 else None)
                for place, content in enumerate(row)
            ),
            class_="taken" if number == marked else None,
        )
        for number, row in enumerate(rows)
    ]
    inner = tag("table", tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def _attribute(name: str, value: Any) -> str:
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"'
