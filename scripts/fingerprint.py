"""The fingerprint of a module's code: docstrings, comments and layout left out.

    python scripts/fingerprint.py                   lists every proof note and whether it is fresh
    python scripts/fingerprint.py --renew NOTE …    writes the fingerprints of today's code into notes re-read today

A note in docs/proofs/ names the modules it proves in lines `Fingerprint: <module path> <hash>`. When the code moves
on, the check fails until somebody has read the note again and renewed it.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE = re.compile(r"^Fingerprint: (?P<module>\S+) (?P<hash>\S+)$", re.MULTILINE)


def fingerprint(module: Path) -> str:
    """Sixteen hex digits of the syntax tree without docstrings."""
    tree = ast.parse(module.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
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
