"""The commands as a person or a script meets them: output, exit codes, never a traceback."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.ledger.conftest import Clock, drawn, small_budget

from crestline.cli.main import run
from crestline.errors import BudgetExhausted
from crestline.ledger.entries import GENESIS, canonical_json, entry_hash
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.periods.calendar import Periods

Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run(["ledger", *map(str, arguments)])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def books(tmp_path: Path, shell: Shell) -> Path:
    """One data set with an analyst; a question settled, served again, refused, and one left hanging."""
    path = tmp_path / "ledger.db"
    options = ("--epsilon", 1, "--delta", "1e-6", "--kind", "pure", "--analyst", "ann:0.8:1e-7")
    assert shell("create", path, *options, "--dataset", "sales")[0] == 0
    question = {"k": 3, "where": "\x1b[31m[red]name = 'ü'"}
    with Ledger.open(path) as ledger:
        receipt = ledger.reserve(
            drawn(3), question=question, data_version="1", analyst="ann", mechanism="LimitedDomain"
        )
        ledger.settle(receipt, drawn(2), answer=["a"])
        ledger.find_answer(question, "1", analyst="ann")
        with pytest.raises(BudgetExhausted):
            ledger.reserve(drawn(20), question=question, analyst="ann")
        ledger.reserve(drawn(1), question=question)
    return path


def test_create_shows_the_new_budget(tmp_path: Path, shell: Shell) -> None:
    code, out, _ = shell("create", tmp_path / "b.db", "--epsilon", 2, "--delta", "1e-7", "--format", "json")
    (account,) = json.loads(out)
    assert code == 0
    assert account["budget"]["epsilon"] == "2/1"
    assert account["budget"]["kind"] == "zcdp"
    assert account["remaining"]["delta"] == "1/20000000"


def test_create_homogeneous(tmp_path: Path, shell: Shell) -> None:
    options = ("--epsilon", 1, "--delta", "2e-6", "--kind", "homogeneous", "--items", 50, "--questions", 5)
    code, out, _ = shell("create", tmp_path / "b.db", *options, "--format", "table")
    assert code == 0
    assert "homogeneous" in out
    assert "5 usual" in out


@pytest.mark.parametrize(
    ("arguments", "says", "expected"),
    [
        (("--epsilon", 0, "--delta", "1e-6"), "larger than zero", 2),
        (("--epsilon", 1), "needs a delta", 2),
        (("--epsilon", 1, "--delta", "1e-6", "--kind", "x"), "kind must be one of", 2),
        (("--epsilon", 1, "--delta", "1e-6", "--analyst", "ann"), "NAME:EPSILON:DELTA", 2),
        (("--epsilon", 1, "--delta", "1e-6", "--dataset", ""), "printable", 2),
    ],
)
def test_what_cannot_be_opened(
    tmp_path: Path, shell: Shell, arguments: tuple[object, ...], says: str, expected: int
) -> None:
    code, out, err = shell("create", tmp_path / "b.db", *arguments)
    assert (code, out) == (expected, "")
    assert says in err
    assert "Traceback" not in err
    assert not (tmp_path / "b.db").exists()


def test_analysts_under_a_homogeneous_budget_are_not_for_the_command_line(tmp_path: Path, shell: Shell) -> None:
    options = ("--epsilon", 1, "--delta", "2e-6", "--kind", "homogeneous", "--items", 50, "--questions", 5)
    code, _, err = shell("create", tmp_path / "b.db", *options, "--analyst", "ann:1:1e-6")
    assert code == 2
    assert "add_analyst" in err


def test_a_budget_is_opened_once(books: Path, shell: Shell) -> None:
    code, _, err = shell("create", books, "--epsilon", 9, "--delta", "1e-6", "--dataset", "sales")
    assert code == 4
    assert "open already" in err


def test_show_for_people(books: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = shell("show", books, "--format", "table")
    assert code == 0
    assert "sales / ann" in out
    assert "30.0%" in out
    assert "They stay charged." in out
    assert "\x1b[31m" not in out
    assert "checksum 7:" in out


def test_show_for_programs(books: Path, shell: Shell) -> None:
    shown = json.loads(shell("show", books)[1])  # in a pipe, JSON is the default
    assert [account["analyst"] for account in shown["accounts"]] == [None, "ann"]
    assert shown["accounts"][0]["settled"]["epsilon"] == "1/5"
    assert shown["accounts"][0]["held"]["epsilon"] == "1/10"
    assert [one["sequence"] for one in shown["open_reservations"]] == [7]


def test_show_as_csv_is_exact(books: Path, shell: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(shell("show", books, "--format", "csv")[1])))
    assert [(row["analyst"], row["unit"], row["remaining"]) for row in rows][:1] == [("", "epsilon", "7/10")]
    assert len(rows) == 4


@pytest.mark.long
def test_history_in_all_forms(books: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "220")
    kinds = ["opened", "opened", "reserved", "settled", "answered", "refused", "reserved"]
    assert [one["kind"] for one in json.loads(shell("history", books)[1])] == kinds
    assert [row["kind"] for row in csv.DictReader(io.StringIO(shell("history", books, "--format", "csv")[1]))] == kinds
    table = shell("history", books, "--format", "table")[1]
    assert all(kind in table for kind in kinds)
    assert "[red]name" in table  # shown as it is, not obeyed
    assert len(json.loads(shell("history", books, "-n", 2)[1])) == 2
    assert shell("history", books, "--dataset", "nothing")[0] == 4


@pytest.mark.long
def test_verify_says_so_and_exits_with_1_when_something_is_wrong(books: Path, shell: Shell) -> None:
    code, out, _ = shell("verify", books, "--format", "table")
    assert code == 0
    assert out.startswith("The ledger holds. 7 entries; checksum 7:")
    checksum = json.loads(shell("verify", books)[1])["checksum"]
    assert shell("verify", books, "--checksum", checksum)[0] == 0
    assert shell("verify", books, "--checksum", f"7:{GENESIS}")[0] == 1
    assert shell("verify", books, "--checksum", "nonsense")[0] == 2
    with sqlite3.connect(books) as raw:
        raw.execute("DELETE FROM crestline_entries WHERE sequence = 7")
    raw.close()
    code, out, _ = shell("verify", books, "--format", "table")
    assert code == 1
    assert "entry 7 is missing at the end; removed" in out
    assert json.loads(shell("verify", books)[1])["ok"] is False
    assert "removed" in shell("verify", books, "--format", "csv")[1]


@pytest.mark.long
def test_an_export_holds_all_that_is_needed_to_check_the_chain(books: Path, shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl"
    assert shell("export", books, "-o", file)[0] == 0
    assert file.read_text() == shell("export", books)[1]
    previous = GENESIS
    entries: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    for entry in entries:
        stated = entry.pop("hash")
        assert entry["previous"] == previous
        previous = entry_hash(canonical_json(entry))
        assert stated == previous


@pytest.mark.long
def test_an_export_that_cannot_be_written(books: Path, shell: Shell, tmp_path: Path) -> None:
    code, _, err = shell("export", books, "-o", tmp_path / "no" / "where")
    assert code == 2
    assert "cannot be written" in " ".join(err.replace("│", " ").split())  # a long path breaks lines anywhere


def test_a_clock_that_went_backwards_is_mentioned_and_forgiven(tmp_path: Path, shell: Shell) -> None:
    clock = Clock()
    clock.step = -clock.step
    with Ledger.create(tmp_path / "b.db", small_budget(), clock=clock) as ledger:
        ledger.reserve(drawn(1))
    code, out, _ = shell("verify", tmp_path / "b.db", "--format", "table")
    assert code == 0
    assert "The clock went backwards 1 times" in out


def test_a_new_ledger_has_nothing_hanging(tmp_path: Path, shell: Shell) -> None:
    Ledger.create(tmp_path / "b.db", small_budget()).close()
    assert "They stay charged" not in shell("show", tmp_path / "b.db", "--format", "table")[1]


@pytest.mark.parametrize("command", ["show", "history", "verify", "export"])
def test_ledgers_that_are_not_there(tmp_path: Path, shell: Shell, command: str) -> None:
    code, out, err = shell(command, tmp_path / "b.db")
    assert (code, out) == (4, "")
    assert "crestline ledger create" in err
    assert "Traceback" not in err


def test_a_budget_is_opened_for_the_users_of_a_column(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "b.db"
    assert shell("create", path, "--epsilon", 2, "--delta", "1e-7", "--user", "reader")[0] == 0
    with Ledger.open(path) as ledger:
        assert ledger.user == "reader"
    assert "data set 'default': the users of column 'reader'" in shell("show", path, "--format", "table")[1]
    assert json.loads(shell("show", path, "--format", "json")[1])["users"] == {"default": "reader"}


def test_an_analyst_is_added_later(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "ledger.db"
    assert shell("create", path, "--epsilon", 1, "--delta", "1e-6")[0] == 0
    code, out, _ = shell("add-analyst", path, "ann:0.5:1e-7", "--format", "json")
    assert code == 0
    assert [account["analyst"] for account in json.loads(out)] == [None, "ann"]
    code, _, err = shell("add-analyst", path, "bob")
    assert code == 2
    assert "NAME:EPSILON:DELTA" in err


@pytest.mark.long
def test_a_budget_by_period_is_shown_as_a_calendar(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "ledger.db"
    options = ("--epsilon", 1, "--delta", "1e-6", "--kind", "pure", "--per", "month", "--time", "day")
    assert shell("create", path, *options, "--cap", "12:2:2e-6", "--analyst", "ann:0.8:1e-7")[0] == 0
    with Ledger.open(path) as ledger:
        calendar = ledger.budget.calendar
        assert calendar is not None
        reach = PeriodCharge(Periods.from_labels(calendar, "2025-12", "2026-01"))
        ledger.settle(ledger.reserve(drawn(4), analyst="ann", reach=reach), drawn(2))
    code, out, _ = shell("show", path, "--format", "table")
    assert code == 0
    assert "default: what is left of each month" in out
    assert "default / ann: what is left of each month" in out
    assert "80%" in out
    assert "75%" in out
    assert "(2, 2e-06)-DP for a person who is in any 12 months" in " ".join(out.split())
    shown = json.loads(shell("show", path, "--format", "json")[1])
    assert {(one["analyst"], one["period"]) for one in shown["periods"] if one["periods"] == 1} == {
        (who, month) for who in (None, "ann") for month in ("2025-12", "2026-01")
    }
    assert shell("verify", path)[0] == 0


@pytest.mark.parametrize("wrong", [("--cap", "12"), ("--cap", "x:1:1"), ("--per", "moon"), ("--zone", "Mars")])
def test_a_budget_by_period_with_a_mistake(tmp_path: Path, shell: Shell, wrong: tuple[str, str]) -> None:
    code, _, error = shell(
        "create", tmp_path / "l.db", "--epsilon", 1, "--delta", "1e-6", "--per", "month", "--time", "day", *wrong
    )
    assert code != 0
    assert "Traceback" not in error
