"""`crestline ask`: a file of questions, asked one after the other and charged to one ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crestline.answer.answer import Answer
from crestline.cli.main import run
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [f"r{n},Rivers,DE\nr{n},Bridges,DE" for n in range(900)]
    (tmp_path / "loans.csv").write_text("reader,title,country\n" + "\n".join(rows) + "\n")
    questions = [{"k": 1, "item": "title"}, {"k": 2, "item": "title", "where": "country = 'DE'", "epsilon": 0.5}]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)))
    Ledger.create(tmp_path / "ledger.db", Budget(epsilon=4, delta="1e-6")).close()
    return tmp_path


def call(folder: Path, name: str = "questions.jsonl", *more: str) -> list[str]:
    where = ["--source", str(folder / "loans.csv"), "--user", "reader", "--ledger", str(folder / "ledger.db")]
    return ["ask", str(folder / name), *where, *more]


@pytest.mark.long
def test_answers_are_json_lines_in_a_pipe(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(call(folder)) == 0
    answers = [Answer.from_dict(json.loads(line)) for line in capsys.readouterr().out.splitlines()]
    assert [answer.question.k for answer in answers] == [1, 2]
    assert set(answers[1]) == {"Rivers", "Bridges"}
    assert all(answer.bill is not None for answer in answers)


@pytest.mark.long
def test_what_price_fit_writes_can_be_asked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["price", str(folder / "questions.jsonl"), "--ledger", str(folder / "ledger.db"), "--fit"]) == 0
    (folder / "fitted.json").write_text(capsys.readouterr().out)
    assert run(call(folder, "fitted.json", "--format", "table")) == 0
    shown = capsys.readouterr().out
    assert "Question 1" in shown
    assert "Question 2" in shown
    assert "Paid: " in shown


@pytest.mark.long
def test_a_refusal_names_its_question_after_what_was_answered(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "greedy.json").write_text(
        json.dumps([{"k": 1, "item": "title"}, {"k": 1, "item": "title", "epsilon": 50}])
    )
    assert run(call(folder, "greedy.json")) == 3
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 1
    assert "question 2 of 2: the budget of data set 'default' cannot pay" in shown.err


def test_every_question_needs_a_source_before_the_first_is_paid_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["ask", str(folder / "questions.jsonl"), "--ledger", str(folder / "ledger.db")]) == 2
    assert "question 1 names no source" in capsys.readouterr().err
    assert run(call(folder, "questions.jsonl", "--format", "csv")) == 2
    with Ledger.open(folder / "ledger.db") as ledger:
        assert ledger.remaining() == ledger.budget.limit
