"""Pages of results: Markdown with tables, and pictures beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crestline.pictures import Picture
from reproduction.experiment import Estimate

NOTE = "<!-- Written by `python -m reproduction`; do not edit. -->\n\n"
MISSING = "–"


@dataclass(frozen=True)
class Page:
    """A page's Markdown, and its pictures by file name without the ending; the text shows them with `shown`."""

    text: str
    pictures: Mapping[str, Picture] = field(default_factory=dict)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    rule = ["---", *("---:" for _ in columns[1:])]
    lines = [columns, rule, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def shown(name: str, words: str) -> str:
    """A picture of the page, with words for those who cannot see it."""
    return f"![{words}]({name}.svg)\n"


def number(estimate: Estimate | float | None, digits: int = 3) -> str:
    """A mean with its standard error; a computed number has none."""
    if estimate is None:
        return MISSING
    if isinstance(estimate, int | float):
        return f"{estimate:.{digits}f}"
    text = f"{estimate.value:.{digits}f}"
    return text if estimate.error == 0 else f"{text} ± {estimate.error:.{digits}f}"


def write(folder: Path, name: str, page: Page) -> None:
    """Write a page and its pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, picture in page.pictures.items():
        picture.save(folder / f"{title}.svg")
    (folder / f"{name}.md").write_text(NOTE + page.text, encoding="utf-8")
