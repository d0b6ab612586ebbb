"""The architecture page speaks of the tree as it is."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text()
PACKAGE = ROOT / "src" / "crestline"


def test_every_path_on_the_page_exists() -> None:
    places = (ROOT, PACKAGE, PACKAGE / "mechanisms", PACKAGE / "guarantees")
    named = re.findall(r"`([\w/.-]+(?:/|\.py|\.md))`", PAGE)
    assert len(named) > 20
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert not missing


def test_every_package_is_on_the_page() -> None:
    packages = [path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()]
    folders = [path.name for path in (PACKAGE / "mechanisms").iterdir() if (path / "__init__.py").exists()]
    assert [name for name in (*packages, *folders) if f"`{name}/`" not in PAGE] == []
