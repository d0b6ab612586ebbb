"""Chart of an answer with groups: a small panel for every group, side by side."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from crestline.answer.answer import Answer
from crestline.answer.group_answers import groups_per_user_text, items_found_text
from crestline.answer.plot import items_chart, label_on_one_line, promise_subtitle, text_layer
from crestline.pictures import Picture, import_altair

if TYPE_CHECKING:
    from altair import Chart

_COLUMNS = 3
_WIDTH = 210
_LONGEST = 30
_MOST = 48  # panels that a person can compare; tables have all groups


def plot_groups(answer: Answer) -> Picture:
    """Chart with a panel for each of the first 48 groups, in the order of their labels."""
    alt = import_altair()
    panels = [_group_chart(alt, label, part) for label, part in list(answer.groups.items())[:_MOST]]
    title = alt.Title(answer.heading, subtitle=_subtitle(answer))
    if not panels:
        nothing = text_layer(alt, "Nothing could be named in any group.")
        return Picture(alt.layer(nothing).properties(title=title, width=2 * _WIDTH, height=48))
    spacing = {"row": 26, "column": 34}
    return Picture(alt.concat(*panels, columns=_COLUMNS, spacing=spacing).properties(title=title))


def _group_chart(alt: ModuleType, label: object, part: Answer) -> Chart:
    name = label_on_one_line(label, _LONGEST)
    heading = alt.Title(name, fontSize=14, font="sans-serif", anchor="start", offset=6)
    return items_chart(alt, part, width=_WIDTH, longest=_LONGEST, nothing="nothing could be named").properties(
        title=heading
    )


def _subtitle(answer: Answer) -> list[str]:
    groups = answer.by_group or ()
    text = f"{items_found_text(groups, answer.question.k)}; {groups_per_user_text(answer.question)}"
    cut = [f"The first {_MOST} groups are shown"] if len(groups) > _MOST else []
    return [text, *cut, *promise_subtitle(answer)]
