"""Nothing is charged to a ledger in which somebody else changed a budget, a balance or an entry."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.ledger.conftest import EPSILON, drawn, small_budget

from crestline.errors import LedgerError
from crestline.ledger.budget import Budget, Window
from crestline.ledger.entries import GENESIS
from crestline.ledger.ledger import Ledger
from crestline.ledger.periods import PeriodCharge
from crestline.ledger.receipt import ReserveOptions
from crestline.ledger.storage import books
from crestline.ledger.storage.books import Balances
from crestline.ledger.storage.rows import ChainHead
from crestline.periods.calendar import Calendar, Periods

CHANGED = "not the one that its last entry states"
MONTHLY = Budget(10, "1e-6", "pure", per="month", time="day", cap=Window(12, 20, "1e-6", "pure"))
REACH = PeriodCharge(Periods.from_labels(Calendar("month", "day"), "2026-09", "2026-10"))
NOTHING = '{"delta":"0/1","epsilon":"0/1"}'

# What somebody with the database open might do: spend less, allow more, forget an account, or ask about others.
EDITS = {
    "settled": f"UPDATE crestline_accounts SET settled = '{NOTHING}'",
    "held": f"UPDATE crestline_accounts SET held = '{NOTHING}' WHERE analyst = ''",
    "one analyst": f"UPDATE crestline_accounts SET settled = '{NOTHING}' WHERE analyst = 'ann'",
    "budget": "UPDATE crestline_accounts SET budget = replace(budget, '1/1', '9/1') WHERE analyst = ''",
    "user": "UPDATE crestline_accounts SET user_column = 'branch'",
    "account": "DELETE FROM crestline_accounts WHERE analyst = 'ann'",
    "period": f"UPDATE crestline_periods SET settled = '{NOTHING}' WHERE span = 1",
    "window": f"UPDATE crestline_periods SET settled = '{NOTHING}' WHERE span = 12",
    "forgotten period": "DELETE FROM crestline_periods WHERE period = '2026-10'",
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    server = request.param == "postgres"
    url: str = request.getfixturevalue("postgres_database") if server else str(tmp_path / "ledger.db")
    with Ledger.create(url, small_budget(), dataset="loans", user="reader", analysts={"ann": small_budget()}) as ledger:
        ledger.settle(ledger.reserve(drawn(2), analyst="ann"), drawn(2))
        ledger.reserve(drawn(1), analyst="ann")
    with Ledger.create(url, MONTHLY, dataset="monthly") as ledger:
        ledger.settle(ledger.reserve(drawn(1), reach=REACH), drawn(1))
    return url


def edit(address: str, *statements: str) -> None:
    if "://" in address:
        with psycopg.connect(address) as connection:
            for statement in statements:
                connection.execute(statement.encode())
        return
    with sqlite3.connect(address) as raw:
        for statement in statements:
            raw.execute(statement)
    raw.close()


def opened(address: str) -> tuple[Ledger, Ledger]:
    return Ledger.open(address, dataset="loans"), Ledger.open(address, dataset="monthly")


@pytest.mark.parametrize("statement", EDITS.values(), ids=EDITS.keys())
def test_a_changed_row_is_noticed_by_the_next_request(address: str, statement: str) -> None:
    edit(address, statement)
    loans, monthly = opened(address)
    with pytest.raises(LedgerError, match=CHANGED):
        loans.reserve(drawn(1), analyst="ann")
    with pytest.raises(LedgerError, match=CHANGED):
        monthly.reserve(drawn(1), reach=REACH)
    assert not loans.verify().ok


@pytest.mark.parametrize("name", EDITS)
def test_a_row_that_is_changed_under_an_open_ledger_is_noticed_before_it_is_charged(address: str, name: str) -> None:
    ledger = opened(address)["period" in name or name == "window"]
    asked = ReserveOptions(analyst="ann") if ledger.dataset == "loans" else ReserveOptions(reach=REACH)
    held = ledger.reserve(drawn(1), **asked)
    edit(address, EDITS[name])
    with pytest.raises(LedgerError, match=CHANGED):
        ledger.reserve(drawn(1), **asked)
    with pytest.raises(LedgerError, match=CHANGED):
        ledger.settle(held, drawn(1))
    with pytest.raises(LedgerError, match=CHANGED):
        ledger.void(held)


def test_a_row_that_is_put_back_as_it_once_was_is_noticed(address: str) -> None:
    """All of it is the ledger's own: only it is of yesterday."""
    with Ledger.open(address, dataset="loans") as ledger:
        before = ledger._store.accounts("loans")[1].balance
        ledger.settle(ledger.reserve(drawn(3), analyst="ann"), drawn(3))
    kept = f'{{"delta":"{before.settled.failure}","epsilon":"{before.settled.loss}"}}'
    edit(address, f"UPDATE crestline_accounts SET settled = '{kept}' WHERE analyst = 'ann'")
    with Ledger.open(address, dataset="loans") as ledger, pytest.raises(LedgerError, match=CHANGED):
        ledger.reserve(drawn(1), analyst="ann")


def test_a_reservation_whose_text_was_changed_is_not_settled(address: str) -> None:
    with Ledger.open(address, dataset="loans") as ledger:
        receipt = ledger.reserve(drawn(2), analyst="ann")
        ledger.reserve(drawn(1), analyst="ann")
        less = f"UPDATE crestline_entries SET body = replace(body, '1/5', '1/50') WHERE sequence = {receipt.number}"
        edit(address, less)
        with pytest.raises(LedgerError, match="was edited"):
            ledger.settle(receipt, drawn(1))
        with pytest.raises(LedgerError, match="was edited"):
            ledger.void(receipt)


def test_a_removed_last_entry_and_a_swapped_witness_are_noticed(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("ledger.db", "other.db")]
    for path in paths:
        with Ledger.open_or_create(path, small_budget(), witness=f"{path}.witness") as ledger:
            ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    with Ledger.open(paths[0], witness=f"{paths[0]}.witness") as ledger:
        shutil.copy(f"{paths[1]}.witness", f"{paths[0]}.witness")
        with pytest.raises(LedgerError, match="is not the one that its witness"):
            ledger.reserve(drawn(1))
    edit(str(paths[1]), "DELETE FROM crestline_entries WHERE sequence = (SELECT max(sequence) FROM crestline_entries)")
    with pytest.raises(LedgerError, match="do not agree"):
        Ledger.open(paths[1], witness=f"{paths[1]}.witness")


def test_changes_by_two_processes_in_turn_are_no_tampering(address: str) -> None:
    first, second = (Ledger.open(address, dataset="loans") for _ in range(2))
    for turn in range(2):
        held = [ledger.reserve(drawn(1), analyst="ann") for ledger in (first, second)]
        second.settle(held[turn % 2], drawn(1))
        first.void(held[1 - turn % 2])
    second.add_analyst("bob", small_budget())
    first.reserve(drawn(1), analyst="bob")
    assert second.spent("ann").loss == 5 * EPSILON
    assert first.verify().ok


def test_the_fingerprint_follows_from_the_rows_alone() -> None:
    rows: dict[Any, Any] = {("a", ""): ("1", None), ("a", "b"): ("2", "x"), ("a", "", "2026-10", 1): ("3", "4")}
    head = ChainHead(0, GENESIS)
    step = Balances.of_rows(head, {})
    for key in reversed(rows):
        step = step.with_rows(head, {key: ("0",)}).with_rows(head, {key: rows[key]})
    assert step.total == Balances.of_rows(head, rows).total
    for key in rows:
        assert Balances.of_rows(head, {**rows, key: ("5", None)}).total != step.total
        assert Balances.of_rows(head, {one: row for one, row in rows.items() if one != key}).total != step.total


def test_only_the_rows_that_another_process_changed_are_read_again(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (Ledger.open(address, dataset="loans") for _ in range(2))
    first.reserve(drawn(1), analyst="ann")
    second.add_analyst("bob", small_budget())
    second.reserve(drawn(1), analyst="bob")
    read: list[tuple[object, ...]] = []
    plain = books.load_rows
    monkeypatch.setattr(books, "load_rows", lambda _, *which: read.append(which) or plain(_, *which))
    first.reserve(drawn(1), analyst="ann")
    assert sorted(read) == [("loans", ""), ("loans", "bob")]


def test_a_row_that_was_changed_while_another_process_wrote_is_noticed(address: str) -> None:
    first, second = (Ledger.open(address, dataset="loans") for _ in range(2))
    first.reserve(drawn(1), analyst="ann")
    second.reserve(drawn(1), analyst="ann")
    edit(address, EDITS["one analyst"])
    with pytest.raises(LedgerError, match=CHANGED):
        first.reserve(drawn(1), analyst="ann")
