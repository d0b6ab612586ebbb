"""`crestline top`, as people and pipes use it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from crestline.cli.main import run

CALL = [
    "--user",
    "reader",
    "--item",
    "title",
    "-k",
    "3",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--mechanism",
    "LimitedDomain",
]


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    rows = [f"r{n},Rivers\nr{n},[bold]Bridges[/bold]" for n in range(900)]
    path.write_text("reader,title\n" + "\n".join(rows) + "\n")
    return path


def test_a_table_for_people(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", str(loans), *CALL, "--format", "table"]) == 0
    shown = capsys.readouterr().out
    assert "Rivers" in shown
    assert "[bold]Bridges[/bold]" in shown  # labels are data: never read as markup
    assert "Promised:" in shown


def test_all_items_are_as_many_as_can_be_named(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", str(loans), *["all" if one == "3" else one for one in CALL], "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["question"]["k"] == 1_000
    assert run(["top", str(loans), *["most" if one == "3" else one for one in CALL]]) == 2
    assert "-k" in capsys.readouterr().err


def test_json_for_pipes(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", str(loans), *CALL]) == 0
    value = json.loads(capsys.readouterr().out)
    assert set(value["items"]) == {"Rivers", "[bold]Bridges[/bold]"}
    assert value["stopped"] is True


def test_csv_for_sheets(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", str(loans), *CALL, "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["rank"] for row in rows] == ["1", "2"]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (["--epsilon", "0"], 2, "epsilon must be larger than zero"),
        (["--epsilon", "much"], 2, "epsilon must be a number such as"),
        (["--epsilon", "nan"], 2, "epsilon must be a number such as"),
        (["--delta", "1"], 2, "delta must be smaller than one"),
        (["--delta", "-1e-6"], 2, "delta must be larger than zero"),
        (["-k", "0"], 2, "k must be a whole number of at least 1"),
        (["--k-bar", "2"], 2, "k_bar must be at least k"),
        (["--mechanism", "Magic"], 2, "there is no mechanism 'Magic'"),
        (["--item", "titel"], 2, "titel"),
        (["--user", "readr"], 2, "readr"),
        (["--where", "drop table loans"], 2, "where"),
        (["--contribution", "0"], 2, "contribution must be at least 1"),
        (["--ledger", "no-such-folder/ledger.db"], 4, "ledger"),
    ],
)
def test_a_wrong_call_is_refused_with_what_to_do(
    loans: Path, capsys: pytest.CaptureFixture[str], change: list[str], code: int, words: str
) -> None:
    assert run(["top", str(loans), *CALL, *change]) == code
    shown = capsys.readouterr()
    assert words in shown.err
    assert "Traceback" not in shown.err
    assert "Rivers" not in shown.err


def test_several_files_are_one_table(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell makes several paths of loans*.csv."""
    other = loans.with_name("loans2.csv")
    other.write_text("reader,title\n" + "".join(f"s{n},Lakes\n" for n in range(900)))
    assert run(["top", str(loans), str(other), *CALL]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found["items"]) == {"Rivers", "[bold]Bridges[/bold]", "Lakes"}
    assert found["source"] == f"{loans}, {other}"
    assert run(["top", str(loans), "duckdb:///shop.duckdb", *CALL]) == 2
    assert "the name must end in .parquet" in capsys.readouterr().err


def test_a_missing_file_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", "no-such.parquet", *CALL]) == 2
    assert "no-such.parquet" in capsys.readouterr().err


def test_an_unknown_option_shows_the_way(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", "x.csv", "--usr", "u"]) == 2
    assert "--usr" in capsys.readouterr().err


def test_a_fault_of_ours_shows_no_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("value 'Rivers' cannot be cast")

    monkeypatch.setattr("crestline.session.top_k", broken)
    assert run(["top", "x.csv", *CALL]) == 70
    shown = capsys.readouterr().err
    assert "RuntimeError" in shown
    assert "Rivers" not in shown


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("crestline.session.top_k", interrupted)
    assert run(["top", "x.csv", *CALL]) == 130
    assert "stays charged" in capsys.readouterr().err


@pytest.mark.engines
def test_the_module_is_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "crestline", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("crestline ")


def test_the_catalogue_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mechanisms"]) == 0
    assert any(line["name"] == "LimitedDomain" for line in json.loads(capsys.readouterr().out))
    assert run(["mechanisms", "--format", "table"]) == 0
    assert "LimitedDomain" in capsys.readouterr().out


@pytest.mark.long
def test_the_demo_shows_the_leak_and_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--keep", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    assert "Living with Fabry disease" in shown
    assert "Promised:" in shown
    assert (tmp_path / "demo" / "loans.csv").exists()


def test_a_sum_is_ranked_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("reader,title,cents\n" + "".join(f"r{n},Rivers,7\nr{n},Bridges,50\n" for n in range(900)))
    assert run(["top", str(path), *CALL, "--score", "sum(cents)", "--clip", "20", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["items"][0] == "Bridges"
    assert (answer["question"]["score"], answer["question"]["clip"]) == ("sum(cents)", 20)
    assert run(["top", str(path), *CALL, "--score", "sum(cents)"]) == 2
    assert "needs clip" in capsys.readouterr().err


@pytest.mark.long
def test_a_stated_version_decides_what_is_stored(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    books = loans.with_name("ledger.db")
    assert run(["ledger", "create", str(books), "--epsilon", "9", "--delta", "1e-4"]) == 0

    def stored(version: str) -> bool:
        capsys.readouterr()
        options = ["--ledger", str(books), "--data-version", version, "--format", "json"]
        assert run(["top", str(loans), *CALL, *options]) == 0
        return bool(json.loads(capsys.readouterr().out)["stored"])

    assert not stored("2026-11")
    loans.write_text(loans.read_text() + "r1,Ponds\n")
    assert stored("2026-11")
    assert not stored("2026-12")


@pytest.mark.long
def test_a_short_csv_is_pointed_out_on_standard_error(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["top", str(loans), *CALL, "--format", "csv"]) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3
    assert "2 of 3: stopped on purpose" in shown.err


@pytest.mark.long
def test_with_a_ledger_epsilon_and_delta_may_be_left_out(loans: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = loans.with_name("ledger.db")
    assert run(["ledger", "create", str(ledger), "--epsilon", "2", "--delta", "1e-6"]) == 0
    capsys.readouterr()
    question = ["top", str(loans), "--user", "reader", "--item", "title", "-k", "1"]
    assert run([*question, "--ledger", str(ledger), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["delta"] == 2e-9  # a 500th
    assert run(question) == 2
    assert "--epsilon and --delta missing: write --epsilon 1 --delta 1e-8 (delta far below 1" in capsys.readouterr().err
