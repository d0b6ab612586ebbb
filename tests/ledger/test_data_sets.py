"""Ledgers: one file or several data sets, their names, and what is there tomorrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.ledger.conftest import EPSILON, MakeLedger, drawn, small_budget

from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError, ParameterError
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger


def test_a_ledger_of_several_data_sets_wants_a_name(tmp_path: Path) -> None:
    for name in ("visits", "orders"):
        Ledger.create(tmp_path / "ledger.db", small_budget(), dataset=name).close()
    with pytest.raises(LedgerError, match=r"name one of its data sets; it has: 'orders', 'visits'"):
        Ledger.open(tmp_path / "ledger.db")
    with pytest.raises(LedgerError, match=r"no budget is open for data set 'sales'; it has: 'orders', 'visits'"):
        Ledger.open(tmp_path / "ledger.db", dataset="sales")
    with Ledger.open(tmp_path / "ledger.db", dataset="visits") as ledger:
        assert ledger.dataset == "visits"


def test_a_data_set_that_has_no_budget(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    elsewhere = Ledger(ledger._store, "elsewhere")
    with pytest.raises(LedgerError, match="no budget is open"):
        elsewhere.reserve(drawn(1))
    with pytest.raises(LedgerError, match="no budget is open"):
        elsewhere.add_analyst("ann", small_budget())
    assert elsewhere.answer(1) is None


@pytest.mark.parametrize("name", ["", "a\x00b", "x" * 201, "line\nbreak"])
def test_names_are_names(name: str) -> None:
    with pytest.raises(ParameterError):
        Ledger.in_memory(small_budget(), dataset=name)
    with Ledger.in_memory(small_budget()) as ledger, pytest.raises(ParameterError):
        ledger.reserve(drawn(1), analyst=name)


def test_several_data_sets_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path, small_budget(4), dataset="sales") as sales:
        sales.reserve(drawn(4))
    with Ledger.create(path, small_budget(3), dataset="visits") as visits:
        assert visits.remaining().loss == 3 * EPSILON
        assert visits.datasets == ["sales", "visits"]
        assert [entry.dataset for entry in visits.history()] == ["visits"]
        assert visits.verify().ok
    with pytest.raises(LedgerError, match="'sales', 'visits'"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="'sales', 'visits'"):
        Ledger.open(path, dataset="other")
    with Ledger.open(path, dataset="sales") as sales, pytest.raises(BudgetExhausted):
        sales.reserve(drawn(1))


def test_ledgers_are_still_there_tomorrow(make_ledger: MakeLedger, tmp_path: Path) -> None:
    ledger = make_ledger(small_budget())
    receipt = ledger.reserve(drawn(5))
    if ledger.address == "in memory":
        return
    address: Any = tmp_path / "ledger.db" if "://" not in ledger.address else ledger.address
    with Ledger.open(address) as again:
        assert again.spent().loss == 5 * EPSILON
        assert again.settle(receipt, drawn(2)).loss == 2 * EPSILON
        assert again.budget == small_budget()
        assert again.verify().ok


def test_open_or_create_insists_on_the_same_budget(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for _ in range(2):
        with Ledger.open_or_create(path, Budget(2, 1e-7), dataset="sales") as ledger:
            ledger.reserve(repeat_step(BoundedRange("0.1")))
    with pytest.raises(BudgetMismatch, match="never changed"):
        Ledger.open_or_create(path, Budget(3, 1e-7), dataset="sales")
    with Ledger.open(path) as ledger:
        assert len(ledger.open_reservations()) == 2


def test_a_data_set_that_is_not_there_is_not_replaced_by_the_only_one(tmp_path: Path) -> None:
    Ledger.create(tmp_path / "ledger.db", small_budget(), dataset="sales").close()
    with pytest.raises(LedgerError, match="no budget is open for data set 'visits'; it has: 'sales'"):
        Ledger.open(tmp_path / "ledger.db", dataset="visits")
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        assert ledger.dataset == "sales"


def test_names_may_have_200_characters() -> None:
    with Ledger.in_memory(small_budget(), dataset="x" * 200) as ledger:
        assert ledger.reserve(drawn(1), analyst="y" * 200).analyst == "y" * 200


def test_an_analyst_with_a_budget_of_their_own_is_shown_that_one_first(make_ledger: MakeLedger) -> None:
    """Where the shared one is what ran out, the error says that it is shared: a face can keep its numbers back."""
    ledger = make_ledger(small_budget(10), analysts={"ann": small_budget(9), "bob": small_budget(2)})
    ledger.reserve(drawn(8), analyst="ann")
    for analyst, asked, whose, shared in (("bob", 3, "'bob'", False), ("ann", 3, "'ann'", False)):
        with pytest.raises(BudgetExhausted, match=f"the budget of {whose}") as refusal:
            ledger.reserve(drawn(asked), analyst=analyst)
        assert refusal.value.shared is shared
    ledger.reserve(drawn(1), analyst="bob")
    ledger.reserve(drawn(1))
    with pytest.raises(BudgetExhausted, match="the budget of data set") as refusal:
        ledger.reserve(drawn(1), analyst="bob")
    assert refusal.value.shared
    with pytest.raises(BudgetExhausted) as refusal:
        ledger.reserve(drawn(1))  # the data set itself asks: it is its own
    assert not refusal.value.shared
    assert ledger.verify().findings == ()
