"""Packages that import one another, at every level of the tree; imports inside functions count as well."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from tools.house.figures import nodes_of

_Edges = Mapping[str, set[str]]


def cycles(source: Path) -> list[str]:
    """Groups of packages of one folder of which each needs all others; a module at the top counts as a package.

    `__init__` and `__main__` are left out: they are the doors of the whole.
    """
    found = []
    for folder in sorted({path.parent for path in source.rglob("*.py")}):
        inside = "" if folder == source else f"{folder.relative_to(source)}/"
        groups = _tangles(_edges(source, folder, with_modules=folder == source))
        found += [" ↔ ".join(inside + one for one in group) for group in groups]
    return found


def _edges(source: Path, folder: Path, with_modules: bool) -> _Edges:
    """Who of a folder's packages, and modules, imports whom of them."""
    here = folder.relative_to(source.parent).parts
    edges = defaultdict[str, set[str]](set)
    for path in sorted(folder.rglob("*.py")):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        if own in ("__init__", "__main__") or (path.parent == folder and not with_modules):
            continue
        for name in imported(path):
            parts = name.split(".")
            if tuple(parts[: len(here)]) == here and len(parts) > len(here) and parts[len(here)] != own:
                edges[own].add(parts[len(here)])
    return edges


def imported(path: Path) -> Iterator[str]:
    """The full name of everything a module imports, wherever in it."""
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _tangles(edges: _Edges) -> list[list[str]]:
    """The groups of more than one of which each reaches all others."""
    reach = {one: _reached(edges, one) for one in edges}
    groups = {tuple(sorted(other for other in reach[one] if one in reach.get(other, ()))) for one in reach}
    return sorted(list(group) for group in groups if len(group) > 1)


def _reached(edges: _Edges, start: str) -> set[str]:
    seen, waiting = set[str](), [start]
    while waiting:
        new = edges.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen
