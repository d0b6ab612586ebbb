"""`crestline check` and `crestline init`: from a table to a service, from its schema alone."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from crestline.cli.main import run
from crestline.config import load_config

HEADER = "the header, which may be a row"


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.parquet"
    columns = {"customer_id": [1, 2], "sku": ["a", "b"], "price": [1.5, 2.5], "tags": [["x"], []], "loc\"'": ["x", "y"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    return path


def test_check_says_what_each_column_can_be(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", str(sales)]) == 0
    found = {row.pop("name"): row for row in json.loads(capsys.readouterr().out)}
    assert found["customer_id"] == {"type": "int64", "key": True, "filter": True, "sum": True, "period": False}
    assert found["sku"] == {"type": "string", "key": True, "filter": True, "sum": False, "period": True}
    assert found["tags"]["key"] is False
    assert run(["check", str(sales), "--format", "table"]) == 0
    shown = capsys.readouterr().out
    assert "--user customer_id --item sku -k 10" in shown
    assert "2.5" not in shown


def test_the_first_line_of_text_is_never_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be the row of a person."""
    path = tmp_path / "loans.csv"
    path.write_text(f"reader,title,{HEADER}\nr1,Rivers,x\n")
    assert run(["check", str(path)]) == 2
    assert run(["check", str(path), "--column", "titel"]) == 2
    shown = capsys.readouterr()
    assert "name the columns, such as --column user" in shown.err
    assert HEADER not in shown.err + shown.out
    assert run(["check", str(path), "--column", "title"]) == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == ["title"]


@pytest.mark.long
def test_init_writes_a_configuration_that_serves(sales: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = sales.parent / "service"
    assert run(["init", str(sales), "--yes", "--no-serve", "--folder", str(folder), "--users", "5000"]) == 0
    shown = capsys.readouterr().out
    token = next(word for word in shown.split() if word.startswith("cl_"))
    config = load_config(folder / "crestline.toml")
    (dataset,) = config.datasets.values()
    assert (dataset.name, dataset.user, dataset.items) == ("sales", "customer_id", ("sku", "loc\"'"))
    assert (str(dataset.budget.epsilon), float(dataset.budget.delta)) == ("2", 1e-6)
    assert (folder / "ledger.db").exists()
    assert token not in (folder / "crestline.toml").read_text()
    assert run(["init", str(sales), "--yes", "--no-serve", "--folder", str(folder)]) == 2
    assert "is there already: edit it, or name another --folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing says which data: write it, for example: crestline init sales.parquet"),
        (["{loans}"], "nothing says which column holds the user: write it, for example: crestline init"),
        (["{loans}", "--user", "reader"], "nothing says which columns may be ranked: write it, for example"),
        (["{loans}", "--user", "readr", "--item", "title"], "readr"),
        (["{sales}", "--item", "sq"], "there is no column 'sq'; there are: customer_id, sku"),
        (["{sales}", "--epsilon", "much"], "epsilon"),
        (["{sales}", "--delta", "2"], "delta"),
        (["{sales}", "--per", "fortnight", "--time", "sku"], "per must be one of day, week, month, quarter, year"),
        (["{sales}", "--per", "month", "--time", "price"], "price"),
        (["nowhere.parquet"], "there is no file nowhere.parquet"),
    ],
)
@pytest.mark.long
def test_a_setup_that_cannot_work_leaves_nothing(
    sales: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    loans = sales.with_name("loans.csv")
    loans.write_text("reader,title\nr1,Rivers\n")
    folder = sales.parent / "service"
    named = [text.format(sales=sales, loans=loans) for text in arguments]
    assert run(["init", *named, "--yes", "--no-serve", "--folder", str(folder)]) == 2
    assert says in capsys.readouterr().err
    assert not (folder / "crestline.toml").exists()
