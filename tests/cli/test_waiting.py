"""Ctrl-C on a real `crestline top` whose statement would run for days; and what a terminal is shown meanwhile."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import psycopg
import pytest
from tests.patience import PATIENCE

from crestline.cli.main import run
from crestline.ledger.ledger import Ledger

_HELD = ("--dataset", "slow", "--user", "user")
_DAYS = "from range(1000000) a, range(1000000) b"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    assert run(["ledger", "create", str(path), "--epsilon", "2", "--delta", "1e-7", *_HELD]) == 0
    return path


def held(ledger: Path) -> bool:
    """Whether something is reserved: then the engine has been asked, or is about to be."""
    opened = Ledger.open(ledger)
    try:
        return opened.remaining() != opened.budget.limit
    finally:
        opened.close()


def asked(source: str, ledger: Path, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "crestline", "top", source, "--table", "slow", "--user", "user", "--item", "item"]
    command += ["-k", "3", "--mechanism", "LimitedDomain", "--ledger", str(ledger)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)


def slow_duckdb(folder: Path) -> str:
    with duckdb.connect(folder / "slow.duckdb") as connection:
        connection.execute(f'create view slow as select a.range * 1000000 + b.range as "user", a.range as item {_DAYS}')
    return f"duckdb:///{folder}/slow.duckdb"


def test_duckdb_is_interrupted_and_the_question_stays_charged(tmp_path: Path, ledger: Path) -> None:
    process = asked(slow_duckdb(tmp_path), ledger)
    while not held(ledger):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert told == "crestline: interrupted; what was reserved stays charged\n"
    assert held(ledger)


def test_a_server_is_told_to_cancel_the_statement(postgres_database: str, ledger: Path) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute(
            'create view slow as select a * 1000000 + b as "user", a as item '
            "from generate_series(1, 1000000) a, generate_series(1, 1000000) b"
        )
        running = "select count(*) from pg_stat_activity where state = 'active' and query like '%slow%group by%'"
        running = running.replace("like", "ilike") + " and pid <> pg_backend_pid()"
        process = asked(postgres_database, ledger)
        while connection.execute(running).fetchone() == (0,):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
        assert (process.returncode, told) == (130, "crestline: interrupted; what was reserved stays charged\n")
        while connection.execute(running).fetchone() != (0,):
            pass  # the server ends what it was told to cancel; if it were not told, this would take days
    assert held(ledger)


def test_a_terminal_shows_the_elapsed_time_and_a_pipe_nothing(tmp_path: Path, ledger: Path) -> None:
    ours, theirs = pty.openpty()
    process = asked(slow_duckdb(tmp_path), ledger, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"0:00:0" not in shown:
        shown += os.read(ours, 4096)
    assert b"The engine counts" in shown
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    os.close(ours)
