"""Recurring reports: due by the clock, each period once, caught up after downtime; what is missed says why."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

import crestline as cl
from crestline.errors import ParameterError, QuestionError, SourceError
from crestline.ledger.ledger import Ledger
from crestline.periods.calendar import period_index, period_label
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.reports.publish import publish
from crestline.reports.report import Report, ReportRun, run_report
from crestline.reports.tabular import to_csv, to_json
from crestline.sources import open_source

WEEKLY = cl.Budget(epsilon=4, delta="1e-6", per="week", time="day")
MONDAY = date(2026, 10, 5)  # of week 41


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 4, tzinfo=UTC)  # a Wednesday: weeks 41 to 44 have ended

    def __call__(self) -> datetime:
        return self.now


def rows(weeks: int = 6) -> pa.Table:
    """Two items that change places every week; in the third week there are too few users to name anybody."""
    found = [
        (
            user,
            "ab"[(week + (user < size // 3)) % 2] if week != 2 else "c",
            MONDAY + timedelta(days=7 * week + user % 7),
        )
        for week in range(weeks)
        for size in (3 if week == 2 else 900,)
        for user in range(size)
    ]
    return pa.table(dict(zip(("user", "item", "day"), map(list, zip(*found, strict=True)), strict=True)))


REPORT = Report("weekly", Question(k=2, user="user", item=("item",)), "week", "2026-W41")
SOURCE = open_source(rows())


def made(ledger: Ledger, report: Report = REPORT, **more: bool) -> ReportRun:
    return run_report(report, source=SOURCE, ledger=ledger, entropy=system(), **more)


@pytest.mark.long
def test_each_period_that_has_ended_is_asked_once() -> None:
    clock = Clock()
    ledger = Ledger.in_memory(WEEKLY, clock=clock)
    first = made(ledger)
    assert [one.period for one in first.editions] == ["2026-W41", "2026-W42", "2026-W43", "2026-W44"]
    assert [one.status for one in first.editions] == ["published", "published", "stopped", "published"]
    assert [one.items for one in first.editions[:2]] == [("a", "b"), ("b", "a")]
    length = len(ledger.history())
    again = made(ledger)
    assert (first.asked, again.asked, len(ledger.history())) == (4, 0, length)
    assert [one.items for one in again.editions] == [one.items for one in first.editions]
    clock.now += timedelta(days=21)  # downtime
    late = made(ledger)
    assert (late.asked, len(late), late.editions[-1].period) == (3, 7, "2026-W47")
    assert ledger.verify().findings == ()


@pytest.mark.long
def test_what_is_in_the_data_does_not_decide_what_is_asked() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    empty = run_report(REPORT, source=open_source(rows().slice(0, 0)), ledger=ledger, entropy=system())
    assert [one.status for one in empty.editions] == ["stopped"] * 4
    assert made(ledger).asked == 0  # rows that came late change nothing


def test_looking_asks_nothing() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    seen = made(ledger, asking=False)
    assert {one.status for one in seen.editions} == {"missed"}
    assert ledger.periods() == []


def test_a_period_without_budget_is_missed_and_nothing_else() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    spend = replace(REPORT, name="other", question=replace(REPORT.question, epsilon=cl.Budget(4, "1e-6").epsilon))
    made(ledger, replace(spend, since="2026-W43", question=replace(spend.question, mechanism="LimitedDomain")))
    costly = replace(REPORT, question=replace(REPORT.question, epsilon=WEEKLY.epsilon, mechanism="LimitedDomain"))
    missed = made(ledger, costly).editions[2]
    assert missed.status == "missed"
    assert "2026-W43 cannot pay" in missed.reason


@pytest.mark.long
def test_a_report_says_how_many_users_its_items_reach(tmp_path: Path) -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    series = made(ledger, replace(REPORT, question=replace(REPORT.question, coverage=True)))
    found = list(csv.DictReader(io.StringIO(to_csv(series))))
    by_period = {row["period"]: (int(row["reached_users"]), int(row["all_users"])) for row in found}
    covered = series.editions[0].answer
    assert covered is not None
    assert covered.coverage is not None
    assert abs(by_period["2026-W41"][0] - 900) < 6 * covered.coverage.spread
    assert abs(by_period["2026-W43"][0]) < 6 * covered.coverage.spread  # nothing was named, and it says so with noise
    assert json.loads(to_json(series))["editions"][0]["answer"]["coverage"]["users"] == by_period["2026-W41"][0]
    (page,) = [path for path in publish(series, tmp_path, ledger) if path.suffix == ".html"]
    assert "reached users" in page.read_text()
    assert "reached_users" not in to_csv(made(Ledger.in_memory(WEEKLY, clock=Clock())))


def test_what_was_charged_and_lost_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())

    def lost(*_: object, **__: object) -> None:
        raise SourceError("the engine went away")

    with monkeypatch.context() as patched:
        patched.setattr(ledger, "settlement", lost)
        assert made(ledger).editions[0].reason == "the engine went away"
    charged = ledger.spent(period="2026-W41")
    again = made(ledger)
    assert "charged, and lost" in again.editions[0].reason
    assert ledger.spent(period="2026-W41") == charged


@pytest.mark.long
def test_a_quarter_of_months_is_a_report_and_a_month_of_weeks_is_not() -> None:
    monthly = Ledger.in_memory(cl.Budget(4, "1e-6", per="month", time="day"), clock=Clock())
    quarters = made(monthly, replace(REPORT, every="quarter", since="2026-Q3"))
    assert [one.period for one in quarters.editions] == ["2026-Q3"]
    assert [account.period for account in monthly.periods()] == ["2026-07", "2026-08", "2026-09"]
    with pytest.raises(QuestionError, match="cannot be made of weeks"):
        made(Ledger.in_memory(WEEKLY, clock=Clock()), replace(REPORT, every="month", since="2026-10"))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"every": "hour"}, "every must be one of"),
        ({"since": "2026-10-07"}, "does not begin with a week"),
        ({"since": ""}, "is no period"),
        ({"since": "1900-W01"}, "at most 1000 periods"),
    ],
)
def test_mistakes(changes: dict[str, str], why: str) -> None:
    with pytest.raises((ParameterError, QuestionError), match=why):
        made(Ledger.in_memory(WEEKLY, clock=Clock()), replace(REPORT, **changes))  # type: ignore[arg-type] # on purpose
    with pytest.raises(QuestionError, match="needs a budget by period"):
        made(Ledger.in_memory(cl.Budget(1, "1e-6")))


def test_it_is_published_in_four_forms(tmp_path: Path) -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    series = made(ledger)
    files = publish(series, tmp_path / "out", ledger)
    assert sorted(path.name for path in files) == ["weekly.csv", "weekly.html", "weekly.json", "weekly.svg"]
    lines = list(csv.DictReader(io.StringIO(to_csv(series))))
    assert [line["period"] for line in lines].count("2026-W43") == 1
    assert {line["status"] for line in lines} == {"published", "stopped"}
    assert [one["status"] for one in json.loads(to_json(series))["editions"]] == [e.status for e in series.editions]
    assert "in memory" not in to_json(series)  # where the ledger is
    page = (tmp_path / "out" / "weekly.html").read_text()
    assert "for one user&#x27;s rows of one week" in page
    with pytest.raises(ParameterError, match="cannot be written"):
        publish(series, tmp_path / "out" / "weekly.csv", ledger)


def test_the_picture_has_gaps_where_an_answer_stopped() -> None:
    drawn = ET.fromstring(made(Ledger.in_memory(WEEKLY, clock=Clock())).svg())
    space = "{http://www.w3.org/2000/svg}"
    traces = [path.get("class", "") for path in drawn.iter(f"{space}path") if "halo" not in path.get("class", "")]
    solid = [kind for kind in traces if "gap" not in kind]
    assert len(solid) == 2  # from week 41 to 42, for two items; only dots across the gap
    assert len([*drawn.iter(f"{space}circle")]) == 6
    assert "0 of 2" in [text.text for text in drawn.iter(f"{space}text")]


@pytest.mark.long
def test_names_of_items_are_only_text() -> None:
    table = pa.table({"user": list(range(900)), "item": ["<script>&"] * 900, "day": [MONDAY] * 900})
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    series = run_report(REPORT, source=open_source(table), ledger=ledger, entropy=system())
    assert "<script>" not in series.svg()
    assert ET.fromstring(series.svg()) is not None


def test_in_a_notebook() -> None:
    data = cl.connect(rows()).dataset("rows", user="user", budget=WEEKLY)
    since = period_label("week", period_index("week", datetime.now(UTC).date()) - 2)
    series = cl.report(data, "mine", every="week", since=since, k=2, item="item")
    assert series.asked == 2
    assert series._repr_html_().startswith("<svg")
    assert list(series.to_pandas().columns)[:3] == ["period", "status", "rank"]  # type: ignore[attr-defined] # pandas
    assert cl.report(data, "mine", every="week", since=since, k=2, item="item").asked == 0
