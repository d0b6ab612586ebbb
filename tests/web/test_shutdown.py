"""The real server: what is in flight when it is told to end is settled, and answered, whatever it is doing."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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


class Blocked:
    """Something that goes on when it is told to."""

    def __init__(self) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()

    def before(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def slow(*arguments: Any, **named: Any) -> Any:
            self.reached.set()
            assert self.go_on.wait(PATIENCE)
            return plain(*arguments, **named)

        return slow


@pytest.mark.parametrize("state_of_it", ["idle", "waiting", "running", "settling"])
def test_what_is_in_flight_is_settled_and_answered(
    folder: Path, monkeypatch: pytest.MonkeyPatch, state_of_it: str
) -> None:
    config = folder / "crestline.toml"
    config.write_text(config.read_text().replace("[limits]\n", "[limits]\nconnections = 1\n"))
    state = open_state(load_config(config))
    token, blocked = state.tokens.create("ann"), Blocked()
    if state_of_it == "settling":
        monkeypatch.setattr(Ledger, "settlement", blocked.before(Ledger.settlement))
    else:
        monkeypatch.setattr(TableSource, "reading", blocked.before(TableSource.reading))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(state), ws="none", log_level="critical"))
    running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    running.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200

    def ask(k: int) -> httpx.Response:
        body = {"k": k, "item": "title", "epsilon": 1, "delta": "1e-6"}
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.post(f"{url}/v1/datasets/loans/top", json=body, headers=headers, timeout=PATIENCE)

    questions = {"idle": 0, "waiting": 2}.get(state_of_it, 1)
    with ThreadPoolExecutor(2) as askers:
        asked = [askers.submit(ask, k + 1) for k in range(questions)]
        if questions:
            assert blocked.reached.wait(PATIENCE)
        while state.datasets["loans"].queue.length < questions:
            time.sleep(0.005)
        server.should_exit = True  # what SIGTERM does
        blocked.go_on.set()
        answers = [one.result(PATIENCE) for one in asked]
    running.join(PATIENCE)
    assert not running.is_alive()
    assert [one.status_code for one in answers] == [200] * questions
    with Ledger.open(folder / "ledger.db", dataset="loans") as ledger:
        assert ledger.open_reservations() == []
        assert len([entry for entry in ledger.history() if entry.kind == "settled"]) == questions
        assert ledger.verify().ok
