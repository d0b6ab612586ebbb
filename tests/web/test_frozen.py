"""A ledger or a warehouse that stands still, with its sockets open: every request ends within its deadline."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from crestline.web.middleware import SETTLING
from tests.servers import Postgres, own_postgres, running_mariadb
from tests.web.processes import DATA, serving, write_service
from tests.web.warehouse import ANALYST, Asker, fill_warehouse, kinds

pytestmark = [pytest.mark.engines, pytest.mark.slow]

SECONDS = 8
LIMITS = f"seconds = {SECONDS}"
# What a loaded machine may add to a deadline: the deadline itself is a few seconds, and without it nothing ever ends.
SLACK = 30.0
AT_ONCE = 10


@contextmanager
def frozen(parent: int) -> Iterator[None]:
    """A server and its processes are stopped, and go on when the context ends."""
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


def process_of_postgres(url: str) -> int:
    with psycopg.connect(url, autocommit=True) as admin:
        row = admin.execute("SELECT setting FROM pg_settings WHERE name = 'data_directory'").fetchone()
    assert row is not None
    return int((Path(row[0]) / "postmaster.pid").read_text().splitlines()[0])


def process_of_mariadb() -> int:
    (process,) = [one for one in _children(os.getpid()) if b"mariadbd" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return process


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
        asker.ask_until_it_is_back("before")
        with frozen(process_of_postgres(postgres.url)):
            found = ask_at_once(asker, "frozen")
            assert {status for status, _ in found} == {503}
            assert max(seconds for _, seconds in found) < SECONDS + SETTLING + SLACK
            assert asker.send("GET", "/healthz")[0] == 200
        assert asker.ask("after")[0] == 200
        server.stop()


def fill_mariadb(url: str) -> str:
    import MySQLdb

    port = int(url.rpartition(":")[2].partition("/")[0])
    rows = [line.split(",") for line in DATA.splitlines()[1:]]
    with closing(MySQLdb.connect(host="127.0.0.1", port=port, user="root", autocommit=True)) as admin:
        cursor = admin.cursor()
        cursor.execute("CREATE DATABASE frozen")
        cursor.execute("CREATE TABLE frozen.loans (user VARCHAR(9), item VARCHAR(9), country VARCHAR(9))")
        cursor.executemany("INSERT INTO frozen.loans VALUES (%s, %s, %s)", rows)
    return f'source = "{url.rpartition("/")[0]}/frozen"\ntable = "loans"'


@pytest.fixture(params=["postgres", "mariadb"])
def warehouse(request: pytest.FixtureRequest) -> Iterator[tuple[str, int]]:
    """The lines of a configuration that name a warehouse, and its process."""
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        yield fill_warehouse(server.url), process_of_postgres(server.url)
        return
    with running_mariadb() as url:
        yield fill_mariadb(url), process_of_mariadb()


def test_a_frozen_warehouse_ends_every_request_in_time_and_charges_none(
    warehouse: tuple[str, int], tmp_path: Path
) -> None:
    (source, process), ledger = warehouse, str(tmp_path / "ledger.db")
    token = write_service(tmp_path, ledger, 10, 1, source=source, limits=LIMITS)[ANALYST]
    with serving(tmp_path / "crestline.toml") as (server,):
        asker = Asker(server.port, token)
        asker.ask_until_it_is_back("before")
        before = kinds(ledger)
        with frozen(process):
            found = ask_at_once(asker, "frozen")
            assert {status for status, _ in found} == {503}
            assert max(seconds for _, seconds in found) < SECONDS + SETTLING + SLACK
        assert kinds(ledger) == before
        asker.ask_until_it_is_back("after")
        server.stop()
