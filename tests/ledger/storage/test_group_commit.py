"""Group commit: those who wait are written together, and to each it is as if it had been written alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError
from tests.ledger.conftest import EPSILON, drawn, small_budget
from tests.patience import PATIENCE

from crestline.deadline import end_within
from crestline.errors import BudgetExhausted, BudgetMismatch, LedgerError
from crestline.ledger.ledger import Ledger
from crestline.ledger.receipt import Receipt
from crestline.ledger.storage.books import Books
from crestline.ledger.storage.database import Database


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.engines)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    server = request.param == "postgres"
    address = request.getfixturevalue("postgres_database") if server else tmp_path / "ledger.db"
    with Ledger.create(address, small_budget(10), user="reader") as made:
        yield made


@pytest.fixture
def database(ledger: Ledger) -> Database:
    return ledger._store.database


class Crowd:
    """Threads that do something each, and what each came to."""

    def __init__(self) -> None:
        self.outcomes: dict[str, object] = {}
        self.threads: list[threading.Thread] = []

    def start(self, name: str, work: Callable[[], object]) -> None:
        def run() -> None:
            try:
                self.outcomes[name] = work()
            except BaseException as error:
                self.outcomes[name] = error

        self.threads.append(threading.Thread(target=run, name=name))
        self.threads[-1].start()

    def join(self) -> dict[str, object]:
        for thread in self.threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        return self.outcomes


@contextmanager
def waiting(database: Database, crowd: Crowd, many: int) -> Iterator[None]:
    """While somebody else writes: `many` operations that are begun inside wait, and are then written together."""
    begun, free = threading.Event(), threading.Event()

    def hold(_: Books) -> None:
        begun.set()
        assert free.wait(PATIENCE)

    crowd.start("first", lambda: database.write(hold))
    assert begun.wait(PATIENCE)
    try:
        yield
        deadline = time.monotonic() + PATIENCE
        while len(database._waiting) < many:
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        free.set()


@pytest.fixture
def batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many operations each transaction had."""
    sizes: list[int] = []
    commit = database._run_batch
    monkeypatch.setattr(database, "_run_batch", lambda batch: (sizes.append(len(batch)), commit(batch))[1])
    return sizes


def test_those_who_wait_share_one_transaction(ledger: Ledger, database: Database, batches: list[int]) -> None:
    crowd = Crowd()
    with waiting(database, crowd, 8):
        for number in range(8):
            crowd.start(f"{number}", lambda: ledger.reserve(drawn(1)))
    receipts = [one for one in crowd.join().values() if isinstance(one, Receipt)]
    assert batches == [1, 8]
    assert sorted(one.number for one in receipts) == list(range(2, 10))
    assert ledger.spent().loss == 8 * EPSILON

    settling = Crowd()
    with waiting(database, settling, 8):
        for receipt in receipts:
            settling.start(f"{receipt.number}", lambda receipt=receipt: ledger.settle(receipt, drawn(1), answer="a"))  # type: ignore[misc] # its own
    settling.join()
    assert batches[2:] == [1, 8]
    assert ledger.open_reservations() == []
    assert ledger.verify().findings == ()


def test_one_that_is_refused_disturbs_no_other(ledger: Ledger, database: Database, batches: list[int]) -> None:
    """Ten items fit: of two who ask for six one is refused, and so is one who asks about others."""
    crowd = Crowd()
    with waiting(database, crowd, 4):
        crowd.start("six", lambda: ledger.reserve(drawn(6)))
        crowd.start("six more", lambda: ledger.reserve(drawn(6)))
        crowd.start("others", lambda: ledger.reserve(drawn(1), question={"user": "branch"}))
        crowd.start("four", lambda: ledger.reserve(drawn(4)))
    kinds = {name: type(outcome) for name, outcome in crowd.join().items()}
    assert batches == [1, 4]
    assert sorted(kinds[name].__name__ for name in ("six", "six more")) == ["BudgetExhausted", "Receipt"]
    assert (kinds["others"], kinds["four"]) == (BudgetMismatch, Receipt)
    assert ledger.remaining().loss == 0
    assert [entry.kind for entry in ledger.history()].count("refused") == 1
    assert ledger.verify().findings == ()


def test_what_fails_halfway_through_an_operation_is_undone(ledger: Ledger, database: Database) -> None:
    """It had appended its entry and changed the balance."""

    def fails(transaction: Any) -> None:
        ledger._store._reserve(transaction, ledger._build_request(), lambda parts: (drawn(3), None))
        raise BudgetMismatch("no")

    crowd = Crowd()
    with waiting(database, crowd, 2):
        crowd.start("fails", lambda: database.write(fails))
        crowd.start("holds", lambda: ledger.reserve(drawn(1)))
    outcomes = crowd.join()
    assert isinstance(outcomes["fails"], BudgetMismatch)
    assert isinstance(outcomes["holds"], Receipt)
    assert ledger.spent().loss == EPSILON
    assert len(ledger.history()) == 2
    assert ledger.verify().findings == ()


@pytest.mark.parametrize("fault", ["SELECT nothing FROM nowhere", None])
def test_what_the_database_refuses_is_the_error_of_one(
    ledger: Ledger, database: Database, batches: list[int], fault: str | None
) -> None:
    def fails(books: Books) -> None:
        if fault is None:
            raise BudgetMismatch("no")
        books.connection.execute(text("UPDATE crestline_accounts SET user_column = 'branch'"))
        books.connection.execute(text(fault))

    crowd = Crowd()
    with waiting(database, crowd, 3):
        crowd.start("before", lambda: ledger.reserve(drawn(1)))
        crowd.start("fails", lambda: database.write(fails))
        crowd.start("after", lambda: ledger.reserve(drawn(2)))
    outcomes = crowd.join()
    assert batches == ([1, 3, 1, 1, 1] if fault else [1, 3])  # together, and then each alone
    assert isinstance(outcomes["fails"], LedgerError if fault else BudgetMismatch)
    assert {type(outcomes["before"]), type(outcomes["after"])} == {Receipt}
    assert (ledger.user, ledger.spent().loss) == ("reader", 3 * EPSILON)
    assert ledger.verify().findings == ()


def test_other_changes_are_written_together_with_charges_in_their_order(ledger: Ledger, database: Database) -> None:
    crowd = Crowd()
    with waiting(database, crowd, 3):
        crowd.start("charge", lambda: ledger.reserve(drawn(1)))
        crowd.start("open", lambda: ledger._store.open_accounts("other", {None: small_budget()}))
        crowd.start("another", lambda: ledger.reserve(drawn(1)))
    assert not [one for one in crowd.join().values() if isinstance(one, BaseException)]
    assert ledger.datasets == ["default", "other"]
    assert ledger.verify().findings == ()


def test_a_commit_that_fails_is_everybodys_failure(
    ledger: Ledger, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd = Crowd()
    with waiting(database, crowd, 3):
        monkeypatch.setattr(database._engine.dialect, "do_commit", broken)
        for number in range(3):
            crowd.start(f"{number}", lambda: ledger.reserve(drawn(1)))
    errors = list(crowd.join().values())
    assert [type(error) for error in errors] == [LedgerError] * 4
    assert len({id(error) for error in errors}) == 4
    monkeypatch.undo()
    assert ledger.spent().loss == 0
    ledger.reserve(drawn(1))
    assert ledger.verify().findings == ()


def broken(_: object) -> None:
    raise OperationalError("", {}, OSError("the disk is gone"))


def test_no_thread_waits_for_ever_when_the_one_that_writes_is_interrupted(ledger: Ledger, database: Database) -> None:
    """Those it wrote for get an error, since it is not known what was written; later ones are served."""
    crowd, turn = Crowd(), iter(range(3))

    def interrupt(_: Books) -> None:
        if next(turn) == 0:
            raise KeyboardInterrupt

    with waiting(database, crowd, 2):
        for name in ("second", "third"):
            crowd.start(name, lambda: database.write(interrupt))
    outcomes = crowd.join()
    assert outcomes.pop("first") is None
    assert {type(one) for one in outcomes.values()} == {KeyboardInterrupt, LedgerError}
    assert isinstance(ledger.reserve(drawn(1)), Receipt)
    assert ledger.verify().findings == ()


def test_sixty_four_threads_never_spend_more_than_there_is(ledger: Ledger) -> None:
    crowd, paid = Crowd(), list[int]()

    def ask(number: int) -> None:
        for turn in range(4):
            try:
                receipt = ledger.reserve(drawn(2), question={"number": number, "turn": turn}, data_version="1")
            except BudgetExhausted:
                continue
            ledger.settle(receipt, drawn(1 + number % 2), answer="a")
            paid.append(1 + number % 2)

    for number in range(64):
        crowd.start(f"{number}", lambda number=number: ask(number))  # type: ignore[misc] # its own
    assert set(crowd.join().values()) == {None}
    assert ledger.spent().loss == sum(paid) * EPSILON <= 10 * EPSILON
    assert ledger.remaining().loss < 2 * EPSILON
    assert ledger.open_reservations() == []
    assert ledger.verify().findings == ()


def test_of_equal_questions_at_once_only_one_is_paid_for(
    ledger: Ledger, database: Database, batches: list[int]
) -> None:
    asking: Any = {"question": {"k": 1}, "data_version": "v1"}
    receipt = ledger.find_or_reserve(drawn(1), **asking)
    assert isinstance(receipt, Receipt)
    crowd = Crowd()
    batches.clear()
    with waiting(database, crowd, 1):
        crowd.start("settle", lambda: ledger.settle(receipt, drawn(1), answer=["a"]))
        while not database._waiting:
            time.sleep(0.001)
        crowd.start("again", lambda: ledger.find_or_reserve(drawn(1), **asking))
        while len(database._waiting) < 2:
            time.sleep(0.001)
    again: Any = crowd.join()["again"]
    assert batches == [1, 2]
    assert again.answer == ["a"]
    assert [entry.kind for entry in ledger.history()] == ["opened", "reserved", "settled", "answered"]
    unusable = ledger.find_or_reserve(drawn(1), usable=lambda answer: answer != ["a"], **asking)
    assert isinstance(unusable, Receipt)
    assert ledger.verify().findings == ()


def test_a_thread_that_is_interrupted_while_it_waits_has_changed_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowd, done = Crowd(), list[str]()
    wait_for = threading.Condition.wait_for

    def interrupted(turn: threading.Condition, ready: Callable[[], bool], timeout: float | None) -> bool:
        if threading.current_thread().name == "interrupted":
            turn.wait(0.01)
            raise KeyboardInterrupt
        return wait_for(turn, ready, timeout)

    monkeypatch.setattr(threading.Condition, "wait_for", interrupted)
    with waiting(database, crowd, 1):
        crowd.start("interrupted", lambda: database.write(lambda _: done.append("interrupted")))
        crowd.threads[-1].join(PATIENCE)
        crowd.start("last", lambda: database.write(lambda _: done.append("last")))
    outcomes = crowd.join()
    assert isinstance(outcomes["interrupted"], KeyboardInterrupt)
    assert (outcomes["first"], outcomes["last"], done) == (None, None, ["last"])


def test_a_thread_that_reaches_its_deadline_while_it_waits_has_changed_nothing(database: Database) -> None:
    crowd, done = Crowd(), list[str]()

    def write_in_time() -> None:
        with end_within(0.05):
            database.write(lambda _: done.append("late"))

    with waiting(database, crowd, 1):
        crowd.start("late", write_in_time)
        crowd.threads[-1].join(PATIENCE)
        crowd.start("last", lambda: database.write(lambda _: done.append("last")))
    outcomes = crowd.join()
    assert isinstance(outcomes["late"], LedgerError)
    assert (outcomes["first"], outcomes["last"], done) == (None, None, ["last"])
