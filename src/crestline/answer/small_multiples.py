"""An answer with groups as a picture: a small panel for every group, side by side."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from crestline.answer.answer import Answer
from crestline.answer.groups import counted_in, found_in
from crestline.answer.plot import panel, plain_text, sentence, subtitle_of_promise, title_of
from crestline.pictures import Picture, altair

if TYPE_CHECKING:
    from altair import Chart

_COLUMNS = 3
_WIDTH = 210
_LONGEST = 30
_MOST = 48  # panels that a person looks at; the table has all groups


def plot_groups(answer: Answer) -> Picture:
    """Every group with its items; of very many groups the first, in the order of their labels."""
    alt = altair()
    panels = [_panel(alt, label, part) for label, part in list(answer.groups.items())[:_MOST]]
    title = alt.Title(title_of(answer), subtitle=_subtitle(answer))
    if not panels:
        nothing = sentence(alt, "Nothing could be named in any group.")
        return Picture(alt.layer(nothing).properties(title=title, width=2 * _WIDTH, height=48))
    spacing = {"row": 26, "column": 34}
    return Picture(alt.concat(*panels, columns=_COLUMNS, spacing=spacing).properties(title=title))


def _panel(alt: ModuleType, label: object, part: Answer) -> Chart:
    name = plain_text(label, _LONGEST)
    heading = alt.Title(name, fontSize=13, anchor="start", offset=6)
    return panel(alt, part, width=_WIDTH, longest=_LONGEST, nothing="nothing could be named").properties(title=heading)


def _subtitle(answer: Answer) -> list[str]:
    groups = answer.by_group or ()
    found = f"{found_in(groups, answer.question.k)}; {counted_in(answer.question)}"
    cut = [f"The first {_MOST} groups are shown"] if len(groups) > _MOST else []
    return [found, *cut, *subtitle_of_promise(answer)]
