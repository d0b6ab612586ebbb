"""Accounts and entries as rows: the same numbers for people, for CSV and for programs."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from crestline.errors import BudgetExhausted
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget, Window
from crestline.ledger.entries import canonical_json, entry_hash
from crestline.ledger.ledger import Ledger
from crestline.ledger.report import (
    ACCOUNT_COLUMNS,
    ACCOUNT_FIELDS,
    ENTRY_COLUMNS,
    ENTRY_FIELDS,
    account_decimals,
    account_fields,
    account_json,
    account_row,
    entry_fields,
    entry_line,
    entry_row,
    period_calendar,
)
from crestline.ledger.storage.rows import Account

QUESTION = {"k": 3, "item": ["venue"]}


@pytest.fixture
def ledger() -> Ledger:
    books = Ledger.in_memory(Budget(epsilon=1, kind="pure"))
    books.add_analyst("ann", Budget(epsilon="0.8", kind="pure"))
    receipt = books.reserve(repeat_step(BoundedRange("0.1"), 5), question=QUESTION, data_version="1", analyst="ann")
    books.settle(receipt, repeat_step(BoundedRange("0.1"), 3), answer={})
    books.find_answer(QUESTION, "1", analyst="ann")
    with pytest.raises(BudgetExhausted):
        books.reserve(repeat_step(BoundedRange("0.1"), 6), question=QUESTION, analyst="ann")
    return books


def test_every_entry_has_its_charge(ledger: Ledger) -> None:
    rows = [entry_row(entry) for entry in ledger.history()]
    assert [row["kind"] for row in rows] == ["opened", "opened", "reserved", "settled", "answered", "refused"]
    assert [row["charge"] for row in rows[2:]] == [
        "epsilon 0.5, delta 0", "epsilon 0.3, delta 0", "nothing", "refused: epsilon 0.6, delta 0"
    ]  # fmt: skip
    assert all(set(row) == set(ENTRY_COLUMNS) for row in rows)
    assert all(len(entry_fields(entry)) == len(ENTRY_FIELDS) for entry in ledger.history())


def test_people_read_whose_an_entry_is_and_what_was_asked(ledger: Ledger) -> None:
    one = repeat_step(BoundedRange("0.1"), 1)
    ledger.settle(ledger.reserve(one, question=QUESTION, mechanism="LimitedDomain"), one)
    rows = [entry_row(entry) for entry in ledger.history()]
    asked = canonical_json(QUESTION)
    assert [row["whose"] for row in rows] == ["default", *["default / ann"] * 5, "default", "default"]
    assert [row["question"] for row in rows[2:]] == [
        *(asked, "question 3", "question 3", asked),
        *(f"LimitedDomain {asked}", "question 7"),
    ]
    assert [row["sequence"] for row in rows] == list(range(1, 9))
    assert all(len(row["time"]) == len("2026-11-18 10:00:00") and "T" not in row["time"] for row in rows)


@pytest.mark.parametrize("more", [0, 1])
def test_a_long_question_is_cut_to_sixty_letters(ledger: Ledger, more: int) -> None:
    room = 60 - len(canonical_json({"item": [""]}))
    question = {"item": ["x" * (room + more)]}
    ledger.reserve(repeat_step(BoundedRange("0.1"), 1), question=question)
    shown = entry_row(ledger.history()[-1])["question"]
    assert shown == (canonical_json(question)[:59] + "…" if more else canonical_json(question))
    assert len(shown) == 60


def test_programs_read_exact_amounts_and_whole_questions(ledger: Ledger) -> None:
    rows = [dict(zip(ENTRY_FIELDS, entry_fields(entry), strict=True)) for entry in ledger.history()]
    assert [row["analyst"] for row in rows] == ["", *["ann"] * 5]
    assert [row["receipt"] for row in rows] == ["", "", "", 3, 3, ""]
    assert [row["question"] for row in rows] == ["", "", canonical_json(QUESTION), "", "", canonical_json(QUESTION)]
    for row, entry in zip(rows, ledger.history(), strict=True):
        told = next((entry.content[name] for name in ("charge", "requested", "budget") if entry.content.get(name)), "")
        assert row["charge"] == (told and canonical_json(told))
        assert (row["sequence"], row["kind"], row["hash"]) == (entry.sequence, entry.kind, entry.hash)


def test_a_line_holds_all_that_was_hashed(ledger: Ledger) -> None:
    for entry in ledger.history():
        read = json.loads(entry_line(entry))
        assert read.pop("hash") == entry_hash(canonical_json(read)) == entry.hash


def test_every_account_has_the_same_numbers_in_three_forms(ledger: Ledger) -> None:
    for account, used in zip(ledger.accounts, (0.3, 0.375), strict=True):
        assert account_json(account)["used"] == used
        assert account_row(account)["used"] == f"{used:.1%}"
        assert set(account_row(account)) == set(ACCOUNT_COLUMNS)
        for line in account_fields(account):
            read = dict(zip(ACCOUNT_FIELDS, line, strict=True))
            assert read["settled"] == account_json(account)["settled"][read["unit"]]


def test_programs_get_decimals_with_the_exact_numbers_beside_them(ledger: Ledger) -> None:
    for account in ledger.accounts:
        exact, decimals = account_json(account), account_decimals(account)
        assert decimals["exact"] == {name: exact[name] for name in ("budget", "settled", "held", "remaining")}
        for name in ("settled", "held", "remaining"):
            assert decimals[name] == {unit: float(Fraction(text)) for unit, text in exact[name].items()}
        assert {name: decimals[name] for name in ("used", "left_epsilon")} == {
            name: exact[name] for name in ("used", "left_epsilon")
        }
    assert decimals["budget"] == {"kind": "pure", "epsilon": 0.8, "delta": 0.0}
    capped = Budget(1, "1e-6", per="month", time="day", cap=Window(12, 4, "1e-6"))
    budget = account_decimals(Account("default", None, Balance.open_account(capped)))["budget"]
    assert budget["cap"] == {"periods": 12, "kind": "zcdp", "epsilon": 4.0, "delta": 1e-6}


def test_people_read_what_is_used_and_what_is_left(ledger: Ledger) -> None:
    whole, ann = (account_row(account) for account in ledger.accounts)
    assert whole == {
        "whose": "default",
        "budget": "epsilon 1\ndelta 0 (pure)",
        "used": "30.0%",
        "left": "70.0%, worth\nepsilon 0.7",
        "pays": "7 usual\nquestions",
    }
    assert (ann["whose"], ann["used"], ann["left"]) == ("default / ann", "37.5%", "62.5%, worth\nepsilon 0.5")


def test_an_account_is_called_by_its_data_set_its_analyst_and_its_periods() -> None:
    nothing = Balance.open_account(Budget(epsilon=1, kind="pure"))
    made = {
        "the budget of data set 'shop'": Account("shop", None, nothing),
        "the budget of 'ann' for data set 'shop'": Account("shop", "ann", nothing),
        "the budget of data set 'shop' in 2026-10": Account("shop", None, nothing, period="2026-10"),
        "the cap on the 2 periods from 2026-10 in the budget of data set 'shop'": Account(
            "shop", None, nothing, period="2026-10", span=2
        ),
    }
    assert [account.title for account in made.values()] == list(made)
    assert [account.period_text for account in made.values()] == ["", "", "2026-10", "the 2 periods from 2026-10"]


def test_a_calendar_has_a_cell_for_each_period_and_none_for_windows() -> None:
    budget = Budget(epsilon=10, kind="pure", per="month", time="day")
    one = budget.measure(repeat_step(BoundedRange("0.1"), 10))
    nothing = Balance.open_account(budget)
    balances = [nothing, Balance(budget, one, nothing.held), Balance(budget, one * 2, one * 3)]
    labels = ("2026-11", "2026-12", "2027-01")
    periods = [Account("default", None, balance, period=label) for label, balance in zip(labels, balances, strict=True)]
    others = [Account("default", None, nothing, period="2027-02", span=span) for span in (2, 3)]
    assert period_calendar([Account("default", None, nothing), *periods, *others]) == (
        ["", "01", "11", "12"],
        [["2026", "", "100%", "90%"], ["2027", "50%, 30% reserved", "", ""]],
    )
