"""A warehouse that goes down and comes back: asked over HTTP, of a real server process and a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.servers import Postgres, own_postgres
from tests.web.processes import serving, write_service
from tests.web.warehouse import ANALYST, Asker, assert_exact, backend_waiting, fill_warehouse, held_up, kinds

pytestmark = pytest.mark.engines


@pytest.fixture(scope="module")
def warehouse() -> Iterator[tuple[Postgres, str]]:
    with own_postgres() as server:
        yield server, fill_warehouse(server.url)


def test_a_warehouse_that_goes_down_and_comes_back_costs_no_budget(
    warehouse: tuple[Postgres, str], tmp_path: Path
) -> None:
    postgres, source = warehouse
    ledger = str(tmp_path / "ledger.db")
    token = write_service(tmp_path, ledger, 10, 1, source=source)[ANALYST]
    with serving(tmp_path / "crestline.toml") as (server,):
        asker = Asker(server.port, token)
        assert asker.ask("first")[0] == 200
        before = kinds(ledger)
        postgres.stop()
        try:
            for key in ("", "later", "later", ""):  # the first finds a lost connection, the others a broken circuit
                status, headers, body = asker.ask("later", key)
                assert (status, body["error"]["code"]) == (503, "source_unavailable")
                assert "Nothing was charged" in body["error"]["message"]
                assert 1 <= int(headers["Retry-After"]) <= 5
            assert kinds(ledger) == before
            status, _, body = asker.ask("first")
            assert (status, body["stored"]) == (200, True)  # what was paid for is there without a warehouse
            assert [asker.send("GET", path)[0] for path in ("/v1/budget", "/v1/datasets", "/readyz")] == [200] * 3
        finally:
            postgres.start()
        found = asker.ask_until_it_is_back("later", "later")
        assert found["stored"] is False
        assert asker.ask("later", "later")[2] == found  # the key that was refused has paid, once
        server.stop()
    assert_exact(ledger, settled=2)


def test_what_the_warehouse_was_counting_when_it_went_down_stays_charged_and_the_next_question_is_answered(
    warehouse: tuple[Postgres, str], tmp_path: Path
) -> None:
    postgres, source = warehouse
    ledger = str(tmp_path / "ledger.db")
    token = write_service(tmp_path, ledger, 10, 1, source=source)[ANALYST]
    with serving(tmp_path / "crestline.toml") as (server,), ThreadPoolExecutor(1) as another:
        asker = Asker(server.port, token)
        assert asker.ask("first")[0] == 200
        with held_up(postgres.url):
            asked = another.submit(asker.ask, "cut")
            backend_waiting(postgres.url, "relation")
            postgres.stop()
        postgres.start()
        status, _, body = asked.result(PATIENCE)
        assert (status, body["error"]["code"]) == (503, "source_unavailable")
        assert "stays charged" in body["error"]["message"]  # it was sent: nobody knows how far it came
        assert asker.ask_until_it_is_back("next")["stored"] is False
        server.stop()
    assert_exact(ledger, settled=2, lost=1)
