"""What the ledger says to Prometheus: faults, reservations that hang, budgets by period, editions of reports."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from crestline import BoundedRange
from crestline.errors import LedgerError
from crestline.guarantees.cost import repeat_step
from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.database import Database
from tests.web.conftest import Service, started
from tests.web.test_metrics import counted
from tests.web.test_periods import BY_PERIOD, REPORTS, write_months

pytestmark = pytest.mark.long


def gauges(service: Service) -> dict[str, float]:
    return counted(service.get("/metrics", "olga").text)


def test_a_reservation_that_hangs(service: Service) -> None:
    ledger = service.state.datasets["loans"].ledger
    assert gauges(service)['crestline_open_reservations{dataset="loans"}'] == 0
    ledger.reserve(repeat_step(BoundedRange("0.1"), 1), question={"k": 1}, data_version="1", analyst="ann")
    service.state.store._clock = lambda: utc_now() + timedelta(hours=2)
    found = gauges(service)
    assert found['crestline_open_reservations{dataset="loans"}'] == 1
    assert 7200 <= found['crestline_oldest_reservation_seconds{dataset="loans"}'] < 7300


def test_faults_of_the_ledger_and_of_its_witness(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gauges(service)
    assert found["crestline_ledger_damaged"] == 0
    assert {name: value for name, value in found.items() if "not_ready" in name} == {
        'crestline_not_ready{part="ledger"}': 0,
        'crestline_not_ready{part="witness"}': 0,
    }
    assert [value for name, value in found.items() if name.startswith("crestline_build_info{")] == [1]
    assert found["process_resident_memory_bytes"] > 0

    def refused(*_: object) -> None:
        raise LedgerError("witness kept/witness: Permission denied")

    monkeypatch.setattr(Database, "write", refused)
    service.state.readiness._looked = None
    assert gauges(service)['crestline_not_ready{part="witness"}'] == 1


def test_a_ledger_that_was_edited(service: Service) -> None:
    service.top()
    from sqlalchemy import text

    service.state.store.database.write(
        lambda books: books.connection.execute(text('UPDATE crestline_accounts SET settled = \'{"loss": "0"}\''))
    )
    service.state.damage._looked = None
    assert gauges(service)["crestline_ledger_damaged"] == 1


def test_budgets_by_period_and_editions(tmp_path: Path) -> None:
    write_months(tmp_path)
    (tmp_path / "crestline.toml").write_text(BY_PERIOD + REPORTS)
    with started(tmp_path) as service:
        before = gauges(service)
        due = before['crestline_report_editions{report="weekly",state="due"}']
        assert due >= 1
        assert before['crestline_report_editions{report="weekly",state="missed"}'] == 0
        assert service.top(period="2025-09").status_code == 200
        after = gauges(service)
        assert 0 < after['crestline_period_budget_left_ratio{dataset="loans",period="2025-09"}'] < 1
