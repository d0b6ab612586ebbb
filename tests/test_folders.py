"""Folders inside the packages of edges and tools: imports between their parts point one way.

Those of `mechanisms` have a table of their own, in tests/mechanisms/test_folders.py.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.house.cycles import imported

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "crestline"

# What each folder may import of its package: other folders, and modules at the top.
MAY_IMPORT: dict[str, set[str]] = {
    "sources/engine": set(),
    "sources/arrow": {"engine"},
    "sources/expression": {"engine", "arrow"},
    "sources/pairs": {"engine", "expression"},
    "sources/groups": {"engine", "expression", "pairs"},
    "sources/templates": {"engine", "expression", "pairs", "groups"},
    "sources/files": {"engine", "arrow", "wrappers", "source", "table"},
    "sources/lakes": {"engine", "files", "wrappers", "table"},
    "audit/testers": {"claims", "protocols", "neighbours", "outcomes", "target"},
    "audit/program": {"report"},
    "ledger/storage": {"amount", "budget", "entries", "periods", "receipt", "balance_rules", "verify"},
    "cli/analyst": {"output", "progress"},
    "cli/owner": {"output"},
}
PACKAGES = sorted({name.split("/")[0] for name in MAY_IMPORT})


def siblings(package: str, path: Path) -> set[str]:
    """What a module imports of its package, wherever in it: folders and modules at the top, without its own."""
    prefix = f"crestline.{package}."
    own = path.relative_to(PACKAGE / package).parts[0].removesuffix(".py")
    return {name.removeprefix(prefix).split(".")[0] for name in imported(path) if name.startswith(prefix)} - {own}


@pytest.mark.parametrize("folder", sorted(MAY_IMPORT))
def test_a_folder_imports_what_it_may(folder: str) -> None:
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        extra = siblings(folder.split("/")[0], path) - MAY_IMPORT[folder]
        assert not extra, f"{path.relative_to(PACKAGE)} must not import {sorted(extra)}"


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_has_a_line(package: str) -> None:
    folders = {f"{package}/{path.parent.name}" for path in (PACKAGE / package).glob("*/__init__.py")}
    assert folders == {name for name in MAY_IMPORT if name.startswith(f"{package}/")}


@pytest.mark.parametrize("package", PACKAGES)
def test_parts_can_be_taken_away_one_by_one(package: str) -> None:
    """Each when nothing that is left imports it: there is no cycle, modules at the top included."""
    left: dict[str, set[str]] = {}
    for path in sorted((PACKAGE / package).rglob("*.py")):
        own = path.relative_to(PACKAGE / package).parts[0].removesuffix(".py")
        if own != "__init__":
            left[own] = left.get(own, set()) | siblings(package, path)
    while left:
        free = left.keys() - set().union(*left.values())
        assert free, f"a cycle among {sorted(left)}"
        left = {own: uses for own, uses in left.items() if own not in free}
