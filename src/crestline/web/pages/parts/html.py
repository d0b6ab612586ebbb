"""HTML out of text. Everything that is not made here is escaped: labels are somebody else's text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape

from crestline.label_text import html_text

_NARROW = 3  # columns that fit any screen


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def to_html(value: object) -> Html:
    """A value as HTML; what is HTML already is left alone."""
    return value if isinstance(value, Html) else Html(html_text(value))


def element(name: str, /, *content: object, **attributes: object) -> Html:
    """An element. `class_` and `for_` stand for class and for, `_` for `-`; an attribute that is None is left out."""
    inside = "".join(_attribute_text(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{inside}>{''.join(map(to_html, content))}</{name}>")


def void(name: str, /, **attributes: object) -> Html:
    """An element without content."""
    inside = "".join(_attribute_text(key, value) for key, value in attributes.items() if value is not None)
    return Html(f"<{name}{inside}/>")


def join_html(parts: Iterable[object]) -> Html:
    """One after the other."""
    return Html("".join(map(to_html, parts)))


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Collection[int] = (),
    marked: int | None = None,
) -> Html:
    """A table that can scroll sideways on a small screen; the first cell of a row names it.

    `numbers` are the columns that hold numbers, `marked` is the row to bring out. On a narrow screen the cells of a
    wide table stand below each other; the roles are written down because browsers forget them then.
    """

    kinds = ["number" if place in numbers else None for place in range(len(heads))]
    head = [
        element("th", name, scope="col", role="columnheader", class_=kind)
        for name, kind in zip(heads, kinds, strict=True)
    ]

    def table_row(row: Sequence[object], mark: str | None) -> Html:
        first = element("th", row[0], scope="row", role="rowheader", class_=kinds[0])
        cells = zip(row[1:], heads[1:], kinds[1:], strict=True)
        rest = (element("td", content, role="cell", class_=kind, data_label=name) for content, name, kind in cells)
        return element("tr", first, *rest, role="row", class_=mark)

    body = [table_row(row, "taken" if number == marked else None) for number, row in enumerate(rows)]
    inner = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *head, role="row"), role="rowgroup"),
        element("tbody", *body, role="rowgroup"),
        role="table",
        class_="stacked" if len(heads) > _NARROW else None,
    )
    return element("div", inner, class_="wide", tabindex="0", role="region", aria_label=caption)


def _attribute_text(name: str, value: object) -> str:
    spelled = name.rstrip("_").replace("_", "-")
    return f" {spelled}" if value is True else f' {spelled}="{escape(str(value))}"'
