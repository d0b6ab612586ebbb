"""Labels of somebody in the data through every face: none steers a terminal, is a formula, or ends an element."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import pytest

from crestline.answer.answer import Answer
from crestline.answer.encoding import to_json
from crestline.answer.plot import items_chart, label_on_one_line
from crestline.charts.drawing import ranking
from crestline.cli.output import Format, print_rows
from crestline.cli.top import print_answer
from crestline.label_text import csv_cell, json_text, label_text, printable_text
from crestline.pictures import import_altair
from crestline.question import Question
from crestline.reports.publish import page
from crestline.reports.report import Edition, Report, ReportRun
from crestline.reports.tabular import to_csv
from crestline.reports.tabular import to_json as report_json
from crestline.web.pages.answers import bars_of
from tests.answer.made import made

STEERING = (
    "\x1b[31m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "a\nb",
    "a\rb",
    "a\tb",
    "\x7f",
    "\x00",
    "\U000e0001",
    "\u202eabc",
    "\u2028",
    "\ud800",
)
FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", "＝1", "＋1")
PAGES = ("<script>alert(1)</script>", '"><img src=x>', "&lt;", "]]>", "</svg>")
PLAIN = ("Zürich 東京", "a\xa0b", "\U0001f468\u200d\U0001f469", "can't", "a=1", "[red]")
EVERY = (*STEERING, *FORMULAS, *PAGES, *PLAIN)
SETTLED = ("\n", "\u200d", "\xa0")  # lines of ours, and characters that change nothing but how others look


def answer() -> Answer:
    return made(tuple(EVERY), item=("=item\x1b",), counts=[100] * len(EVERY))


def run_of_report() -> ReportRun:
    report = Report("weekly", Question(k=len(EVERY), user="user", item=("item",)), "week", "2026-W41")
    return ReportRun(report, (Edition("2026-W41", "published", answer()),))


class _Ledger:
    """What the page of a report reads of a ledger."""

    budget = None

    def periods(self) -> tuple[()]:
        return ()


def report_page() -> str:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("crestline.reports.publish.promise_texts", lambda *_: ("a & b",))
        return page(run_of_report(), _Ledger())  # type: ignore[arg-type] # what is read of it


FACES: dict[str, Callable[[], str]] = {
    "text": lambda: str(answer()),
    "explanation": lambda: printable_lines_of(answer()),
    "notebook": lambda: answer()._repr_html_(),
    "JSON": lambda: to_json(answer(), None),
    "CSV of a report": lambda: to_csv(run_of_report()),
    "JSON of a report": lambda: report_json(run_of_report()),
    "SVG of a report": lambda: run_of_report().svg(),
    "page of a report": report_page,
    "chart of the dashboard": lambda: ranking(bars_of(answer()), "users"),
    "picture": lambda: "".join(map(label_on_one_line, EVERY)),
}


def printable_lines_of(shown: Answer) -> str:
    return shown._repr_html_().partition("<pre>")[2]


def is_steady(text: str) -> bool:
    return all(c.isprintable() or c in SETTLED for c in text)


@pytest.mark.parametrize("face", FACES)
def test_no_label_steers_what_shows_it(face: str) -> None:
    assert is_steady(FACES[face]())


@pytest.mark.parametrize("form", [Format.TABLE, Format.CSV, Format.JSON])
def test_no_label_steers_a_terminal(form: Format, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: the command line sent ESC and 0x9b of labels as they are, in CSV and JSON."""
    print_answer(answer(), form)
    print_rows({"a": "a"}, [{"a": one} for one in EVERY], form)
    shown = capsys.readouterr()
    assert is_steady(shown.out + shown.err)


@pytest.mark.parametrize("written", ["command", "report"])
def test_no_label_is_a_formula(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: only the CSV of the dashboard was protected."""
    if written == "command":
        print_answer(answer(), Format.CSV)
        text = capsys.readouterr().out
    else:
        text = to_csv(run_of_report())
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert len(cells) > len(EVERY)
    assert [cell for cell in cells if cell.strip()[:1] in tuple("=+-@＝＋－＠")] == []
    assert "can't" in cells


def test_numbers_stay_numbers() -> None:
    assert [csv_cell(value) for value in (-3, -0.5, None, "a=1", "")] == [-3, -0.5, None, "a=1", ""]
    assert [csv_cell(value) for value in ("=1", "-1", "\t=1")] == ["'=1", "'-1", "'\\t=1"]
    assert (printable_text(12.0), printable_text(0.5)) == ("12", "0.5")


def test_json_is_read_back_as_it_was() -> None:
    assert json.loads(json_text([*EVERY])) == [*EVERY]
    assert json.loads(json_text({"a": [*EVERY]}, indent=2)) == {"a": [*EVERY]}
    assert json.loads(to_json(answer(), None))["items"] == [*EVERY]


@pytest.mark.parametrize("face", ["SVG of a report", "chart of the dashboard"])
def test_no_label_ends_an_element(face: str) -> None:
    ET.fromstring(FACES[face]())
    for name in ("notebook", "page of a report", face):
        assert not any(f"<{word}" in FACES[name]() for word in ("script", "img"))


def test_ordinary_text_stays_as_it_is() -> None:
    assert [printable_text(one) for one in PLAIN] == [*PLAIN]
    assert label_text(("a\x1b", 2)) == "a\\x1b · 2"


@pytest.mark.long
def test_a_picture_of_any_labels_can_be_drawn() -> None:
    alt = import_altair()
    drawn: Any = items_chart(alt, answer())
    assert is_steady(json.dumps(drawn.to_dict(), ensure_ascii=False))
