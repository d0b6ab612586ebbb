"""Fingerprints of the definitions that a proof note proves: docstrings, comments, layout and imports are left out.

    python scripts/fingerprint.py                   lists every proof note, whether it is fresh, and what changed
    python scripts/fingerprint.py --renew NOTE …    writes the fingerprints of today's code into notes re-read today

A note in docs/proofs/ names the modules it proves in lines `Proves: <module path>` and ends with a comment that holds a
name and a hash for each top-level definition of these modules. A definition that moves to another module keeps its
hash, so moving code changes nothing; a definition that is changed, added or removed makes the note stale until somebody
has read the note again and renewed it.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROVES = re.compile(r"^Proves: (\S+)$", re.MULTILINE)
STORED = re.compile(r"\n<!-- Fingerprints\n((?:\S+ [0-9a-f]+\n)*)-->\n")

Definition = tuple[str, str]  # a name and a hash


class _WithoutProse(ast.NodeTransformer):
    """The syntax tree as a proof reads it: without strings that stand alone, and without imports."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            vars(node)["body"] = [ast.Pass()]
        return node


def definitions(source: str) -> list[Definition]:
    """A name and a hash for each top-level statement that is more than an import or a docstring."""
    tree = _WithoutProse().visit(ast.parse(source))
    return [
        (name, hashlib.sha256(ast.dump(node).encode()).hexdigest()[:12])
        for node in tree.body
        for name in _names(node)
        if not isinstance(node, ast.Pass)
    ]


def _names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield ",".join(ast.unparse(target).replace(" ", "") for target in targets)
    elif not (isinstance(node, ast.If) and all(isinstance(part, ast.Pass) for part in node.body)):
        yield "-"  # an `if TYPE_CHECKING` of imports alone is left out


def _read(path: Path) -> list[Definition]:
    return definitions(path.read_text())


@cache
def _elsewhere(root: Path) -> dict[Definition, str]:
    """Every definition of the package, with a module that holds it."""
    modules = sorted((root / "src").rglob("*.py"))
    return {found: str(module.relative_to(root)) for module in modules for found in _read(module)}


def stale(note: Path, root: Path = ROOT) -> list[str]:
    """The names of the definitions that are no longer those the note was last read with; empty if it is fresh."""
    text = note.read_text()
    stored = STORED.search(text)
    proven = {(name, mark) for name, mark in map(str.split, stored[1].splitlines())} if stored else set()
    today = {found for module in PROVES.findall(text) if (root / module).exists() for found in _read(root / module)}
    gone = {found for found in proven - today if found not in _elsewhere(root)}
    return sorted({name for name, _ in (today - proven) | gone}) or ([] if proven else ["(no fingerprints)"])


def renew(note: Path, root: Path = ROOT) -> None:
    """Write today's fingerprints; a module that is gone is replaced by those that hold its definitions now."""
    text = note.read_text()
    stored = STORED.search(text)
    modules = [module for module in PROVES.findall(text) if (root / module).exists()]
    if stored and len(modules) < len(PROVES.findall(text)):
        held = {found for module in modules for found in _read(root / module)}
        proven = [(name, mark) for name, mark in map(str.split, stored[1].splitlines()) if (name, mark) not in held]
        modules += sorted({_elsewhere(root)[found] for found in proven if found in _elsewhere(root)} - {*modules})
    lines = "".join(f"Proves: {module}\n" for module in modules)
    text = re.sub(r"(?:^Proves: \S+\n)+", lines, STORED.sub("", text), count=1, flags=re.MULTILINE)
    marks = "".join(f"{name} {mark}\n" for module in modules for name, mark in _read(root / module))
    note.write_text(f"{text.rstrip()}\n\n<!-- Fingerprints\n{marks}-->\n")


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--renew"]:
        for name in arguments[1:]:
            renew(Path(name))
        return 0
    notes = sorted(note for note in (ROOT / "docs" / "proofs").glob("*.md") if note.stem != "README")
    changed = {note: stale(note) for note in notes}
    for note, names in changed.items():
        print(f"{'stale' if names else 'fresh'}  {note.relative_to(ROOT)}  {' '.join(names)}")
    return 1 if any(changed.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
