"""`crestline plan`, as it is typed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from crestline.cli.main import run

QUESTION = ["plan", "-k", "3", "--epsilon", "1", "--delta", "1e-6", "--trials", "20"]
ONE = ["--mechanism", "LimitedDomain"]


@pytest.mark.long
def test_a_table_with_advice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUESTION, "--users", "50000", "--shape", "power:1.1", "--k-bar", "9", "--format", "table"]) == 0
    shown = capsys.readouterr().out
    assert "LimitedDomain" in shown
    assert "mechanism='auto' takes" in shown
    assert "Take " in shown


@pytest.mark.long
def test_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUESTION, "--users", "50000", "--k-bar", "6", "--format", "json"]) == 0
    names = [line["mechanism"] for line in json.loads(capsys.readouterr().out)["mechanisms"]]
    assert "LimitedDomain" in names
    assert run([*QUESTION, "--users", "50000", "--k-bar", "6", "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sorted(row["mechanism"] for row in rows) == sorted(names)
    assert all(0 <= float(row["ratio"]) <= 1 for row in rows)


@pytest.mark.long
def test_published_percentiles_and_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "plan.svg"
    shape = ["--users", "107092", "--items", "100000", "--shape", "percentiles:50:2,99:24,100:2931"]
    assert run([*QUESTION, *ONE, *shape, "--plot", str(picture), "--format", "json"]) == 0
    assert "items expected to be named" in picture.read_text()


def test_without_users_it_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(QUESTION) == 2
    assert "--users 500000" in capsys.readouterr().err


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    rows = [f"r{reader},{title}" for title, many in (("A", 400), ("B", 300), ("C", 200)) for reader in range(many)]
    path.write_text("reader,title\n" + "\n".join(rows) + "\n")
    return path


def test_a_file_is_only_read_when_declared_public(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loans.chmod(0)  # not even opened
    assert run([*QUESTION, "--on", str(loans), "--user", "reader", "--item", "title"]) == 2
    assert "add --public" in capsys.readouterr().err


@pytest.mark.long
def test_a_public_file(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    on = ["--on", str(loans), "--public", "--user", "reader", "--item", "title"]
    assert run([*QUESTION, *ONE, *on, "--format", "json"]) == 0
    rows = {row["mechanism"]: row for row in json.loads(capsys.readouterr().out)["mechanisms"]}
    assert rows["LimitedDomain"]["returned"]["value"] > 2.5


def test_a_public_file_needs_its_columns(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*QUESTION, "--on", str(loans), "--public"]) == 2
    assert "--user COLUMN --item COLUMN" in capsys.readouterr().err
