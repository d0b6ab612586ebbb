"""What was used when: the same sums as the ledger, from the beginning or from the middle."""

from __future__ import annotations

import pytest

from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.report import fraction_used
from crestline.web.pages.history.spending import earlier_reservations, spending_over_time, steps_by_number


@pytest.fixture
def ledger() -> Ledger:
    books = Ledger.in_memory(Budget(epsilon=2, kind="pure"))
    books.add_analyst("ann", Budget(epsilon=1, kind="pure"))
    for drawn in (5, 2, 1):
        receipt = books.reserve(repeat_step(BoundedRange("0.1"), 5), analyst="ann" if drawn < 5 else None)
        books.settle(receipt, repeat_step(BoundedRange("0.1"), drawn))
    return books


def test_the_line_rises_and_falls_and_ends_where_the_ledger_are(ledger: Ledger) -> None:
    whole, own = ledger.accounts
    entries = steps_by_number(ledger.history())
    shares = [round(point.used, 6) for point in spending_over_time(whole, entries, {})]
    assert shares == [0, 0.25, 0.25, 0.5, 0.35, 0.6, 0.4]
    assert shares[-1] == pytest.approx(fraction_used(whole))
    assert [round(point.used, 6) for point in spending_over_time(own, entries, {})] == [0, 0.5, 0.2, 0.7, 0.3]


def test_the_newest_entries_alone_give_the_same_end_of_the_line(ledger: Ledger) -> None:
    whole, own = ledger.accounts
    entries = steps_by_number(ledger.history(3))  # begins with a settlement whose reservation is older
    (number,) = earlier_reservations(entries)
    before = steps_by_number([entry for entry in ledger.history() if entry.sequence == number])
    assert [round(point.used, 6) for point in spending_over_time(whole, entries, before)] == [0.35, 0.6, 0.4]
    assert [round(point.used, 6) for point in spending_over_time(own, entries, before)] == [0.2, 0.7, 0.3]


def test_entries_of_one_analyst(ledger: Ledger) -> None:
    assert {entry.analyst for entry in ledger.history(analyst="ann")} == {"ann"}
    assert len(ledger.history(analyst="ann")) == 5
    assert len(ledger.history(2, analyst="ann")) == 2
