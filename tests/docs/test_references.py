"""Every paper a mechanism comes from has one key in docs/references.bib, spelled the same everywhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEYS = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs" / "references.bib").read_text(), re.MULTILINE))
CITED = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)*(?:EtAl)?(?:19|20)\d\d\b")


def seeds() -> dict[str, str]:
    """The Seed line of every mechanism that has one."""
    lines = {}
    for path in (ROOT / "src" / "crestline" / "mechanisms").rglob("*.py"):
        found = re.search(r"^Seed +(.+)$", path.read_text(), re.MULTILINE)
        if found:
            lines[str(path.relative_to(ROOT))] = found[1]
    return lines


def test_every_seed_is_a_known_paper() -> None:
    assert len(seeds()) > 10
    for name, line in seeds().items():
        for key in CITED.findall(line):
            assert key in KEYS, f"{name} cites {key}, which docs/references.bib does not have"


def test_every_paper_is_cited() -> None:
    text = " ".join(seeds().values())
    assert {key for key in KEYS if key not in text} == set()
