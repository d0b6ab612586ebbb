"""The same behaviour in memory, in a file and on a server."""

from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from tests.ledger.conftest import DELTA, EPSILON, Clock, MakeLedger, drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import BudgetError, BudgetExhausted, BudgetMismatch, LedgerError, ParameterError
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import GaussianDP
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.store import LISTED_REFUSALS

QUESTION = {"item": ["venue"], "k": 5, "where": None}


def test_reserve_release_settle(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(5), question=QUESTION, mechanism="LimitedDomain")
    assert receipt.reserved.loss == 5 * EPSILON
    assert ledger.remaining().loss == 5 * EPSILON
    assert ledger.settle(receipt, drawn(2)).loss == 2 * EPSILON
    assert ledger.remaining().loss == 8 * EPSILON
    assert ledger.spent().failure == DELTA
    assert ledger.verify().ok


def test_a_refusal_costs_nothing_and_is_on_record(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve(drawn(11), question=QUESTION)
    assert refused.value.requested.loss == 11 * EPSILON
    assert refused.value.remaining.loss == 10 * EPSILON
    assert ledger.spent().loss == 0
    assert ledger.history()[-1].kind == "refused"
    assert ledger.verify().ok


def test_a_reservation_that_is_never_settled_stays_charged(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(5))
    assert [entry.sequence for entry in ledger.open_reservations()] == [receipt.number]
    assert ledger.spent().loss == 5 * EPSILON
    ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    assert [entry.sequence for entry in ledger.open_reservations()] == [receipt.number]


def test_an_error_in_settling_leaves_the_reservation_charged(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(5))
    with pytest.raises(BudgetError):
        ledger.settle(receipt, drawn(6))
    with pytest.raises(ParameterError, match="JSON"):
        ledger.settle(receipt, drawn(5), answer=object())
    assert ledger.spent().loss == 5 * EPSILON
    assert len(ledger.open_reservations()) == 1
    assert ledger.verify().ok


def test_a_reservation_is_settled_once(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(5))
    ledger.settle(receipt, drawn(1))
    with pytest.raises(LedgerError, match="settled already"):
        ledger.settle(receipt, drawn(1))
    assert ledger.spent().loss == EPSILON


def test_a_receipt_of_another_ledger_is_worth_nothing(make_ledger: MakeLedger) -> None:
    with Ledger.in_memory(small_budget(), dataset="elsewhere") as other:
        receipt = other.reserve(drawn(5))
    ledger = make_ledger(small_budget())
    ledger.reserve(drawn(5))
    with pytest.raises(LedgerError, match="not from this ledger"):
        ledger.settle(receipt, drawn(1))


def test_the_largest_k_that_fits(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    ledger.reserve(drawn(7))
    receipt = ledger.reserve_largest(drawn, 20)
    assert receipt.k == 3
    assert ledger.remaining().loss == 0
    with pytest.raises(BudgetExhausted):
        ledger.reserve_largest(drawn, 20)
    with pytest.raises(ParameterError):
        ledger.reserve_largest(drawn, 0)


def test_a_charge_must_fit_both_the_data_set_and_the_analyst(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(10), analysts={"ann": small_budget(4), "bob": small_budget(9)})
    with pytest.raises(BudgetExhausted, match="ann"):
        ledger.reserve(drawn(5), analyst="ann")
    ledger.settle(ledger.reserve(drawn(4), analyst="ann"), drawn(3))
    assert ledger.remaining("ann").loss == EPSILON
    assert ledger.remaining().loss == 7 * EPSILON
    with pytest.raises(BudgetExhausted, match="data set"):
        ledger.reserve(drawn(8), analyst="bob")
    assert ledger.remaining("bob").loss == 9 * EPSILON
    assert ledger.reserve_largest(drawn, 50, analyst="bob").k == 7
    assert ledger.verify().ok


def test_each_account_measures_in_its_own_units(make_ledger: MakeLedger) -> None:
    own = Budget(1, 2e-6, "homogeneous", items=6, questions=2, item_epsilon="0.1", question_delta="1e-8")
    ledger = make_ledger(Budget(1, 1e-6), analysts={"ann": own})
    receipt = ledger.reserve(drawn(5), analyst="ann")
    ledger.settle(receipt, drawn(2))
    ledger.settle(receipt=ledger.reserve(drawn(4), analyst="ann"), cost=drawn(4))
    assert ledger.remaining("ann").to_json() == {"items": "0/1", "questions": "0/1"}
    assert ledger.spent().loss == 6 * EPSILON**2 / 8
    with pytest.raises(BudgetMismatch):
        ledger.reserve(repeat_step(GaussianDP("1/100")), analyst="ann")


def test_who_may_ask_where_analysts_have_budgets(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget(4)})
    with pytest.raises(BudgetError, match="eve"):
        ledger.reserve(drawn(1), analyst="eve")
    with pytest.raises(BudgetError, match="eve"):
        ledger.remaining("eve")
    with pytest.raises(BudgetError, match="eve"):
        ledger.find_answer(QUESTION, "v1", analyst="eve")
    ledger.reserve(drawn(1))  # the owner, who has no other limit than the data set's
    assert ledger.remaining("ann").loss == 4 * EPSILON


def test_a_name_is_only_a_name_where_no_analyst_has_a_budget(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(2), analyst="ann")
    assert ledger.remaining("ann") == ledger.remaining()
    with pytest.raises(LedgerError, match="too late"):
        ledger.add_analyst("ann", small_budget(4))
    ledger.add_analyst("bob", small_budget(4))  # between ann's reservation and its settlement
    ledger.settle(receipt, drawn(1))
    assert ledger.spent().loss == EPSILON
    assert ledger.verify().ok


def test_a_budget_is_opened_once(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget(4)})
    with pytest.raises(LedgerError, match="open already"):
        ledger.add_analyst("ann", small_budget(9))
    assert ledger.account("ann").balance.budget == small_budget(4)


def test_a_clock_that_goes_backwards_breaks_nothing(make_ledger: MakeLedger) -> None:
    clock = Clock()
    ledger = make_ledger(small_budget(), clock=clock)
    ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    clock.step = timedelta(days=-1)
    ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    found = ledger.verify()
    assert found.ok
    assert found.backwards == 2
    assert [entry.sequence for entry in ledger.history()] == [1, 2, 3, 4, 5]


def test_a_clock_without_a_time_zone_is_refused(make_ledger: MakeLedger) -> None:
    with pytest.raises(ParameterError, match="time zone"):
        make_ledger(small_budget(), clock=lambda: datetime(2026, 1, 1))


def test_history_can_be_cut(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    for _ in range(3):
        ledger.reserve(drawn(1))
    assert [entry.sequence for entry in ledger.history(last=2)] == [3, 4]


def test_threads_share_one_ledger(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(20))
    granted: list[int] = []

    def ask() -> None:
        """As long as something can be reserved: what others hold at the moment may be given back."""
        end = time.monotonic() + PATIENCE
        while len(granted) < 19 and time.monotonic() < end:
            try:
                receipt = ledger.reserve(drawn(2))
            except BudgetExhausted:
                continue
            ledger.settle(receipt, drawn(1))
            granted.append(1)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent().loss == len(granted) * EPSILON
    assert 19 <= len(granted) <= 20  # the last step alone can never be reserved as two
    assert ledger.verify().ok


def test_a_question_without_steps_costs_its_failure_only(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(Cost(delta=DELTA))
    assert ledger.settle(receipt, Cost(delta=DELTA)).failure == DELTA
    assert ledger.spent().loss == Fraction(0)


def test_what_is_refused_is_a_single_item(make_ledger: MakeLedger) -> None:
    """Where not even one item fits, the refusal names the cost of one."""
    ledger = make_ledger(small_budget(2))
    ledger.reserve(drawn(2))
    with pytest.raises(BudgetExhausted) as refused:
        ledger.reserve_largest(drawn, 5)
    assert refused.value.requested.loss == EPSILON


def test_history_of_one_analyst(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget(), "bob": small_budget()})
    for analyst in ("ann", "bob", "ann", None):
        ledger.reserve(drawn(1), analyst=analyst)
    assert [entry.sequence for entry in ledger.history(analyst="ann")] == [2, 4, 6]
    assert [entry.sequence for entry in ledger.history(1, analyst="bob")] == [5]
    assert [entry.sequence for entry in ledger.history()] == [1, 2, 3, 4, 5, 6, 7]


def test_who_pays(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget(4)})
    assert [(payer.dataset, payer.analyst) for payer in ledger.payers("ann")] == [
        (ledger.dataset, None),
        (ledger.dataset, "ann"),
    ]
    assert [payer.analyst for payer in ledger.payers()] == [None]
    assert [account.analyst for account in ledger.accounts] == [None, "ann"]
    titles = [payer.title for payer in ledger.payers("ann")]
    assert titles == ["the budget of data set 'default'", "the budget of 'ann' for data set 'default'"]


def test_a_receipt_of_a_refusal_or_a_settlement_settles_nothing(make_ledger: MakeLedger) -> None:
    """Only a reservation can be settled, whatever number and hash are given."""
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(1))
    ledger.settle(receipt, drawn(1))
    for entry in ledger.history():
        if entry.kind != "reserved":
            with pytest.raises(LedgerError, match="not from this ledger"):
                ledger.settle(replace(receipt, number=entry.sequence, hash=entry.hash), drawn(1))
    with pytest.raises(LedgerError, match="not from this ledger"):
        ledger.settle(replace(receipt, number=99), drawn(1))


def test_a_receipt_says_how_many_items_were_granted(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    ledger.reserve(drawn(1))
    ledger.reserve_largest(drawn, 3)
    plain, largest = ledger.open_reservations()
    assert "k" not in plain.content
    assert largest.content["k"] == 3


def test_many_refusals_of_a_day_are_counted(make_ledger: MakeLedger) -> None:
    """They cost nothing, so that nothing but their number bounds what they fill."""
    clock = Clock()
    ledger = make_ledger(small_budget(10), analysts={"ann": small_budget(2), "bob": small_budget(2)}, clock=clock)

    def refuse(times: int, analyst: str) -> None:
        for _ in range(times):
            with pytest.raises(BudgetExhausted):
                ledger.reserve(drawn(3), question={"k": "x" * 500}, analyst=analyst)

    refuse(LISTED_REFUSALS + 30, "ann")
    refuse(1, "bob")
    refused = [entry for entry in ledger.history() if entry.kind == "refused"]
    assert Counter(entry.analyst for entry in refused) == {"ann": LISTED_REFUSALS, "bob": 1}
    assert not any("unlisted" in entry.content for entry in refused)
    clock.time += timedelta(days=1)
    refuse(2, "ann")
    last = [entry.content for entry in ledger.history()][-2:]
    assert last[0]["unlisted"] == {"day": "2026-01-01", "number": 30}
    assert "unlisted" not in last[1]
    assert ledger.reserve(drawn(1), analyst="ann").analyst_number == LISTED_REFUSALS + 3
    assert ledger.verify().findings == ()
