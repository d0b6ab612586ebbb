"""A ledger that release 0.1.0 wrote (`written/by_0_1.sql`): it is migrated, and goes on as if nothing had happened."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psycopg
import pytest
from tests.ledger.conftest import drawn
from tests.patience import PATIENCE

import crestline as cl
from crestline.errors import BudgetExhausted, BudgetMismatch
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.storage import schema
from crestline.periods.calendar import Calendar, Periods

WRITTEN = (Path(__file__).parent / "written" / "by_0_1.sql").read_text()
SEAL = "12:28567407abe2085e3aed46fa5bebd150515e7983d163333268731e341c105cb6"
READERS = pd.DataFrame({"reader": range(500), "title": ["a"] * 300 + ["b"] * 200})


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        path = tmp_path / "ledger.db"
        raw = sqlite3.connect(path)
        raw.execute("PRAGMA journal_mode = WAL")  # as 0.1.0 made them
        raw.executescript(WRITTEN)
        raw.close()
        return str(path)
    server: str = request.getfixturevalue("postgres_database")
    with psycopg.connect(server) as connection:
        connection.execute(WRITTEN.replace("%", "%%"))
    return server


def test_nothing_is_lost_on_the_way(address: str) -> None:
    with Ledger.open(address, dataset="loans") as ledger:
        found = ledger.verify(SEAL)
        assert (found.findings, found.seal) == ((), SEAL)
        assert (ledger.user, ledger.datasets) == ("reader", ["loans", "quiet"])
        assert [account.analyst for account in ledger.accounts] == [None, "ann"]
        assert len(ledger.open_reservations()) == 1


def test_stored_answers_are_served_again(address: str) -> None:
    with Ledger.open(address, dataset="loans") as ledger:
        again = cl.top_k(
            READERS, k=2, user="reader", item="title", epsilon="0.5", delta="1e-8", ledger=ledger, analyst="ann",
            version="v1", mechanism="LimitedDomain",  # what auto took then
        )  # fmt: skip
        assert again.stored
        assert again.items == ("a", "b")


def test_it_is_charged_as_before_and_a_budget_by_period_can_stand_beside_it(address: str) -> None:
    with Ledger.open(address, dataset="loans") as ledger:
        before = ledger.spent()
        ledger.settle(ledger.reserve(drawn(1), question={"user": "reader"}), drawn(1))
        assert before.fits_in(ledger.spent())
        assert before != ledger.spent()
        with pytest.raises(BudgetMismatch, match="not by period"):
            ledger.reserve(drawn(1), reach=REACH)
    with Ledger.open_or_create(address, MONTHLY, dataset="monthly") as ledger:
        ledger.reserve(drawn(1), reach=REACH)
        assert ledger.verify(SEAL).findings == ()


REACH = PeriodCharge(Periods.from_labels(Calendar("month", "day"), "2026-10", "2026-10"))
MONTHLY = Budget(1, "1e-6", "pure", per="month", time="day")


def test_many_open_it_at_once(address: str) -> None:
    """One of them migrates, under the load of all; the others wait, and nobody's charge is lost."""
    granted: list[int] = []

    def ask() -> None:
        with Ledger.open(address, dataset="quiet", timeout=PATIENCE) as ledger:
            for _ in range(3):
                try:
                    ledger.settle(
                        ledger.reserve(drawn(1, delta=drawn(1).delta * 0)), drawn(1, delta=drawn(1).delta * 0)
                    )
                    granted.append(1)
                except BudgetExhausted:
                    pass

    crowd = [threading.Thread(target=ask) for _ in range(8)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    with Ledger.open(address, dataset="quiet") as ledger:
        assert len(granted) == 10  # a budget of ε = 1, a tenth for each
        assert ledger.remaining().loss == 0
        assert ledger.verify(SEAL).findings == ()


def version_1(execute: Callable[[str], object]) -> None:
    execute("ALTER TABLE crestline_accounts DROP COLUMN user_column")
    execute("UPDATE crestline_books SET version = 1")


def test_from_the_first_version_both_steps_are_taken(address: str) -> None:
    if "://" in address:
        with psycopg.connect(address) as connection:
            version_1(lambda statement: connection.execute(statement.encode()))
    else:
        with sqlite3.connect(address) as raw:
            version_1(raw.execute)
        raw.close()
    with Ledger.open(address, dataset="loans") as ledger:
        assert ledger.user == "reader"
        assert ledger.verify(SEAL).findings == ()
    assert schema.VERSION == 5
