"""The notebooks of `examples/` run from top to bottom in an empty folder, and show their last values."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def cells(path: Path) -> list[str]:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def shown(code: str, names: dict[str, object], name: str) -> object:
    """Run a cell; the value of its last line, which a notebook would show."""
    tree = ast.parse(code)
    end = tree.body[-1]
    last = end if isinstance(end, ast.Expr) else None
    if last is not None:
        tree.body.pop()
    exec(compile(tree, name, "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["budget-for-a-team", "first-answer"]
    for path in NOTEBOOKS:
        assert f"]({path.name})" in (EXAMPLES / "README.md").read_text()


@pytest.mark.long
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    values = [shown(code, names, f"{path.stem}, cell {number}") for number, code in enumerate(cells(path), start=1)]
    pages = [value._repr_html_() for value in values if hasattr(value, "_repr_html_")]
    assert all("<table" in page for page in pages)
