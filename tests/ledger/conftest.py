"""Ledgers of every sort, and costs to put in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger

MakeLedger = Callable[..., Ledger]

EPSILON = Fraction(1, 10)
DELTA = Fraction(1, 10**9)


def drawn(times: int, delta: Fraction = DELTA) -> Cost:
    """The cost of so many drawn items."""
    return repeat_step(BoundedRange(EPSILON), times, delta=delta)


def small_budget(items: int = 10) -> Budget:
    """Room for so many drawn items, in many more questions."""
    return Budget(items * EPSILON, 1000 * DELTA, "pure")


class Clock:
    """A clock that goes where it is told to."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.step = timedelta(seconds=1)

    def __call__(self) -> datetime:
        self.time += self.step
        return self.time


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def make_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeLedger]:
    """Opens a new ledger; every test that uses it runs on each of the three stores."""
    made: list[Ledger] = []
    address = tmp_path / "ledger.db" if request.param == "sqlite" else None
    if request.param == "postgres":
        address = request.getfixturevalue("postgres_database")

    def make(budget: Budget, **options: object) -> Ledger:
        analysts = options.pop("analysts", None)
        if address is None:
            ledger = Ledger.in_memory(budget, **options)  # type: ignore[arg-type] # passed through
            for name, own in (analysts or {}).items():  # type: ignore[attr-defined] # a mapping
                ledger.add_analyst(name, own)
        else:
            ledger = Ledger.create(address, budget, analysts=analysts, **options)  # type: ignore[arg-type] # as above
        made.append(ledger)
        return ledger

    yield make
    for ledger in made:
        ledger.close()
