"""An answer with groups on its page: a card for each group, and a list of them where there are many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from crestline.answer.answer import Answer
from crestline.answer.groups import GroupItems, counted_in, found_in
from crestline.answer.tabular import cell_text
from crestline.histogram.labels import Label
from crestline.web.pages.parts.html import Html, tag
from crestline.web.pages.parts.layout import capital, note

_MANY = 12  # from here on a list of all groups comes first


def groups_part(answer: Answer) -> tuple[Any, ...]:
    """What came back of every group; of groups in which nothing could be named there is nothing to show."""
    groups = answer.by_group or ()
    if not groups:
        return (note("Nothing could be named in any group."),)
    cards = [_card(number, group) for number, group in enumerate(groups)]
    listed = [_contents(groups)] if many_groups(answer) else []
    return note(_summary(answer, groups)), *listed, tag("div", *cards, class_="groups")


def many_groups(answer: Answer) -> bool:
    """Whether the groups fill more than a screen: then everything else comes before them."""
    return len(answer.by_group or ()) >= _MANY


def _summary(answer: Answer, groups: Sequence[GroupItems]) -> str:
    text = f"{capital(found_in(groups, answer.question.k))}. {capital(counted_in(answer.question))}."
    if answer.question.groups is None:
        text += " Of a group in which nothing could be named nothing is said, not even that it exists."
    if answer.needs is not None:
        text += f" In its group an item needs {answer.needs}."
    return text


def _contents(groups: Sequence[GroupItems]) -> Html:
    links = [tag("a", label_text(group.label), href=f"#group-{number}") for number, group in enumerate(groups)]
    every = [tag("li", link) for link in links]
    return tag("details", tag("summary", f"All {len(groups)} groups"), tag("ul", *every, class_="contents"))


def _card(number: int, group: GroupItems) -> Html:
    title = tag("h3", label_text(group.label))
    if not group.items:
        body = tag("p", "Nothing could be named.", class_="hint")
    else:
        kind = "ol" if isinstance(group.items, tuple) else "ul"
        counts: Sequence[Fraction | None] = group.counts or [None] * len(group.items)
        body = tag(kind, *(_line(*pair) for pair in zip(group.listed_items, counts, strict=True)))
    return tag("article", title, body, id=f"group-{number}")


def _line(item: Label, count: Fraction | None) -> Html:
    words = label_text(item)
    return (
        tag("li", words)
        if count is None
        else tag("li", words, " ", tag("span", f"{float(count):,.0f}", class_="count"))
    )


def label_text(label: Label) -> str:
    """A label as people read it; the parts of one with several columns beside each other."""
    return " · ".join(map(cell_text, label)) if isinstance(label, tuple) else cell_text(label)
