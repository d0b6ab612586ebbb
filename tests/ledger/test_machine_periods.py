"""The ledger by period, all operations in any order, held against a model that knows nothing but arithmetic; in a file
and on a server.

Every month has an account; with a cap, so has every window of consecutive months. A question is charged to all accounts
that it meets or to none; a settlement gives back, everywhere, exactly the steps that were not drawn.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from tests.ledger.conftest import DELTA, EPSILON, drawn

from crestline.errors import BudgetExhausted, BudgetMismatch
from crestline.ledger.budget import Budget, Window
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge, Person
from crestline.ledger.receipt import Receipt
from crestline.periods.calendar import Calendar, Periods, period_label

pytestmark = pytest.mark.statistics

CALENDAR = Calendar("month", "day")
START = 2026 * 12
PAYERS: list[str | None] = [None, "ann"]
WIDTH = 3  # months of a window

Key = tuple[str | None, int, int]  # who, first month, how many


@dataclass(frozen=True)
class Held:
    receipt: Receipt
    reach: PeriodCharge
    payers: list[str | None]
    k: int


class Months(RuleBasedStateMachine):
    address: Callable[[], str]  # a place for a new ledger, given by the test below

    waiting = Bundle("waiting")

    @initialize(rooms=st.fixed_dictionaries({who: st.tuples(st.integers(2, 12), st.integers(0, 15)) for who in PAYERS}))
    def open_ledger(self, rooms: dict[str | None, tuple[int, int]]) -> None:
        """Items for a month, and for any three months; none: no cap."""
        self.rooms = rooms
        self.charged: dict[Key, int] = {}
        budgets = {who: self.budget(*room) for who, room in rooms.items()}
        self.place = type(self).address()
        self.ledger = Ledger.create(self.place, budgets[None], analysts={"ann": budgets["ann"]})

    def budget(self, items: int, together: int) -> Budget:
        cap = Window(WIDTH, together * EPSILON, 1000 * DELTA, kind="pure") if together else None
        return Budget(items * EPSILON, 1000 * DELTA, "pure", per="month", time="day", cap=cap)

    def met(self, who: str | None, reach: PeriodCharge) -> Iterator[tuple[Key, int, int]]:
        """The account, how many times it pays, and its limit."""
        items, together = self.rooms[who]
        asked = set(reach.periods.indices)
        for month in asked:
            yield (who, month, 1), 1, items
        for start in range(min(asked) - WIDTH + 1, max(asked) + 1) if together else ():
            overlap = len(asked & set(range(start, start + WIDTH)))
            yield (who, start, WIDTH), overlap if reach.person == "each" else 1, together

    def fits(self, payers: list[str | None], reach: PeriodCharge, k: int) -> bool:
        parts = (part for who in payers for part in self.met(who, reach))
        return all(self.charged.get(key, 0) + times * k <= limit for key, times, limit in parts)

    def charge(self, payers: list[str | None], reach: PeriodCharge, k: int) -> None:
        for who in payers:
            for key, times, _ in self.met(who, reach):
                self.charged[key] = self.charged.get(key, 0) + times * k

    @rule(
        target=waiting,
        k=st.integers(1, 5),
        first=st.integers(0, 6),
        size=st.integers(1, 5),
        person=st.sampled_from(["once", "each", "each", "sum"]),
        analyst=st.sampled_from(PAYERS),
        largest=st.booleans(),
    )
    def reserve(self, k: int, first: int, size: int, person: Person, analyst: str | None, largest: bool) -> Any:
        reach = PeriodCharge(Periods(CALENDAR, START + first, size), person)
        payers = PAYERS if analyst else PAYERS[:1]
        fitting = [number for number in range(1, k + 1) if self.fits(payers, reach, number)]
        try:
            if largest:
                receipt = self.ledger.reserve_largest(drawn, k, analyst=analyst, reach=reach)
            else:
                receipt = self.ledger.reserve(drawn(k), analyst=analyst, reach=reach)
        except BudgetMismatch:
            assert person == "sum"
            assert size > 1
            assert any(self.rooms[who][1] for who in payers)
            return multiple()
        except BudgetExhausted:
            assert not fitting if largest else k not in fitting
            return multiple()
        number = max(fitting) if largest else k
        assert number in fitting
        assert receipt.k == (number if largest else None)
        self.charge(payers, reach, number)
        return Held(receipt, reach, payers, number)

    @rule(held=consumes(waiting), data=st.data())
    def settle(self, held: Held, data: st.DataObject) -> None:
        paid = data.draw(st.integers(1, held.k))
        assert self.ledger.settle(held.receipt, drawn(paid)).loss == paid * EPSILON
        self.charge(held.payers, held.reach, paid - held.k)

    @rule(held=consumes(waiting))
    def void(self, held: Held) -> None:
        self.ledger.void(held.receipt)
        self.charge(held.payers, held.reach, -held.k)

    @rule()
    def open_again(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.place)

    @invariant()
    def the_ledger_is_what_the_model_says(self) -> None:
        found: dict[Key, Fraction] = {}
        for who in PAYERS:
            for account in self.ledger.periods(who):
                months = [
                    month
                    for month in range(START - WIDTH, START + 12)
                    if period_label("month", month) == account.period
                ]
                found[who, months[0], account.span] = account.balance.total_charged.loss / EPSILON
                assert not account.balance.remaining.is_negative
        assert found == self.charged

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify().findings == ()
            self.ledger.close()


def machine(place: Callable[[], str]) -> type[Months]:
    return type("Months", (Months,), {"address": staticmethod(place)})


def test_in_a_file() -> None:
    folder = Path(tempfile.mkdtemp())
    places = (str(folder / f"{number}.db") for number in range(10**9))
    try:
        run_state_machine_as_test(
            machine(lambda: next(places)), settings=settings(max_examples=15, stateful_step_count=25)
        )
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [5, pytest.param(15, marks=pytest.mark.full)])
def test_on_a_server(postgres_database: str, examples: int) -> None:
    def place() -> str:
        tables = ("books", "accounts", "periods", "entries")
        with psycopg.connect(postgres_database) as raw:
            raw.execute(f"DROP TABLE IF EXISTS {', '.join(f'crestline_{name}' for name in tables)}")
        return postgres_database

    run_state_machine_as_test(machine(place), settings=settings(max_examples=examples, stateful_step_count=40))
