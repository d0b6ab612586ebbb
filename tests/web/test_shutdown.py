"""A real SIGTERM in every state: what is in flight is settled and answered, and the process ends in the stated time."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import psycopg
import pytest

from crestline.web.middleware import SETTLING
from tests.patience import PATIENCE
from tests.servers import empty_database
from tests.web.processes import Server, serving, write_service
from tests.web.warehouse import (
    ANALYST,
    Asker,
    assert_exact,
    backend_waiting,
    fill_warehouse,
    held_up,
    until,
)

pytestmark = pytest.mark.engines

STALLED = 120  # seconds for which a busy machine may keep a process from running
ENDED = (0, -signal.SIGTERM)  # by itself, or passing the signal on once everything was done


class Service:
    """A running service, its ledger and its warehouse, both in PostgreSQL."""

    def __init__(self, folder: Path, warehouse: str, ledger: str, limits: str = "") -> None:
        self.warehouse, self.ledger = warehouse, ledger
        source = fill_warehouse(warehouse)
        self._token = write_service(folder, ledger, 10, 1, source=source, limits=limits)[ANALYST]

    def asker(self, server: Server) -> Asker:
        return Asker(server.port, self._token)


@pytest.fixture
def ledger(postgres_url: str) -> Iterator[str]:
    with empty_database(postgres_url) as url:
        yield url


def told_to_end(server: Server) -> None:
    """Send the signal, and return once the service has heard it: it listens no more."""
    server.process.send_signal(signal.SIGTERM)
    until(lambda: not _listens(server.port))


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
    except ConnectionError:
        return False
    return True


def ends(server: Server, stated: int) -> int:
    """Its exit code, after the stated time at the latest."""
    return server.process.wait(stated + SETTLING + STALLED)


@contextmanager
def held_commit(ledger: str, kind: str) -> Iterator[None]:
    """Whoever commits an entry of this kind stops in the middle of the commit until the context ends."""
    with psycopg.connect(ledger, autocommit=True) as holder:
        holder.execute(
            "CREATE FUNCTION held() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$"
        )
        holder.execute(
            "CREATE CONSTRAINT TRIGGER held AFTER INSERT ON crestline_entries DEFERRABLE INITIALLY DEFERRED "
            f"FOR EACH ROW WHEN (NEW.kind = '{kind}') EXECUTE FUNCTION held()"
        )
        holder.execute("SELECT pg_advisory_lock(7)")
        yield


def test_idle(tmp_path: Path, postgres_database: str, ledger: str) -> None:
    Service(tmp_path, postgres_database, ledger)
    with serving(tmp_path / "crestline.toml", command=True) as (server,):
        told_to_end(server)
        assert ends(server, 60) in ENDED
    assert_exact(ledger, settled=0)


def test_a_question_that_runs_is_answered_and_one_that_waits_is_refused_at_no_cost(
    tmp_path: Path, postgres_database: str, ledger: str
) -> None:
    service = Service(tmp_path, postgres_database, ledger, "connections = 1\nseconds = 600")
    with serving(tmp_path / "crestline.toml") as (server,), ThreadPoolExecutor(2) as threads:
        asker = service.asker(server)
        with held_up(postgres_database):
            running = threads.submit(asker.ask, "running")
            backend_waiting(postgres_database, "relation")
            waiting = threads.submit(asker.ask, "waiting")
            until(lambda: b'crestline_queue_length{dataset="loans"} 1.0' in metrics(server))
            told_to_end(server)
            status, headers, body = waiting.result(PATIENCE)  # while the other one still runs
            assert (status, body["error"]["code"], headers["Retry-After"]) == (503, "busy", "1")
        assert running.result(PATIENCE)[0] == 200
        assert ends(server, 600) in ENDED
    assert_exact(ledger, settled=1)


def metrics(server: Server) -> bytes:
    connection = HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    connection.request("GET", "/metrics")
    try:
        return connection.getresponse().read()
    finally:
        connection.close()


@pytest.mark.parametrize("kind", ["reserved", "settled"])
def test_in_the_middle_of_a_commit(tmp_path: Path, postgres_database: str, ledger: str, kind: str) -> None:
    service = Service(tmp_path, postgres_database, ledger)
    with serving(tmp_path / "crestline.toml") as (server,), ThreadPoolExecutor(1) as threads:
        with held_commit(ledger, kind):
            asked = threads.submit(service.asker(server).ask, "committing")
            backend_waiting(ledger, "advisory")
            told_to_end(server)
        assert asked.result(PATIENCE)[0] == 200
        assert ends(server, 60) in ENDED
    assert_exact(ledger, settled=1)


def test_clients_that_send_or_read_slowly_do_not_keep_it(tmp_path: Path, postgres_database: str, ledger: str) -> None:
    Service(tmp_path, postgres_database, ledger, "seconds = 1")
    head = b"POST /v1/datasets/loans/top HTTP/1.1\r\nHost: localhost\r\n"
    page = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    sent = (head, head + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{", page * 2000)
    with serving(tmp_path / "crestline.toml") as (server,), ExitStack() as clients:
        for text in sent:
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # nothing of a page is read
            client.connect(("127.0.0.1", server.port))
            client.setblocking(False)
            client.send(text)  # as much of it as the service takes
        client.setblocking(True)
        client.recv(1, socket.MSG_PEEK)  # pages are being sent, far more of them than fit on the way
        told_to_end(server)
        assert ends(server, 1) in ENDED
    assert_exact(ledger, settled=0)


def test_a_warehouse_that_never_answers_does_not_keep_it_and_what_was_sent_stays_charged(
    tmp_path: Path, postgres_database: str, ledger: str
) -> None:
    service = Service(tmp_path, postgres_database, ledger, "seconds = 20")
    with serving(tmp_path / "crestline.toml") as (server,), ThreadPoolExecutor(1) as threads:
        with held_up(postgres_database):
            asked = threads.submit(service.asker(server).ask, "frozen")
            backend = backend_waiting(postgres_database, "relation")
            os.kill(backend, signal.SIGSTOP)
            try:
                told_to_end(server)
                assert ends(server, 20) in ENDED
            finally:
                os.kill(backend, signal.SIGCONT)
        status, _, body = asked.result(PATIENCE)
        assert (status, body["error"]["code"]) == (503, "source_unavailable")
        assert "stays charged" in body["error"]["message"]
    assert_exact(ledger, settled=0, lost=1)


def test_two_workers_end_what_they_have_begun(tmp_path: Path, postgres_database: str, ledger: str) -> None:
    service = Service(tmp_path, postgres_database, ledger, "seconds = 600")
    server = Server(tmp_path / "crestline.toml", workers=2)
    try:
        server.wait_until_ready()
        asker = service.asker(server)
        with ThreadPoolExecutor(4) as threads:
            with held_up(postgres_database):
                asked = [threads.submit(asker.ask, f"running {number}") for number in range(4)]
                backend_waiting(postgres_database, "relation", 4)
                server.process.send_signal(signal.SIGTERM)
            assert [one.result(PATIENCE)[0] for one in asked] == [200] * 4
        assert ends(server, 600) in ENDED
    finally:
        server.kill()
    assert_exact(ledger, settled=4)
