"""Numbers in the text of a page become links to the place where they are told."""

from __future__ import annotations

import re
from collections.abc import Callable

from tools.book.numbers import NUMBER, home

_TAG = re.compile(r"(<[^>]+>)")
_NAME = re.compile(r"</?([a-zA-Z0-9]+)")
# Inside these a number is a link already, a title, or no citation.
_CLOSED = {"a", "code", "pre", "math", "script", "style", "h1", "h2", "h3", "h4"}


def with_links(html: str, here: str, address: Callable[[str], str]) -> str:
    """The page at `here`, with a link for every number; `address` turns a page of docs/ into a relative address."""
    parts, inside = [], 0
    for token in _TAG.split(html):
        if token.startswith("<"):
            inside += _step(token)
        elif not inside:
            token = NUMBER.sub(lambda found: _link(found[1], here, address), token)
        parts.append(token)
    return "".join(parts)


def _step(tag: str) -> int:
    """How a tag changes the number of open elements in which nothing is linked."""
    name = _NAME.match(tag)
    if name is None or name[1].lower() not in _CLOSED or tag.endswith("/>"):
        return 0
    return -1 if tag.startswith("</") else 1


def _link(number: str, here: str, address: Callable[[str], str]) -> str:
    told = number.rstrip(".-")
    page, anchor = home(told)
    if page == here:
        return number
    return f'<a href="{address(page)}#{anchor}">{told}</a>{number[len(told) :]}'
