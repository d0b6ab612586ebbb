"""`crestline explain`, as it is typed; and the whole command in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.answer.made import made

from crestline.answer.answer import Answer
from crestline.cli.main import run


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(made(("a", "b")).to_dict()))
    return path


def test_text(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(answer), "--format", "text"]) == 0
    shown = capsys.readouterr().out
    for words in ("In words", "The odds an attacker can gain", "2.68%", "23.2%", "In formulas", "Not promised"):
        assert words in shown


def test_json_from_a_pipe(answer: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer.read_text()))
    assert run(["explain", "-", "--format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [line["before"] for line in value["odds"]] == [0.01, 0.1, 0.5]
    assert value["not_promised"]


def test_each_theorem_has_a_link(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", str(answer), "--format", "text"]) == 0
    shown = capsys.readouterr().out
    assert run(["explain", str(answer), "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)["theorems"]
    assert told
    for number, address in told.items():
        assert address.startswith("https://")
        assert address.endswith(f"/reference/theorems/#{number.lower()}")
        assert f"- {number}: {address}\n" in shown  # on one line, so that it can be clicked


def test_a_promise_without_a_theorem_has_no_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    value = made(("a",)).to_dict()
    value["guarantee"]["theorem"] = "mine"
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(value))
    assert run(["explain", str(path), "--format", "text"]) == 0
    assert "Where it is proven" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is not JSON"), ("[1]", "holds no answer"), ("{}", "not an answer written by crestline")],
)
def test_other_files_are_refused(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "answer.json"
    path.write_text(text)
    assert run(["explain", str(path)]) == 2
    assert message in capsys.readouterr().err


def test_a_missing_file_and_a_wrong_form(answer: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "nowhere.json"]) == 2
    assert "cannot be read" in capsys.readouterr().err
    assert run(["explain", str(answer), "--format", "csv"]) == 2
    assert "'csv' is not one of 'text', 'json'" in capsys.readouterr().err


def crestline(*arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "crestline", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.long
def test_top_piped_into_explain(tmp_path: Path) -> None:
    loans = tmp_path / "loans.csv"
    loans.write_text("reader,title\n" + "".join(f"r{i},A\n" for i in range(500)))
    asked = crestline(
        *("top", str(loans), "--user", "reader", "--item", "title", "-k", "1", "--epsilon", "1", "--delta", "1e-6")
    )
    assert asked.returncode == 0, asked.stderr
    assert set(Answer.from_dict(json.loads(asked.stdout)).items) == {"A"}  # a pipe gets JSON without asking
    said = crestline("explain", "-", text=asked.stdout)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("In words\n- Released: 1 name")  # a pipe gets text: it is for people


@pytest.mark.long
def test_a_plan_in_a_process_of_its_own_keeps_its_bar_out_of_the_pipe() -> None:
    planned = crestline(
        *("plan", "-k", "2", "--epsilon", "1", "--delta", "1e-6", "--users", "20000", "--k-bar", "4", "--trials", "10")
    )
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["mechanisms"]
