"""Two workers behind one address, as real processes: slow ones are waited for, ended ones replaced."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

import httpx
import pytest

from crestline.config import load_config
from crestline.ledger.entries import Draft
from crestline.ledger.receipt import utc_now
from crestline.ledger.storage.books import Books
from crestline.serving import open_store
from tests.patience import PATIENCE
from tests.web.processes import Server, write_service

pytestmark = [pytest.mark.slow, pytest.mark.engines]

ENTRIES = 100_000
PERIOD, SHARE = 0.1, 0.2  # of every tenth of a second, a fifth on one processor
STALLED = 7.0
"""Seconds, more than the five within which uvicorn's own supervisor wants a sign of life."""


@pytest.fixture
def token(tmp_path: Path) -> str:
    return write_service(tmp_path, "ledger.db", 10.0, 1)["analyst0"]


@pytest.fixture
def server(tmp_path: Path, token: str) -> Iterator[Server]:
    running = Server(tmp_path / "crestline.toml", workers=2)
    try:
        yield running
    finally:
        running.stop()
        running.kill()


def workers_of(server: Server) -> list[int]:
    """The processes that the server has started, but for the one that tracks resources."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                command = (folder / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if parent == server.process.pid and b"spawn_main" in command:
                found.append(int(folder.name))
    return sorted(found)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def started(server: Server, times: int = 2) -> bool:
    return server.log.read_text().count("Application startup complete") >= times


def test_workers_that_are_slow_are_waited_for(server: Server, token: str) -> None:
    wait_until(lambda: len(workers_of(server)) == 2)
    workers = workers_of(server)
    for process in workers:  # while they import
        os.kill(process, signal.SIGSTOP)
    time.sleep(STALLED)
    for process in workers:
        os.kill(process, signal.SIGCONT)
    server.wait_until_ready()
    wait_until(lambda: started(server))
    assert workers_of(server) == workers

    for process in workers:  # while one of them answers a question
        os.kill(process, signal.SIGSTOP)
    end = time.monotonic() + STALLED
    question = {"k": 1, "item": "item", "epsilon": 1, "delta": "1e-6"}
    with httpx.Client(timeout=PATIENCE, headers={"Authorization": f"Bearer {token}"}) as client:
        for process in workers[1:]:
            os.kill(process, signal.SIGCONT)
        url = f"http://127.0.0.1:{server.port}/v1/datasets/loans/top"
        assert client.post(url, json=question).status_code == 200
    time.sleep(max(0.0, end - time.monotonic()))
    for process in workers:
        os.kill(process, signal.SIGCONT)
    assert workers_of(server) == workers


@pytest.mark.full
def test_an_ended_worker_is_replaced_and_when_none_can_start_the_service_ends(server: Server, tmp_path: Path) -> None:
    server.wait_until_ready()
    wait_until(lambda: started(server))
    first, second = workers_of(server)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: started(server, 3))
    assert "ended by SIGKILL" in server.log.read_text()
    (tmp_path / "crestline.toml").write_text("nonsense")
    for process in workers_of(server):
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: server.process.poll() is not None)
    assert server.process.poll() == 4
    assert "did not start" in server.log.read_text()
    assert second not in workers_of(server)


@contextmanager
def slowed_down(server: Server) -> Iterator[None]:
    """The server and its workers have a fifth of one processor together, until the context ends."""
    ended = Event()
    os.sched_setaffinity(server.process.pid, {min(os.sched_getaffinity(0))})  # workers inherit it

    def send_all(number: int) -> None:
        for process in [server.process.pid, *workers_of(server)]:
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def take_turns() -> None:
        while not ended.is_set():
            send_all(signal.SIGCONT)
            ended.wait(PERIOD * SHARE)
            send_all(signal.SIGSTOP)
            ended.wait(PERIOD * (1 - SHARE))
        send_all(signal.SIGCONT)

    turns = Thread(target=take_turns)
    turns.start()
    try:
        yield
    finally:
        ended.set()
        turns.join()


def fill_ledger(folder: Path) -> None:
    store = open_store(load_config(folder / "crestline.toml"))

    def write(books: Books) -> None:
        for number in range(ENTRIES):
            books.post(Draft("session", "", details={"session": str(number)}), utc_now())

    store.database.write(write)
    store.close()


@pytest.mark.full
def test_two_workers_start_at_a_fifth_of_a_processor_and_with_a_long_ledger(tmp_path: Path, token: str) -> None:
    fill_ledger(tmp_path)
    server = Server(tmp_path / "crestline.toml", workers=2)
    try:
        with slowed_down(server):
            server.wait_until_ready()
            wait_until(lambda: started(server))
            assert "ended" not in server.log.read_text()
        assert len(workers_of(server)) == 2
    finally:
        server.stop()
        server.kill()
