"""Metrics: what is counted, who may read it, and that several workers tell one sum."""

from __future__ import annotations

import re
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from crestline.errors import LedgerError
from crestline.ledger.storage.database import Database
from crestline.web.access.callers import sent_from_this_machine
from tests.patience import PATIENCE
from tests.web.conftest import Service

TOP = "/v1/datasets/{name}/top"


def counted(text: str) -> dict[str, float]:
    """Every sample, by its name and labels."""
    return {name: float(value) for name, value in re.findall(r"^([a-z]\S*) (\S+)$", text, re.MULTILINE)}


@pytest.mark.long
def test_what_is_counted(service: Service) -> None:
    service.top()
    service.top()  # served again
    service.top(item="salary")
    service.get("/v1/answers/77")
    service.client.get("/a/private/path")
    found = counted(service.get("/metrics", "olga").text)
    assert {name: value for name, value in found.items() if "requests_total" in name} == {
        f'crestline_requests_total{{route="{TOP}",status="2xx"}}': 2,
        f'crestline_requests_total{{route="{TOP}",status="4xx"}}': 1,
        'crestline_requests_total{route="/v1/answers/{id}",status="4xx"}': 1,
        'crestline_requests_total{route="other",status="4xx"}': 1,
    }
    outcomes = {name: value for name, value in found.items() if "question_seconds_count" in name}
    assert outcomes == {
        f'crestline_question_seconds_count{{dataset="loans",outcome="{outcome}"}}': 1
        for outcome in ("answered", "stored", "refused")
    }
    assert found['crestline_queue_wait_seconds_count{dataset="loans"}'] == 3
    assert found['crestline_queue_length{dataset="loans"}'] == 0
    assert found['crestline_connections_in_use{dataset="loans"}'] == 0
    assert 0 < found['crestline_budget_left_ratio{dataset="loans"}'] < 1
    assert found['crestline_budget_left_ratio{dataset="secret"}'] == 1
    text = service.get("/metrics", "olga").text
    assert not [word for word in ("salary", "private/path", "Rivers", "ann") if word in text]


@pytest.mark.long
def test_from_outside_only_an_owner_may_read_them(service: Service) -> None:
    assert service.get("/metrics", "olga").status_code == 200
    for who in (None, "ann", "nonsense"):
        assert service.get("/metrics", who).status_code == 403


def test_they_are_there_while_the_ledger_is_away(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*_: Any) -> Any:
        raise LedgerError("the database is gone")

    monkeypatch.setattr("crestline.web.app.sent_from_this_machine", lambda request: True)
    monkeypatch.setattr(Database, "read", lost)
    response = service.client.get("/metrics")
    assert response.status_code == 200
    assert "crestline_budget_left_ratio{" not in response.text


@pytest.mark.parametrize(
    ("address", "headers", "here"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:8000"}, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("127.0.0.1", {"host": "localhost"}, True),
        ("127.0.0.1", {"host": "top.example.org"}, False),  # a proxy that passes the name on
        ("127.0.0.1", {"host": "127.0.0.1", "x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "via": "1.1 proxy"}, False),
        ("127.0.0.1", {}, False),
        ("192.0.2.7", {"host": "127.0.0.1"}, False),
    ],
)
def test_who_is_this_machine_itself(address: str, headers: dict[str, str], here: bool) -> None:
    from starlette.requests import Request

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert sent_from_this_machine(Request({"type": "http", "client": (address, 1), "headers": raw})) is here


WORKER = """
import os, sys
from crestline.web.metrics import Metrics
metrics = Metrics()
metrics.count_response("/healthz", 200)
with metrics.dataset("loans").track_connection():
    if sys.argv[1:]:
        subprocess_text = __import__("subprocess").run([sys.executable, "-c", sys.argv[1]], check=True)
    print(metrics.text())
"""


@pytest.mark.engines
def test_workers_tell_one_sum_and_those_that_ended_use_nothing(tmp_path: Path) -> None:
    """One process counts, starts another that counts and ends, and tells both; what the other used is free again."""
    environment = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", WORKER, WORKER.replace('print(metrics.text())', "os._exit(0)")],
        env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True,
    )  # fmt: skip
    found = counted(done.stdout)
    assert found['crestline_requests_total{route="/healthz",status="2xx"}'] == 2
    assert found['crestline_connections_in_use{dataset="loans"}'] == 1


def metrics_of(port: int) -> dict[str, float]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", "/metrics")
        return counted(connection.getresponse().read().decode())
    finally:
        connection.close()
