"""What pages read of a ledger is found by indexes: a page takes no longer on a ledger of many years."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine

from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.store import Store
from crestline.web.pages.pagination import HistoryReader

Sent = list[tuple[str, Any]]


@contextmanager
def statements() -> Iterator[Sent]:
    """Everything that is sent to a database in the context."""
    sent: Sent = []

    def note(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store.create(str(tmp_path / "ledger.db"), utc_now, 5.0)
    yield made
    made.close()


def plans(store: Store, read: Callable[[], object]) -> list[str]:
    """How SQLite finds the entries that are read, one line for each table or index that it looks into."""
    with statements() as sent:
        read()
    asked = [one for one in sent if "FROM crestline_entries" in one[0]]

    def explained(connection: Connection) -> list[str]:
        steps = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all() for text, values in asked]
        return [str(row[-1]) for plan in steps for row in plan]

    found = store.database.read(explained)
    assert found
    return found


@pytest.mark.parametrize("analyst", ["ann", None])
def test_pages_read_few_entries_of_a_long_ledger(analyst: str | None, store: Store) -> None:
    reader = HistoryReader(store.database, ("orders",), analyst)
    lines = plans(store, lambda: reader.lines(None, 5))
    assert not any("TEMP B-TREE" in line for line in lines)  # in their order, until the page is full
    few = [
        lambda: reader.settlements([1, 2]),
        lambda: reader.entries_by_number([1, 2]),
    ]
    for read in few:
        found = plans(store, read)
        assert all(line.startswith("SEARCH") for line in found), found


def test_endings_are_found_by_their_index(store: Store) -> None:
    for read in (lambda: store.settlement(1), lambda: store.open_reservations()):
        found = plans(store, read)
        assert any("crestline_entries_closed_once" in line for line in found), found
