"""A ledger or a warehouse that stands still, with its sockets open: every request ends within its deadline."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from crestline.web.middleware import SETTLING
from tests.servers import Postgres, own_postgres
from tests.web.processes import serving, write_service
from tests.web.warehouse import ANALYST, Asker, fill_warehouse, kinds

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SECONDS = 3
LIMITS = f"seconds = {SECONDS}"
# What a loaded machine may add to a deadline: the deadline itself is a few seconds, and without it nothing ever ends.
SLACK = 30.0
AT_ONCE = 10


@contextmanager
def frozen(postgres: Postgres) -> Iterator[None]:
    """Every process of the server is stopped, and goes on when the context ends."""
    with psycopg.connect(postgres.url, autocommit=True) as admin:
        row = admin.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
    assert row is not None
    parent = int((Path(row[0]) / "postmaster.pid").read_text().splitlines()[0])
    processes = [parent, *_children(parent)]
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, IndexError):
                if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                    found.append(int(folder.name))
    return found


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with own_postgres() as server:
        yield server


def ask_at_once(asker: Asker, name: str) -> list[tuple[int, float]]:
    """The status of each of some questions that are asked at once, and how many seconds it took."""

    def ask(number: int) -> tuple[int, float]:
        begun = time.monotonic()
        return asker.ask(f"{name} {number}", f"{name} {number}" if number % 2 else "")[0], time.monotonic() - begun

    with ThreadPoolExecutor(AT_ONCE) as askers:
        return list(askers.map(ask, range(AT_ONCE)))


def test_a_frozen_ledger_ends_every_request_in_time(postgres: Postgres, tmp_path: Path) -> None:
    token = write_service(tmp_path, postgres.url, 10, 1, limits=LIMITS)[ANALYST]
    with serving(tmp_path / "crestline.toml") as (server,):
        asker = Asker(server.port, token)
        assert asker.ask("before")[0] == 200
        with frozen(postgres):
            found = ask_at_once(asker, "frozen")
            assert {status for status, _ in found} == {503}
            assert max(seconds for _, seconds in found) < SECONDS + SETTLING + SLACK
            assert asker.send("GET", "/healthz")[0] == 200
        assert asker.ask("after")[0] == 200
        server.stop()


def test_a_frozen_warehouse_ends_every_request_in_time_and_charges_none(postgres: Postgres, tmp_path: Path) -> None:
    source, ledger = fill_warehouse(postgres.url), str(tmp_path / "ledger.db")
    token = write_service(tmp_path, ledger, 10, 1, source=source, limits=LIMITS)[ANALYST]
    with serving(tmp_path / "crestline.toml") as (server,):
        asker = Asker(server.port, token)
        assert asker.ask("before")[0] == 200
        before = kinds(ledger)
        with frozen(postgres):
            found = ask_at_once(asker, "frozen")
            assert {status for status, _ in found} == {503}
            assert max(seconds for _, seconds in found) < SECONDS + SETTLING + SLACK
        assert kinds(ledger) == before
        asker.ask_until_it_is_back("after")
        server.stop()
