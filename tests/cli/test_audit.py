"""`crestline audit`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crestline.cli.main import run

pytestmark = pytest.mark.long

CODE = '''
import crestline as cl

class Open:
    """Prints the most popular item as it is."""
    k, k_bar = 1, 2
    def guarantee(self):
        return cl.ApproxDP(1, "0.01")
    def release(self, histogram, entropy):
        return cl.Selection(tuple(histogram.items[:1]), False)

def one_line(table):
    """A program that fails on a file with a byte that is no UTF-8."""
    with open(table, encoding="utf-8") as file:
        return file.readline()[:4]

def still(table, where=None):
    return "tea"

def shut():
    return cl.mechanisms.LimitedDomain(1, 3, 1, "1e-6")

number = 12
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mechanisms_here.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_broken_promise_ends_with_one(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    arguments = ["audit", "mechanisms_here.py:Open", "--seconds", "5", "--format", "json"]
    assert run([*arguments, "--plot", "worst.svg"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["broken"] is True
    assert report["verdict"] == "the promise is broken"
    worst = report["found"][0]
    assert worst["strength"] == "infinite" or worst["strength"] > 1
    assert worst["event"]
    assert worst["with_user"] != worst["without_user"]
    assert (folder / "worst.svg").read_text().startswith("<svg")


def test_the_report_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "mechanisms_here.py:Open", "--seconds", "5", "--format", "table"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    for words in ("the promise is broken", "with the user", "the event", "1 claimed", "fails with probability 1e-06"):
        assert words in shown


@pytest.mark.long
def test_nothing_found_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "mechanisms_here.py:shut", "--seconds", "3", "--format", "table"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "nothing was found" in shown
    assert "no proof" in shown


@pytest.mark.long
def test_a_program_that_a_row_can_stop_ends_with_one(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["audit", "--program", "mechanisms_here.py:one_line", "--epsilon", "0.1", "--seconds", "1000"]
    assert run([*arguments, "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["verdict"] == "a user's presence can be seen"
    assert report["promise"] == {"epsilon": 0.1, "delta": 1e-6}
    assert {one["attack"] for one in report["found"]} == {"broken row"}
    assert run([*arguments, "--format", "table"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    for words in ("a user's presence can be seen", "broken row", "with the user UnicodeDecodeError", "times of each"):
        assert words in shown


@pytest.mark.full
@pytest.mark.slow
def test_our_own_program_does_not_distinguish_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--seconds", "3000", "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["found"] == []
    assert report["notes"] == []
    assert report["pairs"] > 200


def test_a_program_that_says_the_same_always_ends_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "--program", "mechanisms_here.py:still", "--format", "table"]) == 0
    assert "nothing was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mechanisms_here.py:Absent"], "has no 'Absent'"),
        (["mechanisms_here"], "MODULE:OBJECT"),
        (["mechanisms_here.py:Open", "--plot", "worst.txt"], ".svg, .png or .pdf"),
        (["mechanisms_here.py:Open", "--program", "mechanisms_here.py:still"], "not both"),
        (["--program", "mechanisms_here.py:number"], "is not a function"),
    ],
)
def test_what_cannot_run_ends_with_two(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments]) == 2
    assert words in capsys.readouterr().err
