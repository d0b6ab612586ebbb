"""Accounts and entries as rows: the same numbers for people, for CSV and for programs."""

from __future__ import annotations

import json

import pytest

from crestline.errors import BudgetExhausted
from crestline.guarantees.cost import steps
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.entries import canonical, digest
from crestline.ledger.ledger import Ledger
from crestline.ledger.report import (
    ACCOUNT_COLUMNS,
    ACCOUNT_FIELDS,
    ENTRY_COLUMNS,
    ENTRY_FIELDS,
    account_fields,
    account_json,
    account_row,
    entry_fields,
    entry_line,
    entry_row,
)

QUESTION = {"k": 3, "item": ["venue"]}


@pytest.fixture
def ledger() -> Ledger:
    books = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    books.add_analyst("ann", Budget(epsilon="0.8", kind="pure"))
    receipt = books.reserve(steps(BoundedRange("0.1"), 5), question=QUESTION, data_version="1", analyst="ann")
    books.settle(receipt, steps(BoundedRange("0.1"), 3), answer={})
    books.find_answer(QUESTION, "1", analyst="ann")
    with pytest.raises(BudgetExhausted):
        books.reserve(steps(BoundedRange("0.1"), 6), question=QUESTION, analyst="ann")
    return books


def test_every_entry_has_its_charge(ledger: Ledger) -> None:
    rows = [entry_row(entry) for entry in ledger.history()]
    assert [row["kind"] for row in rows] == ["opened", "opened", "reserved", "settled", "answered", "refused"]
    assert [row["charge"] for row in rows[2:]] == [
        "epsilon 0.5, delta 0", "epsilon 0.3, delta 0", "nothing", "refused: epsilon 0.6, delta 0"
    ]  # fmt: skip
    assert all(set(row) == set(ENTRY_COLUMNS) for row in rows)
    assert all(len(entry_fields(entry)) == len(ENTRY_FIELDS) for entry in ledger.history())


def test_a_line_holds_all_that_was_hashed(ledger: Ledger) -> None:
    for entry in ledger.history():
        read = json.loads(entry_line(entry))
        assert read.pop("hash") == digest(canonical(read)) == entry.hash


def test_every_account_has_the_same_numbers_in_three_forms(ledger: Ledger) -> None:
    for account, used in zip(ledger.accounts, (0.3, 0.375), strict=True):
        assert account_json(account)["used"] == used
        assert account_row(account)["used"] == f"{used:.1%}"
        assert set(account_row(account)) == set(ACCOUNT_COLUMNS)
        for line in account_fields(account):
            read = dict(zip(ACCOUNT_FIELDS, line, strict=True))
            assert read["settled"] == account_json(account)["settled"][read["unit"]]
