"""The history and the budgets: a page at a time, searched, and no more of the ledger read than is shown."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, insert, select

from crestline.ledger.storage.rows import to_entry
from crestline.ledger.storage.tables import entries
from crestline.web.pages.history import LINES
from tests.web.conftest import Service
from tests.web.pages.conftest import Page, Visit


def long_past(service: Service, questions: int) -> None:
    """So many questions of ann, like one that she really asked; nobody checks the chain here."""
    assert service.top(where="country = 'DE'").status_code == 200
    kinds = ("reserved", "settled")
    database = service.state.store.database
    newest = select(entries).where(entries.c.kind.in_(kinds)).order_by(entries.c.sequence)
    reserved, settled = database.read(lambda connection: connection.execute(newest).mappings().all())[-2:]
    start = int(settled["sequence"])
    rows: list[dict[str, Any]] = []
    for number in range(questions):
        place = start + 1 + 2 * number
        body = reserved["body"].replace("country = 'DE'", f"country = 'N{number}'")
        own = int(reserved["number"]) + 1 + number
        rows.append({**reserved, "sequence": place, "body": body, "number": own})
        rows.append({**settled, "sequence": place + 1, "receipt": place, "number": own})
    database.write(lambda books: books.connection.execute(insert(entries), rows))


def filters(page: Page) -> list[str]:
    """The filters of the questions on a page, from the top."""
    asked = (text for text in page.words if text.startswith("The ") and "where country = '" in text)
    return [text.partition("where country = '")[2].partition("'")[0] for text in asked]


def test_a_long_history_is_read_a_page_at_a_time(
    visit: Visit, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    long_past(service, 5000)
    visit.sign_in("ann")
    read: list[int] = []
    monkeypatch.setattr("crestline.web.pages.pagination.to_entry", lambda row: read.append(1) or to_entry(row))
    first = visit.get("/history")
    assert filters(first) == [f"N{number}" for number in range(4999, 4999 - LINES, -1)]
    assert len(read) == 2 * LINES + 1
    second = visit.get(next(link["href"] for link in first.all("a") if "before=" in link["href"]))
    assert filters(second) == [f"N{number}" for number in range(4999 - LINES, 4999 - 2 * LINES, -1)]
    assert "Back to the newest" in second.text


def test_the_history_is_searched(visit: Visit, service: Service) -> None:
    service.top("bob", k=1, where="country = 'N77'")
    long_past(service, 500)
    visit.sign_in("ann")
    assert filters(visit.get("/history?find=2+title+where+%27N77%27")) == ["N77"]
    many = visit.get("/history?find=country+loans")
    assert len(filters(many)) == LINES
    older = next(link["href"] for link in many.all("a") if "before=" in link["href"])
    assert "find=country" in older
    assert filters(visit.get(older))[0] == f"N{499 - LINES}"
    for nothing in ("100%25", "_", "answer_key", "<b>", "previous"):
        page = visit.get(f"/history?find={nothing}")
        assert filters(page) == []
        assert "Nothing here holds" in page.text
    visit.sign_in("olga")
    assert len(filters(visit.get("/history?find=%27N77%27"))) == 2
    assert len(filters(visit.get("/history?find=%27N77%27+bob"))) == 1


def test_an_analyst_finds_nothing_of_others(visit: Visit, service: Service) -> None:
    service.top("bob", where="country = 'FR'")
    number = service.state.store.database.read(
        lambda connection: connection.execute(select(func.max(entries.c.sequence))).scalar()
    )
    visit.sign_in("ann")
    for path in ("/history", "/history?find=FR", f"/history?before={number}", "/history?find=bob"):
        assert "FR" not in visit.get(path).text.replace("holds “FR”", "")
    assert visit.get("/history?before=nonsense") is not None
    assert visit.status == 422
