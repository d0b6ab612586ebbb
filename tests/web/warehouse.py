"""A service whose warehouse is a PostgreSQL that tests hold up: who asks it, and what its ledger says afterwards."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from typing import Any

import psycopg

from crestline.ledger.ledger import Ledger
from tests.patience import PATIENCE
from tests.web.processes import DATA

ANALYST = "analyst0"
KINDS = ("reserved", "settled", "voided")


def fill_warehouse(url: str) -> str:
    """The data of the service as a table of PostgreSQL; returns the lines of a configuration that name it."""
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute('CREATE TABLE loans ("user" text, item text, country text)')
        with admin.cursor() as cursor, cursor.copy("COPY loans FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(DATA)
    return f'source = "{url}"\ntable = "loans"'


class Asker:
    """One analyst of a running service: every request on a connection of its own."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: str | None = None, key: str = "") -> tuple[int, Any, Any]:
        """The status, the headers and the body of the response."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {**self._headers, **({"Idempotency-Key": key} if key else {})})
            response = connection.getresponse()
            return response.status, response.headers, json.loads(response.read())
        finally:
            connection.close()

    def ask(self, country: str, key: str = "") -> tuple[int, Any, Any]:
        """Ask about a country of this name; the filter is what tells questions apart."""
        asked = {"k": 1, "item": "item", "where": f"country <> '{country}'", "epsilon": "0.5", "delta": "1e-6"}
        return self.send("POST", "/v1/datasets/loans/top", json.dumps(asked), key)

    def ask_until_it_is_back(self, country: str, key: str = "") -> Any:
        """Come back when the service says so, as a patient client does."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status, headers, body = self.ask(country, key)
            if status != 503:
                assert status == 200, body
                return body
            time.sleep(int(headers["Retry-After"]))
        raise TimeoutError("the service never came back")


@contextmanager
def held_up(url: str) -> Iterator[Callable[[], None]]:
    """Nobody can read the table until what is yielded is called, or the context ends."""
    holder = psycopg.connect(url)
    try:
        holder.execute("LOCK TABLE loans IN ACCESS EXCLUSIVE MODE")
        yield holder.rollback
    finally:
        holder.close()  # the server may have gone, and let go of everything


def until(met: Callable[[], bool]) -> None:
    """Return once it is so."""
    end = time.monotonic() + PATIENCE
    while not met():
        assert time.monotonic() < end, "it never came to this"
        time.sleep(0.01)


def backend_waiting(url: str, event: str, sessions: int = 1) -> int:
    """Return once so many sessions of this database wait for a lock of this kind: the process of one of them."""
    waits = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = %s"
    with psycopg.connect(url, autocommit=True) as admin:

        def waiting() -> list[tuple[int]]:
            return admin.execute(waits, (event,)).fetchall()

        until(lambda: len(waiting()) >= sessions)
        return waiting()[0][0]


def kinds(ledger: str) -> Counter[str]:
    """How many entries of each kind there are."""
    with Ledger.open(ledger, dataset="loans") as opened:
        return Counter(entry.kind for entry in opened.history())


def assert_exact(ledger: str, *, settled: int, lost: int = 0) -> None:
    """So many questions were answered, so many more were charged and lost, nothing else was; and everything adds up."""
    with Ledger.open(ledger, dataset="loans") as opened:
        found, left_open = opened.verify(), opened.open_reservations()
        history = opened.history()
    assert found.ok, found.findings
    assert len(left_open) == lost
    reserved, ended, voided = ([entry for entry in history if entry.kind == kind] for kind in KINDS)
    assert len(ended) == settled
    assert len(reserved) == settled + lost + len(voided)
