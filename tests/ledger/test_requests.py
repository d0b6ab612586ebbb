"""What is asked under a key is asked once, by all processes; a question that is being answered is waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.ledger.conftest import EPSILON, drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import BudgetExhausted, LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt, RequestKey, RequestRefused, StoredAnswer

QUESTION = {"item": ["venue"], "k": 5}
KEY = RequestKey("a key", "a question")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """The ledger, as two hosts have opened it."""
    address = tmp_path / "ledger.db" if request.param == "sqlite" else request.getfixturevalue("postgres_database")
    own = {"ann": small_budget(50), "bob": small_budget(50)}
    with Ledger.create(address, small_budget(100), analysts=own) as first, Ledger.open(address) as second:
        yield first, second


def ask(
    ledger: Ledger, analyst: str = "ann", patience: float = 0.0, request: RequestKey | None = KEY, **more: object
) -> StoredAnswer | Receipt:
    asked = {"question": QUESTION, "data_version": "v1", "analyst": analyst, "request": request, **more}
    return ledger.find_or_reserve(drawn(1), patience=patience, **asked)  # type: ignore[arg-type] # as `reserve`


def refusal(ledger: Ledger, request: RequestKey = KEY) -> str:
    with pytest.raises(RequestRefused) as refused:
        ask(ledger, request=request)
    with pytest.raises(RequestRefused) as found:
        ledger.find_request(request)
    assert found.value.why == refused.value.why
    return refused.value.why


def test_a_key_is_reserved_once_by_all_hosts(hosts: tuple[Ledger, Ledger]) -> None:
    first, second = hosts
    receipt = ask(first, data_version=None)
    assert isinstance(receipt, Receipt)
    assert refusal(second) == "unfinished"
    assert refusal(second, RequestKey("a key", "another question")) == "conflict"
    first.settle(receipt, drawn(1), answer=["a"])
    for host in hosts:
        found = ask(host, data_version=None)
        assert isinstance(found, StoredAnswer)
        assert (found.answer, found.number) == (["a"], receipt.number)
        assert host.find_request(KEY) == found
    assert first.spent().loss == EPSILON
    assert first.verify().findings == ()


def test_what_costs_nothing_leaves_the_key_free(hosts: tuple[Ledger, Ledger]) -> None:
    first, second = hosts
    with pytest.raises(BudgetExhausted):
        first.find_or_reserve(drawn(60), question=QUESTION, data_version=None, analyst="ann", request=KEY)
    assert second.find_request(KEY) is None
    receipt = ask(first, data_version=None)
    assert isinstance(receipt, Receipt)
    first.void(receipt)
    assert second.find_request(KEY) is None
    assert isinstance(ask(second, data_version=None), Receipt)


def test_a_cancelled_key_is_never_charged(hosts: tuple[Ledger, Ledger]) -> None:
    first, second = hosts
    assert first._store.cancel_request(KEY.key, "ann") is None
    assert second._store.cancel_request(KEY.key, "ann") is None
    assert refusal(second) == "cancelled"
    assert [entry.kind for entry in first._store.entries()].count("cancelled") == 1
    assert first.verify().findings == ()


def test_a_key_that_was_edited_is_found(hosts: tuple[Ledger, Ledger]) -> None:
    first, _ = hosts
    ask(first)
    statement = "UPDATE crestline_entries SET request = 'another' WHERE request IS NOT NULL"
    first._store.database.write(lambda books: books.connection.exec_driver_sql(statement))
    assert "its columns do not match its text" in first.verify().findings[0]


@pytest.mark.parametrize("request_key", [KEY, None])
def test_the_answer_that_another_host_gives_is_waited_for(
    hosts: tuple[Ledger, Ledger], request_key: RequestKey | None
) -> None:
    first, second = hosts
    receipt = ask(first, request=request_key)
    assert isinstance(receipt, Receipt)
    found: list[object] = []
    waiting = threading.Thread(target=lambda: found.append(ask(second, patience=PATIENCE, request=request_key)))
    waiting.start()
    time.sleep(0.1)
    assert found == []
    other = ask(second, "bob", patience=PATIENCE, request=None)
    assert isinstance(other, Receipt), "another account pays for its own, and does not wait"
    first.settle(receipt, drawn(1), answer=["a"])
    waiting.join(PATIENCE)
    (answer,) = found
    assert isinstance(answer, StoredAnswer)
    assert (answer.answer, answer.number) == (["a"], receipt.number)
    assert first.spent("ann").loss == EPSILON
    assert first.verify().findings == ()


def test_what_is_lost_is_waited_for_in_vain_and_paid_anew(hosts: tuple[Ledger, Ledger]) -> None:
    first, second = hosts
    receipt = ask(first, request=None)
    assert isinstance(receipt, Receipt)
    assert isinstance(ask(second, patience=0.3, request=None), Receipt)
    started = time.monotonic()
    kept = ask(first, patience=0.3, request=None, data_version="v2")
    assert isinstance(kept, Receipt)
    first.note_lost(kept)
    assert isinstance(ask(first, patience=PATIENCE, request=None, data_version="v2"), Receipt)
    assert time.monotonic() - started < PATIENCE, "this process knows that it is lost"


def test_a_reservation_made_ahead_under_a_key_pays(hosts: tuple[Ledger, Ledger]) -> None:
    first, second = hosts
    ahead = {"question": {**QUESTION, "ahead": True}, "data_version": "v1", "analyst": "ann", "request": KEY}
    number = first.reserve_once(drawn(1), **ahead)  # type: ignore[arg-type] # as `reserve`
    assert second.reserve_once(drawn(1), **ahead) == number  # type: ignore[arg-type] # as `reserve`
    assert second.find_request(KEY) is None
    with pytest.raises(LedgerError, match="for another question"):
        ask(second, question={**QUESTION, "k": 6})
    receipt = ask(second)
    assert isinstance(receipt, Receipt)
    assert receipt.number == number
    assert refusal(first) == "unfinished"
    second.settle(receipt, drawn(1), answer=["a"])
    assert isinstance(ask(first), StoredAnswer)
    assert first.spent().loss == EPSILON
    assert first.verify().findings == ()
