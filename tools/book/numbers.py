"""Where each number that code and pages cite is told: P, K, B, U are theorems, E errata, D decisions, TV vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The page that tells what a number of this kind claims.
HOMES = {
    "P": "reference/theorems.md",
    "K": "reference/theorems.md",
    "B": "reference/theorems.md",
    "U": "reference/theorems.md",
    "E": "errata.md",
    "D": "decisions/README.md",
    "T": "reference/vectors.md",
}
# Not followed by a letter, a digit or an opening bracket: `D2(x)` and `P5_` are something else.
NUMBER = re.compile(
    r"(?<![\w.$`\\/-])(P\d{1,2}(?:\.\d{1,2})?|K[1-4]|B[1-7]|U\d{1,2}|E-[A-D]\d{1,2}|D\d{1,2}|TV-[0-9S][\w.-]*)(?![\w(\[{^'’])(?!\.\d)"
)
_ANCHOR = re.compile(r'<a id="([^"]+)"></a>')


def cited(text: str) -> Iterator[str]:
    """Every number that a text cites."""
    return (found[1].rstrip(".-") for found in NUMBER.finditer(text))


def anchors(page: Path) -> set[str]:
    """The places of a page that have a name of their own."""
    return set(_ANCHOR.findall(page.read_text(encoding="utf-8")))


def home(number: str) -> tuple[str, str]:
    """The page and the anchor where a number is told."""
    return HOMES[number[0]], number.lower()


def unresolved(files: Iterator[Path]) -> list[str]:
    """`file: number` for every citation without a place."""
    known = {page: anchors(DOCS / page) for page in set(HOMES.values())}
    missing = []
    for path in files:
        for number in cited(path.read_text(encoding="utf-8")):
            page, anchor = home(number)
            if anchor not in known[page]:
                missing.append(f"{path.relative_to(ROOT)}: {number}")
    return missing
