"""64 processes at one small budget: the sum never exceeds it, and every refusal is correct."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from tests.ledger.conftest import EPSILON, small_budget
from tests.patience import PATIENCE

from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.store import LISTED_REFUSALS
from crestline.ledger.storage.tables import refusals

pytestmark = pytest.mark.engines

PROCESSES, QUESTIONS, ITEMS = 64, 4, 120


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    url: str = request.getfixturevalue("postgres_database")
    return url


@pytest.mark.slow
def test_sixty_four_processes_never_spend_more_than_there_is(address: str, tmp_path: Path) -> None:
    with Ledger.create(address, small_budget(ITEMS)) as ledger:
        crowd = [sys.executable, "-m", "tests.ledger.crowd", address, str(tmp_path), str(PROCESSES), str(QUESTIONS)]
        subprocess.run(crowd, check=True, timeout=PATIENCE)
        told = [json.loads(line) for log in tmp_path.glob("*.log") for line in log.read_text().splitlines()]
        granted = [one for one in told if "granted" in one]

        assert len(told) == PROCESSES * QUESTIONS
        assert ledger.verify().findings == ()
        assert ledger.spent().loss == sum(one["paid"] for one in granted) * EPSILON <= ITEMS * EPSILON
        assert ledger.remaining().loss < 4 * EPSILON  # all of it was fought over
        assert len({one["receipt"] for one in granted}) == len(granted)
        assert ledger.open_reservations() == []
        refused = len(told) - len(granted)
        assert check_refusals([entry.content for entry in ledger.history()]) == min(refused, LISTED_REFUSALS) > 0
        counted = ledger._store.database.read(lambda connection: connection.execute(select(refusals.c.number)).scalar())
        assert counted == refused, "those that are no entries are counted"


def check_refusals(history: list[dict[str, Any]]) -> int:
    """How many refusals are listed, each of them because it did not fit at its place in the ledger."""
    left, held, listed = ITEMS * EPSILON, dict[int, Fraction](), 0
    for entry in history:
        if entry["kind"] == "reserved":
            held[entry["sequence"]] = Fraction(entry["charge"][0]["epsilon"])
            left -= held[entry["sequence"]]
        elif entry["kind"] == "settled":
            left += held.pop(entry["receipt"]) - Fraction(entry["charge"][0]["epsilon"])
        elif entry["kind"] == "refused":
            listed += 1
            assert Fraction(entry["remaining"]["epsilon"]) == left < Fraction(entry["requested"]["epsilon"])
        assert left >= 0
    return listed
