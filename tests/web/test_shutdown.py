"""The real server: a release in flight when it is told to end is settled, and answered."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from crestline.ledger.ledger import Ledger
from crestline.sources.table import TableSource
from crestline.web.app import create_app
from crestline.web.config import load_config
from crestline.web.state import open_state
from tests.patience import PATIENCE


def test_a_release_in_flight_is_settled(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = open_state(load_config(folder / "crestline.toml"))
    token = state.tokens.create("ann")
    reading, go_on = threading.Event(), threading.Event()
    plain = TableSource.reading

    def slow(self: TableSource, *arguments: Any) -> Any:
        reading.set()
        assert go_on.wait(PATIENCE)
        return plain(self, *arguments)

    monkeypatch.setattr(TableSource, "reading", slow)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(state), ws="none", log_level="critical"))
    running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    running.start()
    answers: list[Any] = []
    body = {"k": 2, "item": "title", "epsilon": 1, "delta": "1e-6"}
    url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1/datasets/loans/top"
    headers = {"Authorization": f"Bearer {token}"}
    asking = threading.Thread(
        target=lambda: answers.append(httpx.post(url, json=body, headers=headers, timeout=PATIENCE))
    )
    asking.start()
    assert reading.wait(PATIENCE)
    server.should_exit = True  # what SIGTERM does
    go_on.set()
    asking.join(PATIENCE)
    running.join(PATIENCE)
    assert answers[0].status_code == 200
    with Ledger.open(folder / "ledger.db", dataset="loans") as ledger:
        assert ledger.open_reservations() == []
        assert ledger.answer(answers[0].json()["id"]) is not None
        assert ledger.verify().ok
