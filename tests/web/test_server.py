"""The real server against those who are slow: half-sent requests end, and others are served meanwhile."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn

from crestline.config import load_config
from crestline.web import middleware, server
from crestline.web.app import create_app
from crestline.web.service_state import open_state
from tests.patience import PATIENCE

HEAD = b"POST /v1/datasets/loans/top HTTP/1.1\r\nHost: here\r\n"
BODY = HEAD + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"


@contextmanager
def listening(folder: Path, at_once: int | None = None) -> Iterator[int]:
    state = open_state(load_config(folder / "crestline.toml"))
    here = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        create_app(state), http=server.SlowClientProtocol, ws="none", log_level="critical", limit_concurrency=at_once
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [here]})
    thread.start()
    try:
        yield int(here.getsockname()[1])
    finally:
        running.should_exit = True
        thread.join(PATIENCE)


def connected(port: int, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    connection.sendall(sent)
    return connection


@pytest.mark.parametrize("sent", [b"", b"GET", HEAD])
def test_a_head_that_does_not_come_ends_the_connection(
    folder: Path, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_SEND", 0.05)
    with listening(folder) as port, connected(port, sent) as connection:
        assert connection.recv(1) == b""


def test_a_second_request_on_the_same_connection_must_come_as_well(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_SEND", 0.05)
    with listening(folder) as port, connected(port, b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n") as connection:
        answer = connection.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET /healthz HT")
        while connection.recv(10_000):  # what is left of the first answer
            pass


def test_a_body_that_does_not_come_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware.Middleware.__init__, "__defaults__", (0.05,))
    with listening(folder) as port, connected(port, BODY) as connection:
        assert connection.recv(10_000).startswith(b"HTTP/1.1 4")


@pytest.mark.long
def test_nine_hundred_half_sent_requests_keep_no_other_caller_out(folder: Path) -> None:
    with ExitStack() as held, listening(folder) as port:
        for _ in range(900):
            held.enter_context(connected(port, HEAD))
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).status_code == 200


@pytest.mark.long
def test_idle_connections_of_one_stranger_keep_no_other_caller_out(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SECONDS_TO_SEND", PATIENCE)
    monkeypatch.setattr(server, "IDLE_CONNECTIONS", 20)
    with ExitStack() as held, listening(folder, at_once=40) as port:
        for _ in range(60):
            held.enter_context(connected(port, b""))
        assert httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=PATIENCE).status_code == 200


@pytest.mark.long
def test_no_redirect_repeats_the_host_that_a_request_names(folder: Path) -> None:
    with listening(folder) as port:
        response = httpx.get(f"http://127.0.0.1:{port}/healthz/", headers={"Host": "elsewhere.example"})
        assert response.status_code == 404
        assert "elsewhere" not in str(response.headers)


@pytest.mark.long
def test_sixty_strangers_keep_no_other_caller_out_and_cost_no_slow_hash(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made-up tokens, from sixty connections at once, while an analyst asks."""

    def slow(*_: object, **__: object) -> bytes:
        raise AssertionError("a stranger made the service compute a slow hash")

    state = open_state(load_config(folder / "crestline.toml"))
    token = state.tokens.create("ann")
    state.close()
    monkeypatch.setattr("hashlib.scrypt", slow)
    made_up = {"Authorization": "Bearer cl_aaaaaaaaaaaaa_" + "A" * 43}
    question = {"k": 1, "item": "title", "epsilon": 1, "delta": "1e-6"}
    together = threading.Barrier(61, timeout=PATIENCE)

    with listening(folder) as port, ThreadPoolExecutor(60) as strangers:
        url = f"http://127.0.0.1:{port}/v1/datasets/loans/top"

        def knock() -> set[int]:
            with httpx.Client(timeout=PATIENCE, verify=False) as client:  # no TLS here, so none is set up
                together.wait()
                return {client.post(url, json=question, headers=made_up).status_code for _ in range(5)}

        knocking = [strangers.submit(knock) for _ in range(60)]
        together.wait()
        answer = httpx.post(url, json=question, headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)
        assert {status for one in knocking for status in one.result(PATIENCE)} == {403}
    assert answer.status_code == 200
