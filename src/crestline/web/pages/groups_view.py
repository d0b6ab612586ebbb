"""An answer with groups on its page: a card for each group, and a list of them where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer
from crestline.answer.group_answers import GroupItems, groups_per_user_text, items_found_text
from crestline.histogram.label_order import Label
from crestline.label_text import label_text
from crestline.web.pages.parts.html import Html, element
from crestline.web.pages.parts.layout import capitalize_first, note_box

_MANY = 12  # from here on a list of all groups comes first


def groups_section(answer: Answer) -> tuple[Any, ...]:
    """What came back of every group; of groups in which nothing could be named there is nothing to show."""
    groups = answer.by_group or ()
    if not groups:
        return (note_box("Nothing could be named in any group."),)
    cards = [_group_card(number, group) for number, group in enumerate(groups)]
    listed = [_group_links(groups)] if has_many_groups(answer) else []
    return note_box(_summary(answer, groups)), *listed, element("div", *cards, class_="groups")


def has_many_groups(answer: Answer) -> bool:
    """Whether the groups fill more than a screen: then everything else comes before them."""
    return len(answer.by_group or ()) >= _MANY


def _summary(answer: Answer, groups: Sequence[GroupItems]) -> str:
    text = (
        f"{capitalize_first(items_found_text(groups, answer.question.k))}. "
        f"{capitalize_first(groups_per_user_text(answer.question))}."
    )
    if answer.question.groups is None:
        text += " Of a group in which nothing could be named nothing is said, not even that it exists."
    if answer.needs is not None:
        text += f" In its group an item needs {answer.needs}."
    return text


def _group_links(groups: Sequence[GroupItems]) -> Html:
    links = [element("a", label_text(group.label), href=f"#group-{number}") for number, group in enumerate(groups)]
    every = [element("li", link) for link in links]
    return element("details", element("summary", f"All {len(groups)} groups"), element("ul", *every, class_="contents"))


def _group_card(number: int, group: GroupItems) -> Html:
    title = element("h3", label_text(group.label))
    if not group.items:
        body = element("p", "Nothing could be named.", class_="hint")
    else:
        kind = "ol" if isinstance(group.items, tuple) else "ul"
        counts: Sequence[Fraction | None] = group.counts or [None] * len(group.items)
        body = element(kind, *(_line(*pair) for pair in zip(group.listed_items, counts, strict=True)))
    return element("article", title, body, id=f"group-{number}")


def _line(item: Label, count: Fraction | None) -> Html:
    words = label_text(item)
    return (
        element("li", words)
        if count is None
        else element("li", words, " ", element("span", f"{float(count):,.0f}", class_="count"))
    )
