"""The store underneath: what concerns all data sets together."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import Table, Update, delete, insert, select, update
from tests.ledger.conftest import EPSILON, Clock, MakeLedger, drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import LedgerError
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage import tables
from crestline.ledger.storage.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two data sets, an analyst under one of them, one reservation in each, and a settled one."""
    path, clock = tmp_path / "ledger.db", Clock()
    with Ledger.create(path, small_budget(), dataset="sales", analysts={"ann": small_budget()}, clock=clock) as sales:
        sales.reserve(drawn(1), analyst="ann")
        sales.settle(sales.reserve(drawn(1)), drawn(1), answer=["a"])
    with Ledger.create(path, small_budget(), dataset="visits", clock=clock) as visits:
        visits.reserve(drawn(2))
    store = Store.open(path, clock, 30.0)
    yield store
    store.close()


def test_everything_of_all_data_sets_or_of_one(store: Store) -> None:
    assert store.datasets() == ["sales", "visits"]
    assert [entry.sequence for entry in store.entries()] == [1, 2, 3, 4, 5, 6, 7]
    assert [entry.sequence for entry in store.entries("visits")] == [6, 7]
    assert [entry.sequence for entry in store.entries(last=2)] == [6, 7]
    assert [entry.sequence for entry in store.entries(analyst="ann")] == [2, 3]
    assert [entry.sequence for entry in store.open_reservations()] == [3, 7]
    assert [entry.sequence for entry in store.open_reservations("sales")] == [3]
    assert [(one.dataset, one.analyst) for one in store.accounts()] == [
        ("sales", None),
        ("sales", "ann"),
        ("visits", None),
    ]
    assert [one.analyst for one in store.accounts("visits")] == [None]
    assert store.read_all_entries(lambda entries: [entry.sequence for entry in entries]) == [1, 2, 3, 4, 5, 6, 7]


def test_entries_by_their_numbers(store: Store) -> None:
    for number in (1, 5, 7):
        entry = store.entry(number)
        assert entry is not None
        assert entry.sequence == number
    assert store.entry(8) is None
    settled = store.settlement(4)
    assert settled is not None
    assert settled.sequence == 5
    assert store.settlement(3) is None


def test_a_checksum_is_the_length_and_the_last_hash(store: Store) -> None:
    assert store.checksum() == f"7:{store.entries()[-1].hash}"
    assert store.verify(store.checksum()).ok


def test_a_data_set_without_a_budget(store: Store) -> None:
    with pytest.raises(LedgerError, match="no budget is open for data set 'other'"):
        store.payers("other", None)


def test_budgets_are_opened_together_or_not_at_all(tmp_path: Path) -> None:
    """The second of two analysts has been answered already: the first gets no budget either."""
    with Ledger.create(tmp_path / "ledger.db", small_budget(), clock=Clock()) as ledger:
        ledger.reserve(drawn(1), analyst="bob")
        with pytest.raises(LedgerError, match="too late"):
            ledger._store.open_accounts("default", {"ann": small_budget(), "bob": small_budget()})
        assert [account.analyst for account in ledger.accounts] == [None]
        assert len(ledger.history()) == 2


def test_a_question_of_another_data_set_does_not_come_too_late(store: Store) -> None:
    """`cid` asked of visits under no budget of their own; under sales they have asked nothing."""
    visits = Ledger(store, "visits")
    visits.reserve(drawn(1), analyst="cid")
    Ledger(store, "sales").add_analyst("cid", small_budget())
    with pytest.raises(LedgerError, match="too late"):
        visits.add_analyst("cid", small_budget())


def test_the_same_budget_again_is_no_other_budget(store: Store) -> None:
    store.ensure_account("sales", small_budget())
    assert [account.analyst for account in store.accounts("sales")] == [None, "ann"]
    store.ensure_account("new", small_budget(3))
    assert store.accounts("new")[0].balance.remaining.loss == Fraction(3, 10)


def test_two_servers_that_make_the_ledger_at_once_wait_for_each_other(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s)", (tables._BUILDING,))
        with pytest.raises(LedgerError, match="another client keeps it locked"):
            Ledger.create(postgres_database, small_budget(), timeout=0.2)
    Ledger.create(postgres_database, small_budget(), timeout=PATIENCE).close()


def test_on_a_server_the_ledger_may_share_a_database(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as owner:
        owner.execute("CREATE TABLE shop (sku TEXT)")
    with Ledger.create(postgres_database, small_budget()) as ledger:
        assert ledger.verify().ok


def test_what_is_reserved_and_paid_is_said_of_the_account_whose_remainder_the_asker_sees(
    make_ledger: MakeLedger,
) -> None:
    ledger = make_ledger(Budget(1, 1e-6), analysts={"ann": small_budget()})
    for analyst, units in (("ann", ("epsilon", "delta")), (None, ("rho", "delta"))):
        before = ledger.payers(analyst)[-1].balance.remaining
        receipt = ledger.reserve(drawn(2), analyst=analyst)
        assert receipt.reserved.units == units
        assert ledger.payers(analyst)[-1].balance.remaining == before - receipt.reserved
        paid = ledger.settle(receipt, drawn(1))
        assert ledger.payers(analyst)[-1].balance.remaining == before - paid


def test_where_an_account_was_removed_nothing_is_given_back(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget(), analysts={"ann": small_budget()})
    receipt = ledger.reserve(drawn(5), analyst="ann")
    gone = delete(tables.accounts).where(tables.accounts.c.analyst == "ann")
    ledger._store.database.write(lambda books: books.connection.execute(gone))
    with pytest.raises(LedgerError, match="somebody else has changed it"):
        ledger.settle(receipt, drawn(1))
    assert ledger.spent().loss == 5 * EPSILON
    assert len(ledger.open_reservations()) == 1


def inserted(ledger: Ledger, like: int, **changes: object) -> None:
    """A copy of an entry, written by somebody who goes around the ledger."""
    entry = ledger._store.entry(like)
    row = {**vars(entry), "sequence": 1000, **changes}
    ledger._store.database.write(lambda books: books.connection.execute(insert(tables.entries), row))


def test_the_database_refuses_a_second_settlement_and_no_second_service(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    ledger.settle(ledger.reserve(drawn(1), question={"k": 1}, data_version="v1"), drawn(1), answer=["a"])
    for _ in range(2):
        assert ledger.find_answer({"k": 1}, "v1") is not None
    with pytest.raises(LedgerError):
        inserted(ledger, 3)
    inserted(ledger, 4)


@pytest.mark.parametrize(
    ("table", "needed", "optional"),
    [
        (tables.chain_head, ("id", "version", "length", "head"), ()),
        (tables.accounts, ("dataset", "analyst", "budget", "settled", "held"), ("user_column",)),
        (
            tables.entries,
            ("sequence", "kind", "dataset", "body", "hash"),
            ("analyst", "receipt", "answer_key", "number", "request"),
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_must_be_there_is_asked_for_by_the_database(
    make_ledger: MakeLedger, table: Table, needed: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    assert {column.name for column in table.columns} == {*needed, *optional}
    ledger = make_ledger(small_budget())
    for name in (*needed, *optional):
        empty = update(table).values({name: None})

        def write(empty: Update = empty) -> None:
            ledger._store.database.write(lambda books: books.connection.execute(empty))

        if name in optional:
            write()
        else:
            with pytest.raises(LedgerError):
                write()


def test_no_key_is_used_twice(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(small_budget())
    for table in (tables.chain_head, tables.accounts, tables.entries):
        rows = ledger._store.database.read(lambda c, table=table: c.execute(select(table)).mappings().all())
        with pytest.raises(LedgerError):
            ledger._store.database.write(
                lambda books, table=table, row=dict(rows[0]): books.connection.execute(insert(table), row)
            )
