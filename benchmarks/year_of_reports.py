"""A simulated year under one budget by the week: 52 weekly reports and 200 questions besides, none of them refused.

    python -m benchmarks.year_of_reports [FOLDER] [--users 100000]

A table of purchases grows week by week; the clock is moved, never waited for. Each Monday the report of the week that
has ended is due, and some questions are asked: three about the last week, and one about the last four. All is charged
to one ledger, and at its end stand both promises: for a user's rows of one week, and for a person who was there all
year (P16.1). The ranking over the year is drawn into the folder.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

import crestline as cl
from crestline.ask import ask, create_charging
from crestline.errors import BudgetExhausted
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import promise_per_person, promise_texts
from crestline.ledger.report import fraction_used
from crestline.prepare import prepare
from crestline.question import Question
from crestline.randomness.entropy import system
from crestline.reports.publish import publish
from crestline.reports.report import Report, run_report
from crestline.sources import Source, open_source

WEEKS, QUESTIONS = 52, 200
FIRST = date(2025, 12, 29)  # the Monday of the first week of 2026
ITEMS = 400
BUDGET = cl.Budget(epsilon=1, delta="1e-7", per="week", time="day")


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def purchases(week: int, users: int) -> pa.Table:
    """One week: more users every week, about three purchases each, items in and out of fashion."""
    draw = np.random.default_rng(week)
    active = draw.permutation(users)[: int(users * (0.3 + 0.7 * week / WEEKS) * 0.6)]
    rank = np.arange(1, ITEMS + 1)
    fashion = np.exp(0.5 * np.sin(2 * np.pi * week / 26 + 2.4 * rank)) / rank**0.9
    buyer = np.repeat(active, draw.poisson(3, len(active)))
    sku = draw.choice(ITEMS, len(buyer), p=fashion / fashion.sum())
    days = [FIRST + timedelta(days=7 * week + day) for day in range(7)]
    day = draw.integers(0, 7, len(buyer))
    country = draw.choice(["DE", "FR", "IT"], len(buyer), p=[0.5, 0.3, 0.2])
    return pa.table(
        {
            "user": buyer,
            "sku": pa.array([f"sku {number + 1:03}" for number in sku]),
            "country": country,
            "day": pa.array([days[number] for number in day]),
        }
    )


def main(folder: Path, users: int) -> None:
    """Play the year, and say how it went."""
    folder.mkdir(parents=True, exist_ok=True)
    clock, path = Clock(), folder / "purchases.duckdb"
    ledger = Ledger.create(folder / "ledger.db", BUDGET, user="user", clock=clock)
    report = Report(
        "weekly_top", Question(k=10, user="user", item=("sku",), contribution=3), "week", "2026-W01", ahead=4
    )
    outcomes, started, rows = Counter[str](), time.process_time(), 0
    for week in range(WEEKS):
        table = purchases(week, users)
        rows += len(table)
        with duckdb.connect(path) as engine:
            engine.register("week", table)
            engine.execute("create table if not exists purchases as select * from week limit 0")
            engine.execute("insert into purchases select * from week")
        clock.now = datetime.combine(FIRST + timedelta(days=7 * (week + 1)), datetime.min.time(), UTC)
        source = open_source(f"duckdb:///{path}", table="purchases")
        series = run_report(report, source=source, ledger=ledger, entropy=system())
        outcomes[f"reports {series.editions[-1].status}"] += series.asked
        for number in range(QUESTIONS * week // WEEKS, QUESTIONS * (week + 1) // WEEKS):
            outcomes[_question(number, week, source=source, ledger=ledger)] += 1
        del source  # the next week is written by another connection
    publish(series, folder, ledger)
    found = ledger.verify()
    print(f"{users:,} users, {rows:,} rows, {time.process_time() - started:.0f} s of processor time")
    print(", ".join(f"{count} {words}" for words, count in sorted(outcomes.items())))
    print(f"Used of a week: {max(_used(ledger)):.0%} at most. {found.entries} entries; verified: {found.ok}")
    print("\n".join(promise_texts(BUDGET, WEEKS)))
    print(f"A person who was there in all {WEEKS} weeks: {promise_per_person(BUDGET, WEEKS)}")
    print(f"The ranking over the year: {folder / 'weekly_top.svg'}")


def _question(number: int, week: int, *, source: Source, ledger: Ledger) -> str:
    """One of the questions besides: what it asks differs, so that none is served from the ledger."""
    where = f"country = '{('DE', 'FR', 'IT')[number % 3]}'"
    last = 4 if number % 4 == 3 and week >= 3 else 1
    asked = Question.from_fields(
        {"k": 5, "user": "user", "item": "sku", "where": where, "contribution": 3, "last": last}
    )
    try:
        prepared = prepare(asked, budget=BUDGET, now=ledger.now())
        charge, version = create_charging(ledger), f"week {week} {number}"
        answer = ask(prepared, source=source, entropy=system(), charge=charge, version=version)
    except BudgetExhausted:
        return "questions refused"
    return "questions stopped" if answer.stopped else "questions answered in full"


def _used(ledger: Ledger) -> list[float]:

    return [fraction_used(account) for account in ledger.periods()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A simulated year of reports under one budget by the week.")
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--users", type=int, default=100_000)
    given = parser.parse_args()
    main(given.folder or Path(tempfile.mkdtemp()), given.users)
