"""The Python face: one ledger per connection, one user column per data set, also from several threads."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import crestline as cl
from crestline.errors import BudgetMismatch, LedgerError, ParameterError
from crestline.plan.count_models import read_shape
from crestline.plan.forecast import Simulation
from crestline.plan.plan import plan_for_shape
from crestline.question import Question


@pytest.mark.long
def test_threads_may_share_a_data_set(tmp_path: Path) -> None:
    rows = [f"u{user},{item},{user % 4}" for user in range(2000) for item in ("Rivers", "Bridges")]
    (tmp_path / "loans.csv").write_text("\n".join(["user,item,part", *rows]) + "\n")
    shop = cl.connect(str(tmp_path / "loans.csv"), ledger=tmp_path / "ledger.db")
    loans = shop.dataset("loans", user="user", budget=cl.Budget(epsilon=8, delta=1e-4))

    def ask(number: int) -> cl.Answer:
        return loans.top(k=2, item="item", where=f"part <> '{number}'", epsilon="0.5", delta="1e-7")

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(ask, range(24)))
    assert len({answer.bill.receipt for answer in answers if answer.bill}) == 24  # each was paid for, once
    assert all(set(answer.items) <= {"Rivers", "Bridges"} for answer in answers)
    assert loans.ledger.verify().ok
    assert loans.ledger.open_reservations() == []
    loans.ledger.close()


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text("reader,branch,title\n" + "".join(f"r{user},b{user},Rivers\n" for user in range(500)))
    return path


BUDGET = cl.Budget(epsilon=2, delta="1e-6")


@pytest.mark.parametrize("books", [None, "ledger.db"])
def test_a_data_set_that_is_asked_for_again_has_the_same_budget(loans: Path, books: str | None) -> None:
    shop = cl.connect(str(loans), ledger=books and loans.with_name(books))
    first = shop.dataset("loans", user="reader", budget=BUDGET)
    first.top(k=1, item="title")
    second = shop.dataset("loans", user="reader", budget=BUDGET)
    assert second.remaining == first.remaining != BUDGET.limit
    assert second.top(k=1, item="title").stored
    with pytest.raises(BudgetMismatch, match="never changed"):
        shop.dataset("loans", user="reader", budget=cl.Budget(epsilon=20, delta="1e-6"))
    assert shop.dataset("others", user="reader", budget=BUDGET).remaining == BUDGET.limit


def test_connections_without_a_ledger_have_ledgers_of_their_own(loans: Path) -> None:
    first, second = (cl.connect(str(loans)).dataset("loans", user="reader", budget=BUDGET) for _ in range(2))
    first.top(k=1, item="title")
    assert second.remaining == BUDGET.limit


def test_ledgers_in_memory_that_were_closed_do_not_start_afresh(loans: Path) -> None:
    shop = cl.connect(str(loans))
    shop.dataset("loans", user="reader", budget=BUDGET).ledger.close()
    with pytest.raises(LedgerError):
        shop.dataset("loans", user="reader", budget=BUDGET)


@pytest.mark.parametrize("books", [None, "ledger.db"])
def test_a_data_set_has_one_user_column(loans: Path, books: str | None) -> None:
    shop = cl.connect(str(loans), ledger=books and loans.with_name(books))
    shop.dataset("loans", user="reader", budget=BUDGET)
    with pytest.raises(BudgetMismatch, match=r"about the users of column 'reader'.* names the column 'branch'"):
        shop.dataset("loans", user="branch", budget=BUDGET)


@pytest.mark.long
def test_questions_on_one_ledger_name_one_user_column(loans: Path, tmp_path: Path) -> None:
    ledger = cl.Ledger.create(tmp_path / "ledger.db", BUDGET)
    ask: dict[str, Any] = {"item": "title", "k": 1, "epsilon": "0.1", "delta": "1e-8", "ledger": ledger}
    cl.top_k(loans, user="reader", **ask)
    left = ledger.remaining()
    with pytest.raises(BudgetMismatch, match=r"'reader'.*'branch'"):
        cl.top_k(loans, user="branch", **ask)
    assert ledger.remaining() == left
    assert cl.top_k(loans, user="reader", **ask).stored
    ledger.close()


@pytest.mark.long
def test_a_delta_that_is_not_small_against_the_users_is_warned_of() -> None:
    table = pd.DataFrame({"user": range(300), "item": ["a"] * 300})
    budget = cl.Budget(epsilon=4, delta="1e-3")
    said = "delta is not small against one in 200,000 users: choose 1e-07 or less."
    for users, warned in ((None, False), (100, False), (200_000, True)):
        data = cl.connect(table).dataset("t", user="user", budget=budget, users=users)
        asked: dict[str, Any] = {"k": 1, "item": "item", "epsilon": 1, "delta": "6e-6"}
        price, answer = data.price(**asked), data.top(**asked)
        assert (price.warnings == (said,)) is warned
        assert (f"warning: {said}" in str(price)) is warned
        assert (f"Warning: {said}" in answer.notes) is warned
    with pytest.raises(ParameterError, match="users must be"):
        cl.connect(table).dataset("t", user="user", budget=budget, users=0)


@pytest.mark.long
def test_what_a_user_holds_shows_no_row_no_fraction_and_no_address(tmp_path: Path) -> None:
    table = pd.DataFrame({"user": [f"alice{n}" for n in range(500)], "item": ["Rivers<b>"] * 500})
    data = cl.connect(table).dataset(
        "shop", user="user", budget=cl.Budget(4, "1e-5"), title="Shop & co", words={"item": "books"}
    )
    price, answer = data.price(k=1), data.top(k=1)
    plan = plan_for_shape(
        read_shape("power:1", users=500),
        Question.from_fields({"k": 1, "epsilon": 1, "delta": "1e-6"}),
        Simulation(cl.entropy.replay(1), 2),
        mechanisms=["LimitedDomain"],
        users=500,
    )
    by_url = cl.connect("postgresql://ann:secret@host/shop?password=secret", ledger="postgresql://ann:secret@host/l")
    shown: list[tuple[Any, str]] = [
        (cl.connect(table), "<Connection: pandas DataFrame, ledger in memory>"),
        (cl.connect([tmp_path / "a.csv"]), "<Connection: list, ledger in memory>"),
        (by_url, "<Connection: postgresql://host/shop, ledger postgresql://host/l>"),
        (data, "<Dataset: Shop & co, users of column 'user'>"),
        (data.ledger, "<Ledger: shop, ledger in memory>"),
        (data.ledger.budget, "<Budget: epsilon 4, delta 1e-05 (zcdp)>"),
        (data.remaining, f"<Remaining: {data.remaining}>"),
        (data.ledger.remaining(), f"<Amount: {data.ledger.remaining()}>"),
        (price, f"<Price: {price.charges[0]}>"),
        (plan, f"<Plan: The value of 'item' with the most users: {plan.advice}>"),
        (answer, "<Answer: The book with the most users: 1 of 1.>"),
        (answer.bill, f"<Bill: {answer.bill}>"),
        (answer.question, "<Question: The value of 'item' with the most users>"),
    ]
    for held, expected in shown:
        assert repr(held) == expected
        for text in (repr(held), held._repr_html_()):
            assert not re.search(r"alice|secret|Fraction|0x[0-9a-f]{6}|object at|<b>(?!Shop)", text), text
    assert '<meter max="1" value="0.9' in data._repr_html_()


@pytest.mark.long
def test_a_budget_by_period_shows_what_is_left_of_each() -> None:
    table = pd.DataFrame({"user": [f"u{n}" for n in range(900)], "item": ["a"] * 900, "day": ["2026-01-15"] * 900})
    budget = cl.Budget(4, "1e-5", per="month", time="day")
    data = cl.connect(table).dataset("shop", user="user", budget=budget)
    assert "<meter" not in data._repr_html_()
    data.top(k=1, item="item", period="2026-01", epsilon=1, delta="1e-6")
    assert data._repr_html_().count("<meter") == 1
    assert "</meter> 2026-01: 9" in data._repr_html_()
    assert "Budget epsilon 4" in str(data)
