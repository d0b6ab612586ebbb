"""Reports that are reserved ahead: no other question takes their share, and none of them is ever paid for twice."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.reports.test_report import REPORT, SOURCE, WEEKLY, Clock, rows
from tests.web.conftest import CONFIG

import crestline as cl
from crestline.cli.main import run as command
from crestline.errors import BudgetExhausted, LedgerError, ParameterError, SourceUnavailable
from crestline.ledger.ledger import Ledger
from crestline.randomness.entropy import system
from crestline.reports.report import Report, ReportRun, give_back_others, run_report
from crestline.sources import open_source

PLAIN = replace(REPORT, since="2026-W44", question=replace(REPORT.question, k=1, mechanism="LimitedDomain"))
AHEAD = replace(PLAIN, ahead=3)
TABLE = rows()
MakeLedger = Callable[[Clock], Ledger]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeLedger]:
    """Opens the same ledger each time, as a process does that starts again."""
    address = tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_database")
    opened: list[Ledger] = []

    def make(clock: Clock) -> Ledger:
        opened.append(Ledger.open_or_create(address, WEEKLY, clock=clock))
        return opened[-1]

    yield make
    for ledger in opened:
        ledger.close()


def made(ledger: Ledger, report: Report = AHEAD, *, asking: bool = True) -> ReportRun:
    return run_report(report, source=SOURCE, ledger=ledger, entropy=system(), asking=asking)


def spend_all(ledger: Ledger, period: str) -> int:
    """Ask until nothing more fits."""
    for number in range(1000):
        try:
            asked = f"user <> {number + 10**6}"
            cl.top_k(TABLE, k=1, ledger=ledger, period=period, open=True, where=asked, mechanism="LimitedDomain")
        except BudgetExhausted:
            return number
    raise AssertionError("a budget that never ends")


@pytest.mark.long
def test_the_next_periods_are_reserved_and_no_other_question_takes_them(make: MakeLedger) -> None:
    clock = Clock()
    ledger = make(clock)
    first = made(ledger)
    assert [(one.period, one.reserved) for one in first.ahead] == [(f"2026-W{week}", True) for week in (45, 46, 47)]
    length = len(ledger.history())
    assert made(ledger).ahead == first.ahead  # nothing is reserved twice
    assert len(ledger.history()) == length
    assert spend_all(ledger, "2026-W45") >= 5
    held = ledger.spent(period="2026-W45")
    clock.now += timedelta(days=7)
    with make(clock) as again:  # a process that starts again
        late = made(again)
        assert (late.editions[-1].period, late.editions[-1].status) == ("2026-W45", "published")
        assert [one.period for one in late.ahead] == ["2026-W46", "2026-W47", "2026-W48"]
        assert again.spent(period="2026-W45").loss <= held.loss  # settled, at no more than was reserved
        assert len([one for one in again.open_reservations() if "W45" in str(one.content["data_version"])]) == 0
        assert made(again).asked == 0
        assert again.verify().findings == ()


@pytest.mark.long
def test_without_a_reservation_the_others_take_it_all() -> None:
    clock = Clock()
    ledger = Ledger.in_memory(WEEKLY, clock=clock)
    made(ledger, PLAIN)
    spend_all(ledger, "2026-W45")
    clock.now += timedelta(days=7)
    assert made(ledger, PLAIN).editions[-1].status == "missed"


@pytest.mark.long
def test_after_downtime_it_catches_up_from_what_is_reserved_and_beyond(make: MakeLedger) -> None:
    clock = Clock()
    ledger = make(clock)
    made(ledger)
    before = {week: ledger.spent(period=f"2026-W{week}").loss for week in (45, 46, 47, 48)}
    clock.now += timedelta(days=28)
    late = made(ledger)
    assert (late.asked, late.editions[-1].period) == (4, "2026-W48")
    after = {week: ledger.spent(period=f"2026-W{week}").loss for week in before}
    assert all(0 < after[week] <= before[week] for week in (45, 46, 47))
    assert (before[48], after[48] > 0) == (0, True)  # it was not reserved ahead, and pays like any other


def test_looking_reserves_nothing() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    assert {one.reserved for one in made(ledger, asking=False).ahead} == {False}
    assert ledger.periods() == []


def test_a_connection_that_is_lost_costs_nothing_and_it_is_asked_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    ledger = Ledger.in_memory(WEEKLY, clock=clock)
    made(ledger)
    clock.now += timedelta(days=7)

    def gone() -> None:
        raise SourceUnavailable("the database does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(SOURCE, "ready", gone)
        missed = made(ledger).editions[-1]
    assert missed.status == "missed"
    assert "nothing was charged" in missed.reason
    assert made(ledger).editions[-1].status == "published"


@pytest.mark.engines
def test_two_hosts_ask_each_edition_once_and_hold_each_period_once(make: MakeLedger) -> None:
    many = replace(AHEAD, since="2026-W11")  # 34 editions are due
    hosts, both, series = [make(Clock()) for _ in range(2)], threading.Barrier(2, timeout=PATIENCE), list[ReportRun]()

    def run(ledger: Ledger) -> None:
        source = open_source(TABLE)
        both.wait()
        series.append(run_report(many, source=source, ledger=ledger, entropy=system()))

    crowd = [threading.Thread(target=run, args=(ledger,)) for ledger in hosts]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    reserved = Counter(entry.content["data_version"] for entry in hosts[0].history() if entry.kind == "reserved")
    assert len(reserved) == 34 + 3
    assert set(reserved.values()) == {1}
    assert len(series) == 2
    first, second = series
    assert [(one.period, one.status, one.items) for one in first.editions] == [
        (one.period, one.status, one.items) for one in second.editions
    ]
    assert first.asked + second.asked == 34
    assert first.ahead == second.ahead
    assert hosts[0].verify().findings == ()


def test_what_was_begun_and_lost_is_not_asked_again(make: MakeLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    ledger = make(clock)
    made(ledger)
    clock.now += timedelta(days=7)
    charged = ledger.spent(period="2026-W45")

    def lost(*_: object, **__: object) -> None:
        raise SystemExit  # the process ends once rows have been read

    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "settlement", lost)
        with pytest.raises(SystemExit):
            made(ledger)
    with make(clock) as again:
        edition = made(again).editions[-1]
        assert (edition.status, "it is not asked again" in edition.reason) == ("missed", True)
        assert again.spent(period="2026-W45") == charged
        assert again.verify().findings == ()


KILLED = """
import os, signal, sys
from datetime import UTC, datetime
import crestline as cl
from crestline.ledger.ledger import Ledger
from crestline.randomness.entropy import system
from crestline.reports.report import run_report as run
from crestline.sources.table import TableSource
from tests.reports.test_ahead import AHEAD, SOURCE, WEEKLY

if sys.argv[3] == "reading":
    TableSource.reading = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
else:
    from crestline.reports import report
    report.reserve_ahead = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
ledger = Ledger.open(sys.argv[1], clock=lambda: datetime.fromisoformat(sys.argv[2]))
run(AHEAD, source=SOURCE, ledger=ledger, entropy=system())
"""


@pytest.mark.long
@pytest.mark.parametrize(("where", "status"), [("reading", "missed"), ("reserving", "published")])
def test_a_process_that_is_killed_neither_asks_nor_pays_twice(tmp_path: Path, where: str, status: str) -> None:
    clock, path = Clock(), tmp_path / "ledger.db"
    with Ledger.create(path, WEEKLY, clock=clock) as ledger:
        made(ledger)
    clock.now += timedelta(days=7)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path), clock.now.isoformat(), where], check=False)
    assert killed.returncode == -9
    with Ledger.open(path, clock=clock) as ledger:
        charged = ledger.spent(period="2026-W45")
        series = made(ledger)
        assert (series.asked, series.editions[-1].period, series.editions[-1].status) == (0, "2026-W45", status)
        assert [one.reserved for one in series.ahead] == [True] * 3
        assert ledger.spent(period="2026-W45") == charged
        assert ledger.verify().findings == ()


@pytest.mark.slow
@pytest.mark.engines
@pytest.mark.parametrize("kills", [8, pytest.param(200, marks=pytest.mark.full)])
def test_what_was_settled_before_a_kill_is_published_by_the_next_run(tmp_path: Path, kills: int) -> None:
    run = [sys.executable, "-m", "tests.reports.victim", str(tmp_path), str(kills)]
    done = subprocess.run(run, check=True, timeout=PATIENCE * kills, stdout=subprocess.PIPE, text=True)
    left = json.loads(done.stdout)
    assert left.get("settled", 0) + left.get("lost before it was answered", 0) == 4 * (
        kills + 1
    )  # of four editions that are due


def test_a_reservation_for_another_question_is_given_back() -> None:
    clock = Clock()
    ledger = Ledger.in_memory(WEEKLY, clock=clock)
    made(ledger)
    held = ledger.spent(period="2026-W45").loss
    clock.now += timedelta(days=7)
    changed = replace(AHEAD, question=replace(AHEAD.question, where="user > 0"))
    assert made(ledger, changed).editions[-1].status == "published"
    assert ledger.spent(period="2026-W45").loss <= held  # paid once, not for the earlier question as well
    assert [entry.content["question"]["where"] for entry in ledger.reserved_ahead()] == ["user > 0"] * 3
    length = len(ledger.history())
    assert made(ledger, changed).asked == 0
    assert len(ledger.history()) == length
    assert ledger.verify().findings == ()


def test_what_is_reserved_for_a_report_that_is_gone_is_given_back(make: MakeLedger) -> None:
    ledger = make(Clock())
    made(ledger)
    made(ledger, replace(AHEAD, name="weekly other"))
    assert give_back_others(ledger, {"weekly"}) == [f"report weekly other 2026-W{week}" for week in (45, 46, 47)]
    assert give_back_others(ledger, {"weekly"}) == []
    assert [entry.content["data_version"] for entry in ledger.reserved_ahead()] == [
        f"report weekly 2026-W{week}" for week in (45, 46, 47)
    ]
    (first, *_) = [entry for entry in ledger.history() if entry.kind == "voided"]
    with pytest.raises(LedgerError, match="given back already"):
        ledger.begin(int(first.receipt or 0), ledger.history()[int(first.receipt or 0) - 1].content["question"])
    assert ledger.verify().findings == ()


@pytest.mark.long
def test_where_too_little_is_left_nothing_is_reserved_and_no_refusal_is_written() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    made(ledger, PLAIN)
    spend_all(ledger, "2026-W45")
    length = len(ledger.history())
    ahead = made(ledger).ahead
    assert [(one.reserved, one.reason) for one in ahead] == [
        (False, "not enough is left of this period's budget"),
        (True, ""),
        (True, ""),
    ]
    assert [entry.kind for entry in ledger.history()[length:]] == ["reserved", "reserved"]


def test_a_reservation_is_taken_up_once() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    made(ledger)
    (first, *_) = [entry for entry in ledger.history() if entry.is_reserved_ahead]
    question = first.content["question"]
    assert ledger.begin(first.sequence, {**question, "k": 7}) is None
    assert ledger.begin(first.sequence + 1000, question) is None
    receipt = ledger.begin(first.sequence, question)
    assert receipt is not None
    assert (receipt.number, receipt.reserved) == (first.sequence, first.charge_of(None))
    with pytest.raises(LedgerError, match="it is taken up once"):
        ledger.begin(first.sequence, question)
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("ahead", [-1, 101, "4"])
def test_how_far_ahead(ahead: int) -> None:
    with pytest.raises(ParameterError, match="ahead must be"):
        replace(REPORT, ahead=ahead)


def test_a_report_that_begins_later_reserves_from_its_first_period_on() -> None:
    ledger = Ledger.in_memory(WEEKLY, clock=Clock())
    assert [one.period for one in made(ledger, replace(AHEAD, since="2026-W46")).ahead] == ["2026-W46", "2026-W47"]


def test_a_notebook_reserves_ahead_too() -> None:
    budget = cl.Budget(epsilon=4, delta="1e-6", per="year", time="day")
    data = cl.connect(TABLE).dataset("t", user="user", budget=budget)
    since = str(datetime.now(UTC).year)
    series = cl.report(data, "yearly", every="year", since=since, ahead=2, k=1, item="item")
    assert [one.reserved for one in series.ahead] == [True, True]


@pytest.mark.long
def test_the_configuration_the_command_and_the_ledger_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    today = datetime.now(UTC).date()
    lines = "".join(f"r{reader},Rivers,nature,DE,{today - timedelta(days=40)}\n" for reader in range(50))
    (tmp_path / "loans.csv").write_text("reader,title,genre,country,day\n" + lines)
    monthly = 'per = "month", time = "day"'
    config = CONFIG.replace("delta = 1e-4 }", f"delta = 1e-4, {monthly} }}").replace(
        "delta = 1e-5 }", f"delta = 1e-5, {monthly} }}"
    )
    report = f'\n[reports.top]\ndataset = "loans"\nsince = "{today:%Y-%m}"\nahead = 2\n'
    (tmp_path / "crestline.toml").write_text(config + report + 'question = { k = 1, item = "title" }\n')
    assert command(["report", "due", str(tmp_path / "crestline.toml"), "--format", "table"]) == 0
    assert capsys.readouterr().out.count("reserved ahead") == 2
    ledgers = [str(path) for path in tmp_path.iterdir() if path.suffix == ".db"]
    assert command(["ledger", "show", *ledgers, "--format", "table"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Reserved ahead, for reports that are not due yet" in shown
    assert f"report top {today:%Y-%m}" in shown
    assert "reserved" in shown
    assert "lost in a crash" not in shown
    (tmp_path / "crestline.toml").write_text(config)  # the report is taken out
    assert command(["report", "due", str(tmp_path / "crestline.toml"), "--format", "table"]) == 0
    assert capsys.readouterr().out.count("given back") == 2
    assert command(["ledger", "show", *ledgers, "--format", "table"]) == 0
    assert "reserved" not in capsys.readouterr().out.lower()
