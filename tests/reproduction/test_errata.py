"""Every script of the errata shows what the page says, and the corrected version keeps what the printed one breaks."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from reproduction.errata.__main__ import line, main, numbers
from reproduction.errata.finding import SCRIPTS, Kind, Shown, text

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")
ROWS = {found[1]: found[0] for found in re.finditer(r'^\| <a id="([^"]+)"></a>.*$', PAGE, re.MULTILINE)}
ROUNDING = 1e-9


@cache
def shown(number: str) -> Shown:
    return SCRIPTS[number]()


def row(number: str) -> str:
    """The row of the page; `E-C8 padding` is told in the row of E-C8."""
    words = number.lower().split()
    name = "p1.6d" if words[0] == "p1.6" else words[0]
    return ROWS[name]


@pytest.mark.parametrize("number", numbers())
def test_the_page_tells_what_the_script_computes(number: str) -> None:
    found = shown(number)
    assert text(found.printed) in row(number), line(number, found)


@pytest.mark.parametrize("number", numbers())
def test_what_is_printed_is_wrong(number: str) -> None:
    found = shown(number)
    assert text(found.printed) != text(found.right), line(number, found)


@pytest.mark.parametrize("number", numbers())
def test_a_broken_promise_is_broken_and_the_corrected_version_keeps_it(number: str) -> None:
    found = shown(number)
    assert found.kind is not Kind.BREAKS or found.printed > found.right
    assert found.kind is not Kind.LOOSE or number == "E-C11" or found.printed > found.right  # the scan rounds down
    assert found.corrected is None or found.corrected <= found.right + ROUNDING


def test_every_erratum_has_its_row_and_only_slips_have_no_script() -> None:
    with_script = {number.split()[0].lower() for number in SCRIPTS if number.startswith("E-")}
    expected = {
        f"e-{paper}{n}" for paper, many in {"a": 14, "b": 7, "c": 12, "d": 13}.items() for n in range(1, many + 1)
    }
    assert {name for name in ROWS if name.startswith("e-")} == expected
    slips = {f"e-a{n}" for n in (5, 6, 8, 9, 12, 13)} | {"e-b3", "e-b7"}
    slips |= {f"e-c{n}" for n in (4, 7, 10, 12)} | {f"e-d{n}" for n in (7, 11, 12, 13)}
    assert expected - with_script == slips


def test_the_command_shows_one_and_refuses_what_it_does_not_know(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["E-D4"]) == 0
    assert "size of class" in capsys.readouterr().out
    assert main(["E-Z1"]) == 2
    assert "E-A1, E-A2" in capsys.readouterr().err
