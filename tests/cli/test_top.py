"""`crestline top` with a picture, and what it prints."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from crestline.cli.main import run


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    """Three titles with 400, 300 and 200 readers."""
    path = tmp_path / "loans.csv"
    rows = [f"r{reader},{title}" for title, many in (("A", 400), ("B", 300), ("C", 200)) for reader in range(many)]
    path.write_text("reader,title\n" + "\n".join(rows) + "\n")
    return path


def question(path: Path, *more: str) -> list[str]:
    return [
        *("top", str(path), "--user", "reader", "--item", "title", "-k", "3", "--epsilon", "5", "--delta", "1e-6"),
        *more,
    ]


def test_a_picture_on_request(loans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "top.svg"
    assert run(question(loans, "--plot", str(picture), "--format", "json")) == 0
    assert json.loads(capsys.readouterr().out)["items"] == ["A", "B", "C"]
    assert picture.read_text().startswith("<svg")


def test_a_picture_that_cannot_be_saved_is_refused_before_anything_is_asked(
    loans: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(question(loans, "--plot", str(tmp_path / "top.gif"))) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "ends in .svg or .png" in printed.err


def test_csv_and_table(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(question(loans, "--format", "csv")) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0] == {"rank": "1", "title": "A"}
    assert run(question(loans, "--format", "table")) == 0
    assert "Promised: (5, 1e-06)-DP" in capsys.readouterr().out
