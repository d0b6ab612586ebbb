"""Keys are remembered for some days, and forgotten after them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crestline.ledger.storage.store import Store
from crestline.web.requests.idempotency import KeyedRequests, RequestResult
from crestline.web.schema import open_tables


@pytest.mark.engines
def test_a_key_is_forgotten_after_some_days(tmp_path: Path) -> None:
    moment, runs = [datetime(2026, 11, 1, tzinfo=UTC)], []
    address = str(tmp_path / "ledger.db")
    Store.create(address, lambda: moment[0], 5.0).close()
    tables = open_tables(address)
    requests = KeyedRequests(tables, lambda: moment[0], days=3)

    def run() -> RequestResult:
        runs.append(moment[0])
        return RequestResult(200, {"run": len(runs)})

    def ask(key: str) -> object:
        result = requests.run_once("ann", key, "question", run)
        return result.body["run"] if isinstance(result, RequestResult) else result

    assert ask("first") == 1
    moment[0] += timedelta(days=2)
    assert [ask("second"), ask("first")] == [2, 1]
    moment[0] += timedelta(days=1, minutes=1)
    assert [ask("second"), ask("first")] == [2, 3]  # paid for again, and remembered from now on
    tables.close()
