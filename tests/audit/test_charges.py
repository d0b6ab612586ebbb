"""The attack on the ledger: does every release leave its charge, whatever happens on the way?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from tests.audit.broken.charging import charged_afterwards, stops_for_nothing

import crestline as cl
from crestline.ask import ask
from crestline.errors import BudgetError, BudgetExhausted
from crestline.histogram.histogram import Histogram
from crestline.ledger.ledger import Ledger
from crestline.mechanisms.selection import Selection
from crestline.payment import LedgerCharging
from crestline.prepare import Prepared, prepare
from crestline.question import Question
from crestline.randomness.entropy import replay
from crestline.sources import open_source

Ask = Callable[..., Any]
EMPTY = Histogram.from_counts({}, 3)
ONE = Histogram.from_counts({"a": 10_000}, 3)


class Interrupted(Exception):
    """What stops a program in the middle: a crash, a signal, a lost connection."""


class LostSource:
    """Counts, and is then lost."""

    name = "lost"

    def check(self, question: Question, domain: Any = None) -> None: ...

    def ready(self) -> Any:
        return nullcontext(self)

    def reading(self, question: Question, key: bytes = b"", domain: Any = None) -> Any:
        raise Interrupted

    def version(self) -> None: ...


def broken_off(mechanism: Any) -> Any:
    """The mechanism, broken off after it has drawn."""

    class BrokenOff(type(mechanism)):  # type: ignore[misc] # made from whatever mechanism is given
        def release_many(self, histogram: Any, n: int, entropy: Any) -> Any:
            super().release_many(histogram, n, entropy)
            raise Interrupted

    return BrokenOff(mechanism.k, mechanism.k_bar, mechanism.epsilon, mechanism.delta)


def prepared(mechanism: Any) -> Prepared:
    return prepare(Question(k=3, mechanism=mechanism))


def complaints(attacked: Ask) -> Iterator[str]:
    """Everything that is wrong with a way of asking."""
    honest = cl.mechanisms.LimitedDomain(3, 3, "0.1", "1e-6")

    def books() -> Ledger:
        return Ledger.in_memory(cl.Budget(epsilon=1, delta="1e-5"))

    def once(source: Any, mechanism: Any, ledger: Ledger) -> None:
        attacked(prepared(mechanism), source=source, entropy=replay("books"), ledger=ledger)

    for where, source, mechanism in (
        ("source", LostSource(), honest),
        ("mechanism", open_source(EMPTY), broken_off(honest)),
    ):
        ledger = books()
        with pytest.raises(Interrupted):
            once(source, mechanism, ledger)
        if not ledger.budget.measure(honest.cost()).fits_in(ledger.spent()):
            yield f"what is interrupted in the {where} is not charged in full"
    for histogram, stopped in ((EMPTY, Selection((), True)), (ONE, Selection(("a",), True))):
        ledger = books()
        try:
            once(open_source(histogram), honest, ledger)
        except BudgetError:
            yield "the ledger itself refuses a stop for nothing"
        if not ledger.budget.measure(honest.settlement_cost(stopped)).fits_in(ledger.spent()):
            yield "a stop is free"
    ledger = books()
    for _ in range(500):
        try:
            once(open_source(ONE), honest, ledger)
        except BudgetExhausted:
            return
    yield "asking goes on for ever"


def asked(made: Prepared, *, source: Any, entropy: Any, ledger: Ledger) -> Any:
    """The journey of every question, charged to a ledger."""
    return ask(made, source=source, entropy=entropy, charge=LedgerCharging(ledger, None))


def test_our_ledgers_are_in_order() -> None:
    assert list(complaints(asked)) == []


def test_charging_afterwards_is_caught() -> None:
    assert [complaint for complaint in complaints(charged_afterwards) if "interrupted" in complaint]


def test_a_free_stop_is_caught() -> None:
    found = list(complaints(stops_for_nothing))
    assert "a stop is free" in found
    assert "the ledger itself refuses a stop for nothing" in found
