"""`crestline reproduce`, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crestline.cli import reproduce as command
from crestline.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


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


@pytest.mark.long
def test_a_name_runs_and_writes_its_page(tmp_path: Path) -> None:
    arguments = ["reproduce", "composition", "--quick", "--data", str(tmp_path), "--results", str(tmp_path / "out")]
    assert run([*arguments, "--workers", "1"]) == 0
    page = (tmp_path / "out" / "composition.md").read_text()
    assert "![" in page
    assert (tmp_path / "out" / "composition.svg").read_text().startswith("<svg")


@pytest.mark.long
def test_both_names_of_the_command_are_the_same(tmp_path: Path) -> None:
    """One is run in the checkout's folder, the other anywhere."""
    listed = ["--list", "--results", str(tmp_path)]
    module = subprocess.run(
        [sys.executable, "-m", "reproduction", *listed], cwd=ROOT, env=ENVIRONMENT, capture_output=True, check=True
    )
    other = subprocess.run(
        [sys.executable, "-m", "crestline", "reproduce", *listed],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        check=True,
    )
    assert module.stdout == other.stdout
    assert json.loads(module.stdout)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As if crestline had been installed: no checkout around it."""
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    monkeypatch.setattr(command, "find_spec", lambda name: None)


@pytest.mark.usefixtures("installed")
def test_without_a_checkout_the_command_says_how_to_get_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--quick"]) == 2
    said = capsys.readouterr().err
    assert "git clone" in said
    assert "python -m reproduction --all" in said
    assert len(said.strip().splitlines()) == 1


@pytest.mark.usefixtures("installed")
def test_without_a_checkout_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--help"]) == 0
    assert "python -m reproduction" in capsys.readouterr().out
