"""One user column for everything that is charged to one budget."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.ledger.conftest import MakeLedger, drawn, small_budget

from crestline.errors import BudgetExhausted, BudgetMismatch, ParameterError
from crestline.ledger.balance_rules import check_user, user_of_question
from crestline.ledger.ledger import Ledger


def about(user: str) -> dict[str, str]:
    return {"user": user, "item": "title"}


def test_the_first_question_fixes_the_users(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), dataset="loans")
    assert ledger.user is None
    ledger.reserve(drawn(1), question=about("reader"))
    assert ledger.user == "reader"
    before = ledger.spent(), len(ledger.history())
    with pytest.raises(
        BudgetMismatch, match=r"'loans' is about the users of column 'reader'.* names the column 'branch'"
    ):
        ledger.reserve(drawn(1), question=about("branch"))
    with pytest.raises(BudgetMismatch):
        ledger.reserve_largest(drawn, 3, question=about("branch"))
    assert (ledger.spent(), len(ledger.history())) == before
    ledger.reserve(drawn(1), question=about("reader"))
    assert ledger.verify().ok


def test_a_budget_can_be_opened_for_its_users(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), dataset="loans", user="reader", analysts={"ann": small_budget(3)})
    assert ledger.user == "reader"
    with pytest.raises(BudgetMismatch):
        ledger.reserve(drawn(1), question=about("branch"), analyst="ann")
    ledger.reserve(drawn(1), question=about("reader"), analyst="ann")
    assert [entry.content.get("user") for entry in ledger.history() if entry.kind == "opened"] == ["reader", None]
    assert ledger.verify().ok


def test_a_refused_question_fixes_nothing(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(2))
    with pytest.raises(BudgetExhausted):
        ledger.reserve(drawn(5), question=about("branch"))
    ledger.reserve(drawn(1), question=about("reader"))
    assert ledger.user == "reader"
    assert ledger.verify().ok


def test_a_charge_without_a_user_column_fixes_nothing_and_is_accepted(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    ledger.reserve(drawn(1))
    ledger.reserve(drawn(1), question={"k": 3})
    assert ledger.user is None
    ledger.reserve(drawn(1), question=about("reader"))
    ledger.reserve(drawn(1), question={"k": 3})
    assert ledger.user == "reader"
    assert ledger.verify().ok


def test_every_data_set_has_users_of_its_own(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "ledger.db", small_budget(), dataset="loans") as loans:
        loans.reserve(drawn(1), question=about("reader"))
    with Ledger.create(tmp_path / "ledger.db", small_budget(), dataset="shifts") as shifts:
        shifts.reserve(drawn(1), question=about("clerk"))
        assert shifts.verify().ok
    with Ledger.open(tmp_path / "ledger.db", dataset="loans") as again:
        assert again.user == "reader"
        with pytest.raises(BudgetMismatch):
            again.reserve(drawn(1), question=about("clerk"))


def test_open_or_create_holds_the_users_against_the_ledger(tmp_path: Path) -> None:
    books = tmp_path / "ledger.db"
    Ledger.open_or_create(books, small_budget(), user="reader").close()
    Ledger.open_or_create(books, small_budget(), user="reader").close()
    Ledger.open_or_create(books, small_budget()).close()
    with pytest.raises(BudgetMismatch, match=r"'reader'.*'branch'"):
        Ledger.open_or_create(books, small_budget(), user="branch")


def test_ledgers_that_were_opened_without_users_take_those_of_the_first_question(tmp_path: Path) -> None:
    books = tmp_path / "ledger.db"
    Ledger.create(books, small_budget()).close()
    with (
        Ledger.open_or_create(books, small_budget(), user="reader") as first,
        Ledger.open_or_create(books, small_budget(), user="branch") as second,
    ):
        first.reserve(drawn(1), question=about("reader"))
        with pytest.raises(BudgetMismatch):
            second.reserve(drawn(1), question=about("branch"))
        assert first.verify().ok


def test_of_questions_at_once_the_first_decides_the_unit(make_ledger: MakeLedger) -> None:
    """Eight threads with a column each start at once: one is charged, seven are refused."""
    ledger, start = make_ledger(small_budget()), Barrier(8)

    def ask(number: int) -> bool:
        start.wait()
        try:
            ledger.reserve(drawn(1), question=about(f"column {number}"))
        except BudgetMismatch:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        granted = list(threads.map(ask, range(8)))
    assert sum(granted) == 1
    assert ledger.user == f"column {granted.index(True)}"
    assert ledger.verify().ok


@pytest.mark.parametrize("user", ["", 3])
def test_a_user_column_has_a_name(user: object) -> None:
    with pytest.raises(ParameterError, match="user"):
        Ledger.in_memory(small_budget(), user=user)  # type: ignore[arg-type] # refused


def test_what_a_question_names() -> None:
    assert user_of_question({"user": "reader"}) == "reader"
    for question in (None, {}, {"user": None}, {"user": ""}, {"user": ["a", "b"]}):
        assert user_of_question(question) is None  # type: ignore[arg-type] # whatever JSON there is
    for pinned, wanted in ((None, None), (None, "a"), ("a", None), ("a", "a")):
        check_user("loans", pinned, wanted)
    with pytest.raises(BudgetMismatch):
        check_user("loans", "a", "A")
