"""All operations in any order, held against a model that knows nothing but arithmetic; in a file and on a server.

Never over budget; never a release without its charge; refunds exactly the steps that were not drawn; a stop is charged;
one user column for all that is charged.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
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

from crestline.errors import BudgetError, BudgetExhausted, BudgetMismatch, LedgerError
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.selection import Selection

pytestmark = pytest.mark.statistics

DELTA = Fraction(1, 10**9)
ANALYSTS = [None, "ann", "bob"]

KS = st.integers(1, 6)
EPSILON = st.sampled_from([Fraction(1, 10), Fraction(1, 3), Fraction(1, 1)])
ANALYST = st.sampled_from(ANALYSTS)
VERSION = st.sampled_from(["v1", None])
USER = st.sampled_from(["reader", "reader", "reader", "branch", None])

# What one drawn item takes from each kind of budget (P10.1, P10.6), and what one question takes.
LOSS: dict[str, Callable[[Fraction], Fraction]] = {
    "zcdp": lambda epsilon: epsilon**2 / 8,
    "pure": lambda epsilon: epsilon,
    "homogeneous": lambda epsilon: Fraction(1),
}
FAILURE = {"zcdp": DELTA, "pure": DELTA, "homogeneous": Fraction(1)}


@dataclass(frozen=True)
class Room:
    """Which kind of budget, about how many items at epsilon 1, exactly how many questions."""

    kind: str
    items: int
    questions: int

    def budget(self) -> Budget:
        failures = self.questions * DELTA
        if self.kind == "homogeneous":
            counted: dict[str, Any] = {"items": self.items, "questions": self.questions}
            return Budget(100, "1e-3", self.kind, **counted, item_epsilon=1, question_delta=DELTA)
        if self.kind == "zcdp":
            return Budget(10 + self.items, 2 * failures, slack=failures)
        return Budget(self.items, failures, self.kind)


ROOMS = st.builds(Room, st.sampled_from(sorted(LOSS)), st.sampled_from([20, 10, 5, 1]), st.sampled_from([30, 5]))


@dataclass
class Reservation:
    receipt: Receipt
    mechanism: LimitedDomain
    question: dict[str, Any]
    payers: list[str | None]
    released: Selection | None = None


class Books(RuleBasedStateMachine):
    address: Callable[[], str]  # a place for new books, given by the test below

    waiting = Bundle("waiting")
    spoken = Bundle("spoken")
    done = Bundle("done")

    @initialize(rooms=st.fixed_dictionaries(dict.fromkeys(ANALYSTS, ROOMS)), user=USER)
    def open_books(self, rooms: dict[str | None, Room], user: str | None) -> None:
        self.user = user
        self.kinds = {who: room.kind for who, room in rooms.items()}
        self.limits = {who: room.budget().limit for who, room in rooms.items()}
        self.charged = dict.fromkeys(ANALYSTS, (Fraction(0), Fraction(0)))
        self.released = dict.fromkeys(ANALYSTS, Fraction(0))
        self.paid_answers: dict[tuple[str | None, str], list[str]] = {}
        self.open: set[int] = set()
        self.asked = 0
        self.place = type(self).address()
        own = {who: room.budget() for who, room in rooms.items() if who is not None}
        self.ledger = Ledger.create(self.place, rooms[None].budget(), user=user, analysts=own)

    def loss(self, who: str | None, epsilon: Fraction, items: int) -> Fraction:
        return items * LOSS[self.kinds[who]](epsilon)

    def fits(self, who: str | None, epsilon: Fraction, items: int) -> bool:
        loss, failure = self.charged[who]
        limit = self.limits[who]
        fails = failure + FAILURE[self.kinds[who]] <= limit.failure
        return fails and loss + self.loss(who, epsilon, items) <= limit.loss

    def charge(self, who: str | None, epsilon: Fraction, items: int, failure: Fraction | int) -> None:
        loss, failures = self.charged[who]
        self.charged[who] = (loss + self.loss(who, epsilon, items), failures + failure)

    @rule(target=waiting, k=KS, epsilon=EPSILON, analyst=ANALYST, largest=st.booleans(), version=VERSION, user=USER)
    def reserve(
        self, k: int, epsilon: Fraction, analyst: str | None, largest: bool, version: str | None, user: str | None
    ) -> Any:
        payers: list[str | None] = [None] if analyst is None else [None, analyst]
        fitting = [size for size in range(1, k + 1) if all(self.fits(who, epsilon, size) for who in payers)]
        self.asked += 1
        question = {"number": self.asked, "k": k, "user": user}
        details: dict[str, Any] = {"question": question, "data_version": version, "analyst": analyst}
        try:
            if largest:
                receipt = self.ledger.reserve_largest(
                    lambda size: LimitedDomain(size, 10, epsilon, DELTA).cost(), k, **details
                )
            else:
                receipt = self.ledger.reserve(LimitedDomain(k, 10, epsilon, DELTA).cost(), **details)
        except BudgetMismatch:
            assert None not in (self.user, user)
            assert self.user != user
            return multiple()
        except BudgetExhausted:
            assert not fitting if largest else k not in fitting
            return multiple()
        assert user is None or self.user in (None, user)
        self.user = self.user or user
        size = max(fitting) if largest else k
        assert size in fitting
        assert receipt.k == (size if largest else None)
        for who in payers:
            self.charge(who, epsilon, size, FAILURE[self.kinds[who]])
        self.open.add(receipt.number)
        stored = question | {"version": version}
        return Reservation(receipt, LimitedDomain(size, 10, epsilon, DELTA), stored, payers)

    @rule(target=spoken, reservation=consumes(waiting), data=st.data())
    def release(self, reservation: Reservation, data: st.DataObject) -> Reservation:
        """Say something to the world: from here on, whatever happens, it must be paid."""
        k = reservation.mechanism.k
        length = data.draw(st.integers(0, k))
        reservation.released = Selection(tuple(f"item {place}" for place in range(length)), length < k)
        for who in reservation.payers:
            self.released[who] += self.loss(who, reservation.mechanism.epsilon, min(k, length + (length < k)))
        return reservation

    @rule(target=done, reservation=consumes(spoken))
    def settle(self, reservation: Reservation) -> Reservation:
        mechanism, selection = reservation.mechanism, reservation.released
        assert selection is not None
        answer = [str(item) for item in selection.items]
        paid = self.ledger.settle(reservation.receipt, mechanism.settlement_cost(selection), answer=answer)
        steps = len(answer) + selection.stopped  # a stop is charged
        assert paid.loss == self.loss(reservation.payers[-1], mechanism.epsilon, steps)
        for who in reservation.payers:
            self.charge(who, mechanism.epsilon, steps - mechanism.k, 0)  # refunds exactly what was not drawn
        self.open.discard(reservation.receipt.number)
        self.paid_answers[reservation.payers[-1], str(reservation.question)] = answer
        return reservation

    @rule(target=done, k=KS, epsilon=EPSILON, analyst=ANALYST, version=VERSION, user=USER, data=st.data())
    def ask(
        self,
        k: int,
        epsilon: Fraction,
        analyst: str | None,
        version: str | None,
        user: str | None,
        data: st.DataObject,
    ) -> Any:
        """The whole of a question, undisturbed."""
        reservation = self.reserve(k, epsilon, analyst, data.draw(st.booleans()), version, user)
        return self.settle(self.release(reservation, data)) if isinstance(reservation, Reservation) else multiple()

    @rule(reservation=st.one_of(waiting, spoken))
    def settle_too_much(self, reservation: Reservation) -> None:
        more = LimitedDomain(reservation.mechanism.k + 1, 10, reservation.mechanism.epsilon, DELTA)
        with pytest.raises(BudgetError):
            self.ledger.settle(reservation.receipt, more.cost())

    @rule(reservation=consumes(waiting))
    def void(self, reservation: Reservation) -> None:
        """Nothing was sent: everything is given back, and what is given back can be neither settled nor given again."""
        self.ledger.void(reservation.receipt)
        for who in reservation.payers:
            self.charge(who, reservation.mechanism.epsilon, -reservation.mechanism.k, -FAILURE[self.kinds[who]])
        self.open.discard(reservation.receipt.number)
        with pytest.raises(LedgerError, match="given back already"):
            self.ledger.settle(reservation.receipt, reservation.mechanism.cost())
        with pytest.raises(LedgerError, match="given back already"):
            self.ledger.void(reservation.receipt)

    @rule(reservation=done)
    def settle_again(self, reservation: Reservation) -> None:
        with pytest.raises(LedgerError, match="settled already"):
            self.ledger.settle(reservation.receipt, reservation.mechanism.cost())
        with pytest.raises(LedgerError, match="settled already"):
            self.ledger.void(reservation.receipt)

    @rule(reservation=done, analyst=ANALYST)
    def ask_again(self, reservation: Reservation, analyst: str | None) -> None:
        question = {name: value for name, value in reservation.question.items() if name != "version"}
        version = reservation.question["version"]
        found = self.ledger.find_answer(question, version, analyst=analyst)
        paid = self.paid_answers.get((analyst, str(reservation.question)))
        expected = None if version is None else paid
        assert (None if found is None else found.answer) == expected

    @rule()
    def open_again(self) -> None:
        self.ledger.close()
        self.ledger = Ledger.open(self.place)
        with pytest.raises(LedgerError, match="open already"):
            self.ledger.add_analyst("ann", Budget(1000, kind="pure"))

    @invariant()
    def the_books_are_what_the_model_says(self) -> None:
        for account in self.ledger.accounts:
            charged = account.balance.total_charged
            assert (charged.loss, charged.failure) == self.charged[account.analyst]
            assert charged.fits_in(self.limits[account.analyst])
            assert charged.loss >= self.released[account.analyst]
        assert {entry.sequence for entry in self.ledger.open_reservations()} == self.open
        assert self.ledger.user == self.user

    def teardown(self) -> None:
        if hasattr(self, "ledger"):
            assert self.ledger.verify().findings == ()
            self.ledger.close()


def machine(place: Callable[[], str]) -> type[Books]:
    return type("Books", (Books,), {"address": staticmethod(place)})


def test_in_a_file() -> None:
    folder = Path(tempfile.mkdtemp())
    places = (str(folder / f"{number}.db") for number in range(10**9))
    try:
        run_state_machine_as_test(
            machine(lambda: next(places)), settings=settings(max_examples=20, stateful_step_count=40)
        )
    finally:
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("examples", [5, pytest.param(15, marks=pytest.mark.full)])
def test_on_a_server(postgres_database: str, examples: int) -> None:
    def place() -> str:
        with psycopg.connect(postgres_database) as raw:
            raw.execute(
                "DROP TABLE IF EXISTS crestline_books, crestline_accounts, crestline_periods, crestline_entries"
            )
        return postgres_database

    run_state_machine_as_test(machine(place), settings=settings(max_examples=examples, stateful_step_count=40))
