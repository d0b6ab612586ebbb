"""Ctrl-C on a real command whose statement would run for days; and what a terminal is shown meanwhile."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import psycopg
import pytest
from tests.patience import PATIENCE

from crestline.cli.main import run
from crestline.cli.progress import show_progress
from crestline.ledger.ledger import Ledger

_HELD = ("--dataset", "slow", "--user", "user")
# Few users and items: a statement that groups many would take all memory of a machine that is slow to interrupt it.
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
    return started(command, stderr)


def started(command: list[str], stderr: int) -> subprocess.Popen[str]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)


def slow_duckdb(folder: Path) -> str:
    with duckdb.connect(folder / "slow.duckdb") as connection:
        connection.execute(f'create view slow as select b.range % 7 as "user", a.range % 5 as item {_DAYS}')
    return f"duckdb:///{folder}/slow.duckdb"


@pytest.mark.engines
def test_duckdb_is_interrupted_and_the_question_stays_charged(tmp_path: Path, ledger: Path) -> None:
    process = asked(slow_duckdb(tmp_path), ledger)
    while not held(ledger):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, told = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert told == "crestline: interrupted; what was reserved stays charged\n"
    assert held(ledger)


def test_a_server_is_asked_to_cancel_the_statement(postgres_database: str, ledger: Path) -> None:
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        connection.execute(
            'create view slow as select b % 7 as "user", a % 5 as item '
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


class Finalised:
    """Ctrl-C is pressed while this is finalised, where Python drops what is raised."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def swallowed() -> None:
    """Ctrl-C is pressed where a driver thinks that it knows better."""
    with contextlib.suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("nobody heard of the interrupt")


@show_progress("The engine counts")
def counted_after(pressed: Callable[[], object]) -> None:
    pressed()
    threading.Event().wait(PATIENCE)
    pytest.fail("the interrupt was lost")


@pytest.mark.parametrize("pressed", [Finalised, swallowed])
def test_an_interrupt_that_is_dropped_comes_again(
    pressed: Callable[[], object], capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGINT), sys.unraisablehook
    with pytest.raises(KeyboardInterrupt):
        counted_after(pressed)
    assert (signal.getsignal(signal.SIGINT), sys.unraisablehook) == before
    assert capfd.readouterr() == ("", "")


def shown_until_interrupted(start: Callable[[int], subprocess.Popen[str]]) -> bytes:
    """What a terminal shows of a command until the elapsed time is there; then Ctrl-C is pressed."""
    ours, theirs = pty.openpty()
    process = start(theirs)
    os.close(theirs)
    shown = b""
    while b"0:00:0" not in shown:
        shown += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    os.close(ours)
    return shown


@pytest.mark.engines
def test_a_terminal_shows_the_elapsed_time_and_a_pipe_nothing(tmp_path: Path, ledger: Path) -> None:
    source = slow_duckdb(tmp_path)
    assert b"The engine counts" in shown_until_interrupted(lambda stderr: asked(source, ledger, stderr))


@pytest.mark.engines
def test_so_it_does_for_every_question_of_a_file(tmp_path: Path, ledger: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"k": 3, "item": "item", "mechanism": "LimitedDomain"}\n')
    command = [sys.executable, "-m", "crestline", "ask", str(tmp_path / "questions.jsonl")]
    command += ["--source", slow_duckdb(tmp_path), "--table", "slow", "--user", "user", "--ledger", str(ledger)]
    shown = shown_until_interrupted(lambda stderr: started(command, stderr))
    assert b"Question 1 of 1: the engine counts" in shown
