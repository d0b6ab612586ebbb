"""`crestline reproduce`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crestline.cli.main import run


def test_the_list(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["reproduce", "--list", "--results", str(tmp_path)]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"composition"} <= {row["name"] for row in rows}
    assert all(row["done"] == 0 < row["cells"] for row in rows)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [([], "say what to run"), (["absent"], "there is no experiment 'absent'"), (["--quick", "--data", "no"], "folder")],
)
def test_a_wrong_call_ends_with_two(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_a_name_runs_and_writes_its_page(tmp_path: Path) -> None:
    arguments = ["reproduce", "composition", "--quick", "--data", str(tmp_path), "--results", str(tmp_path / "out")]
    assert run([*arguments, "--workers", "1"]) == 0
    page = (tmp_path / "out" / "composition.md").read_text()
    assert "![" in page
    assert (tmp_path / "out" / "composition.svg").read_text().startswith("<svg")
