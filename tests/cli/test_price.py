"""`crestline price`, as it is typed."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

from crestline.cli.main import run
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger

NEW = ["--budget-epsilon", "2", "--budget-delta", "1e-6"]

FILES = {
    "questions.jsonl": '{"k": 1, "item": "sku", "epsilon": 0.5}\n\n{"k": 2, "delta": "1e-8"}\n',
    "questions.json": '[{"k": 1, "item": "sku", "epsilon": 0.5}, {"k": 2, "delta": "1e-8"}]',
    "questions.toml": '[[question]]\nk = 1\nitem = "sku"\nepsilon = 0.5\n[[question]]\nk = 2\ndelta = "1e-8"\n',
    "questions.csv": "k,item,epsilon,delta\n1,sku,0.5,\n2,,,1e-8\n",
}


def test_one_question_on_a_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    books = tmp_path / "ledger.db"
    Ledger.create(books, Budget(1, "1e-6", kind="pure")).close()
    assert (
        run(
            [
                "price",
                "-k",
                "2",
                "--epsilon",
                "0.2",
                "--delta",
                "1e-8",
                "--ledger",
                str(books),
                "--mechanism",
                "LimitedDomain",
            ]
        )
        == 0
    )
    value = json.loads(capsys.readouterr().out)
    (charge,) = value["together"]
    assert value["fits"] is True
    assert charge["remaining"] == {"epsilon": "1/1", "delta": "1/1000000"}
    assert Fraction(charge["most"]["epsilon"]) == 2 * Fraction(charge["least"]["epsilon"])
    with Ledger.open(books) as ledger:
        assert ledger.remaining() == ledger.budget.limit  # nothing was asked


@pytest.mark.long
def test_every_kind_of_file_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for name, text in FILES.items():
        path = tmp_path / name
        path.write_text(text)
        assert run(["price", str(path), *NEW, "--format", "csv"]) == 0
        shown.append(capsys.readouterr().out)
    assert len(set(shown)) == 1
    rows = list(csv.DictReader(io.StringIO(shown[0])))
    assert [row["question"] for row in rows] == ["1. top 1 sku", "2. top 2"]
    assert [row["epsilon"] for row in rows] == ["0.5", "0.655"]  # the second is the usual share


@pytest.mark.long
def test_a_fitted_file_can_be_priced_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(FILES["questions.jsonl"])
    assert run(["price", str(path), *NEW, "--fit", "--format", "json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["fits"] is True
    again = tmp_path / "fitted.json"
    again.write_text(json.dumps([{k: v for k, v in line.items() if k != "price"} for line in value["questions"]]))
    assert run(["price", str(again), *NEW, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["together"] == value["together"]


def test_a_table_says_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "questions.csv"
    path.write_text("k,epsilon\n1,1.9\n1,1.9\n")
    assert run(["price", str(path), "--format", "table", *NEW]) == 0
    shown = capsys.readouterr().out
    assert (
        " ".join(shown.split("\n")[0].split()) == "question mechanism ε δ of the budget"
    )  # empty columns are left out
    assert "Together: at most" in shown
    assert "which does not pay for it" in shown
    assert "only the first 1 of 2 can be asked" in shown or "only the first 0 of 2" in shown


def test_a_table_says_what_was_fitted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "questions.csv"
    path.write_text("k\n1\n")
    assert run(["price", str(path), "--format", "table", "--fit", *NEW]) == 0
    assert "Every item gets epsilon" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["price", *NEW], "give a file of questions, or one question"),
        (["price", "-k", "2"], "say who pays"),
        (["price", "-k", "2", "--ledger", "x.db", *NEW], "say who pays"),
        (["price", "nowhere.jsonl", *NEW], "cannot be read"),
        (["price", "questions.xls", *NEW], "ends in .jsonl, .json, .toml or .csv"),
    ],
)
def test_wrong_calls(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.jsonl", "k = 5", "is not JSON lines"),
        ("q.json", "[5]", "every question is a JSON object"),
        ("q.toml", "k = ", "is not TOML"),
        ("q.toml", "k = 5", "write [[question]]"),
        ("q.csv", "k\n5,6\n", "more cells than the header"),
        ("q.jsonl", '{"k": 1}\n{"kk": 1}', "question 2: kk: no such argument"),
    ],
)
def test_wrong_files(name: str, text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert run(["price", str(path), *NEW]) == 2
    assert message in capsys.readouterr().err
