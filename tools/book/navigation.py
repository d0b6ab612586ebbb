"""The order of the chapters and of their pages. A page that is not named here comes after those that are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

# Chapter, its folder, the pages that come first.
CHAPTERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Tutorial", "tutorial", ("first-question", "budgets", "groups", "your-database", "your-mechanism")),
    (
        "How to",
        "how-to",
        (
            "choose",
            "report",
            "databases",
            "joins",
            "sql",
            "client",
            "agents",
            "schedule",
            "scale",
            "short-answers",
            "plan",
            "prices",
            "ledger",
            "sums",
            "migrate",
            "audit",
            "deploy",
        ),
    ),
    ("Reference", "reference", ("python", "cli", "where", "theorems", "accounting", "vectors")),
    ("Proofs", "proofs", ("README",)),
    ("Decisions", "decisions", ("README",)),
    ("Results", "results", ("README", "practice", "performance")),
    ("Report", "report", ("README",)),
)
# Folders inside a chapter, and what they are called.
INNER = {"reference/mechanisms": "Mechanisms", "proofs/foundations": "Foundations"}
FIRST_INNER = {
    "proofs/foundations": (
        "model",
        "slots",
        "building-blocks",
        "composition",
        "ledger",
        "sampling",
        "groups",
        "periods",
    )
}
# Pages outside the chapters: before them, and after the proofs.
HOME = "index.md"
ERRATA = "errata.md"
ABOUT = ("architecture.md", "glossary.md", "security.md", "changelog.md", "contributing.md")

Entry = str | dict[str, "str | list[Entry]"]


def navigation(docs: Path) -> list[Entry]:
    """The whole navigation, as MkDocs takes it."""
    chapters: list[Entry] = [{"Home": HOME}]
    for title, folder, first in CHAPTERS:
        if not (docs / folder).is_dir():
            continue
        chapters.append({title: chapter(docs, folder, first)})
        if folder == "proofs" and (docs / ERRATA).exists():
            chapters.append({"Errata": [ERRATA]})
    chapters.append({"About": list(ABOUT)})
    return chapters


def chapter(docs: Path, folder: str, first: Sequence[str]) -> list[Entry]:
    """The pages of one folder in their order, then the folders inside it."""
    pages = sorted((docs / folder).glob("*.md"), key=lambda page: (_place(page.stem, first), page.stem))
    found: list[Entry] = [f"{folder}/{page.name}" for page in pages]
    inner = [name for name in INNER if Path(name).parent == Path(folder) and (docs / name).is_dir()]
    for name in inner:
        group: Entry = {INNER[name]: chapter(docs, name, FIRST_INNER.get(name, ()))}
        found.insert(1 if folder == "proofs" else len(found), group)
    return found


def _place(name: str, first: Sequence[str]) -> int:
    return first.index(name) if name in first else len(first)
