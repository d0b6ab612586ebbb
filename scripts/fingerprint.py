"""The fingerprint of a module's code: docstrings, comments, layout and imports left out.

    python scripts/fingerprint.py                   lists every proof note and whether it is fresh
    python scripts/fingerprint.py --renew NOTE …    writes the fingerprints of today's code into notes re-read today

A note in docs/proofs/ names the modules it proves in lines `Fingerprint: <module path> <hash>`. When the code moves
on, the check fails until somebody has read the note again and renewed it. Imports are left out because a module may
move to another folder without a change of what was proven: then only the path in the note is edited.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^Fingerprint: (?P<module>\S+) (?P<hash>\S+)$", re.MULTILINE)


class _Reading(ast.NodeTransformer):
    """The syntax tree as a proof reads it: without docstrings, and without saying where a name was imported from."""

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _has_docstring(
            node
        ):
            node.body = node.body[1:]
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            vars(node)["body"] = [ast.Pass()]
        return node


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def fingerprint(module: Path) -> str:
    """Sixteen hex digits of the syntax tree without docstrings and imports."""
    tree = _Reading().visit(ast.parse(module.read_text()))
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:16]


def stale(note: Path) -> list[str]:
    """The modules of a note whose code is no longer the code that was proven."""
    return [
        line["module"]
        for line in LINE.finditer(note.read_text())
        if not (ROOT / line["module"]).exists() or fingerprint(ROOT / line["module"]) != line["hash"]
    ]


def renew(note: Path) -> None:
    def today(line: re.Match[str]) -> str:
        return f"Fingerprint: {line['module']} {fingerprint(ROOT / line['module'])}"

    note.write_text(LINE.sub(today, note.read_text()))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--renew"]:
        for name in arguments[1:]:
            renew(Path(name))
        return 0
    notes = sorted((ROOT / "docs" / "proofs").glob("*.md"))
    old = {note: stale(note) for note in notes}
    for note, modules in old.items():
        print(f"{'stale' if modules else 'fresh'}  {note.relative_to(ROOT)}  {' '.join(modules)}")
    return 1 if any(old.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
