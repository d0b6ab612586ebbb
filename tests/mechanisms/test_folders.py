"""Folders of mechanisms: each imports only the siblings that it may use."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "crestline"
MODULES = sorted((PACKAGE / "mechanisms").rglob("*.py"))

# What each folder or module at the top may import of its siblings. The protocol, selections, slots and totals know no
# folder; the catalogue loads classes by name; noisy counts follow any selection, and groups run any mechanism.
BASE = {"mechanism", "slot_mechanism", "selection", "slot_checks", "two_stage", "privacy_total"}
MAY_IMPORT: dict[str, set[str]] = {
    **dict.fromkeys(BASE, BASE),
    "mechanism": {*BASE, "catalogue"},
    "catalogue": set(),
    "third_party": BASE,
    "identity": {"third_party"},
    "nested": {*BASE, "third_party"},
    "numerics": set(),
    "limited_domain": {*BASE, "numerics"},
    "public_list": {*BASE, "numerics"},
    "observed": {*BASE, "numerics", "public_list"},
    "canonical": {*BASE, "numerics", "public_list"},
    "framework": {*BASE, "third_party", "numerics", "canonical"},
    "stability": {*BASE, "third_party", "numerics", "public_list", "framework"},
    "routes": {*BASE, "numerics", "public_list", "canonical", "framework", "observed"},
    "coverage": set(),
    "in_groups": BASE,
    "noisy_counts": {*BASE, "third_party", "numerics", "limited_domain", "framework"},
}
# The public names: at run time the catalogue alone, for type checkers every folder with one of them.
MAY_IMPORT["__init__"] = MAY_IMPORT.keys() - BASE


def siblings(path: Path) -> set[str]:
    """What a module imports of `crestline.mechanisms`, at the top or inside a function: folders and top modules."""
    prefix, found = "crestline.mechanisms.", set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.removeprefix(prefix).split(".")[0] for name in names if name.startswith(prefix)}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_folders_import_in_one_direction(path: Path) -> None:
    own = path.relative_to(PACKAGE / "mechanisms").parts[0].removesuffix(".py")
    assert own in MAY_IMPORT, f"say in MAY_IMPORT what {own!r} may import"
    extra = siblings(path) - MAY_IMPORT[own] - {own}
    assert not extra, f"mechanisms/{own} must not import {sorted(extra)}"


def test_the_directions_have_no_cycle() -> None:
    """Folders can be taken away one by one, each when nothing that is left imports it."""
    left = {own: uses - {own} - BASE for own, uses in MAY_IMPORT.items()}
    while left:
        used = set().union(*left.values())
        free = left.keys() - used
        assert free, f"a cycle among {sorted(left)}"
        left = {own: uses for own, uses in left.items() if own not in free}
