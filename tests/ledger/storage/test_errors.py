"""Whatever goes wrong with the database: a clear error, nothing lost, no password shown."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.ledger.conftest import EPSILON, drawn, small_budget
from tests.patience import PATIENCE

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger

# A process in a mount namespace of its own may fill a small file system that nobody else sees.
_NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]
_SMALL = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that other users can enter, too (pytest's own are closed to them)."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    path.chmod(0o755)
    shutil.rmtree(path)


def hostile(place: str, folder: Path, *before: str) -> dict[str, Any]:
    command = [*before, sys.executable, "-m", "tests.ledger.hostile", place, str(folder)]
    done = subprocess.run(command, check=True, timeout=PATIENCE, stdout=subprocess.PIPE, text=True)
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


def can_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*_NAMESPACE, "sh", "-c", _SMALL, str(folder), "true"], capture_output=True).returncode == 0


def nothing_lost(outcome: dict[str, Any]) -> bool:
    """Two items from before, one after, and what was granted in between: all there, and no more."""
    in_between = outcome["granted"] + (outcome["again"] is None)
    spent = Fraction(outcome["spent"]["epsilon"])
    when_full = Fraction(outcome["spent_when_full"]["epsilon"])
    return (
        outcome["reserved"] == in_between
        and when_full == (2 + in_between) * EPSILON
        and spent == (3 + in_between) * EPSILON
        and not outcome["findings"]
    )


@pytest.mark.engines
def test_a_full_disk(folder: Path) -> None:
    if not can_mount(folder):
        pytest.skip("no small file system can be mounted here")
    outcome = hostile("full", folder, *_NAMESPACE, "sh", "-c", _SMALL, str(folder))
    assert "the disk is full; nothing was written and nothing is lost: free some space" in outcome["message"]
    assert nothing_lost(outcome)


@pytest.mark.engines
def test_a_file_that_may_not_grow(folder: Path) -> None:
    outcome = hostile("too-large", folder)
    assert "the disk reports an error (it may be full)" in outcome["message"]
    assert nothing_lost(outcome)


@pytest.mark.engines
def test_a_read_only_file(folder: Path) -> None:
    outcome = hostile("readonly-file", folder)
    assert "cannot be written" in outcome["spend"]
    assert "permissions" in outcome["spend"]
    assert outcome["read"] is None  # to look is allowed
    with Ledger.open(folder / "ledger.db") as ledger:
        assert ledger.spent().loss == 2 * EPSILON


@pytest.mark.engines
def test_an_unreadable_file(folder: Path) -> None:
    outcome = hostile("unreadable", folder)
    assert "cannot be read; check the permissions" in outcome["spend"]
    assert "cannot be read; check the permissions" in outcome["read"]


@pytest.mark.engines
def test_a_read_only_folder(folder: Path) -> None:
    outcome = hostile("readonly-folder", folder)
    assert "permissions" in outcome["spend"]
    assert "permissions" in outcome["read"]


def test_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    Ledger.create(path, small_budget()).close()
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with Ledger.open(path, timeout=0.1) as ledger:
        with pytest.raises(LedgerError, match="another process keeps it locked"):
            ledger.reserve(drawn(1))
        assert ledger.spent().loss == 0
        holder.execute("ROLLBACK")
        holder.close()
        ledger.reserve(drawn(1))
        assert ledger.spent().loss == EPSILON


def test_a_locked_row_on_a_server(postgres_database: str) -> None:
    with Ledger.create(postgres_database, small_budget(), timeout=0.1) as ledger:
        with psycopg.connect(postgres_database) as holder:
            holder.execute("SELECT * FROM crestline_books FOR UPDATE")
            with pytest.raises(LedgerError, match="another client keeps it locked"):
                ledger.reserve(drawn(1))
        ledger.reserve(drawn(1))
        assert ledger.spent().loss == EPSILON


def test_a_directory_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="directory does not exist"):
        Ledger.create(tmp_path / "nowhere" / "ledger.db", small_budget())


def test_a_directory_instead_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="this is a directory"):
        Ledger.create(tmp_path, small_budget())


def test_a_file_that_does_not_exist_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="crestline ledger create"):
        Ledger.open(tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"item,count\n" * 500, b"x", b"SQLite format 3\x00" + bytes(5000)])
def test_a_foreign_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        Ledger.open(path)
    with pytest.raises(LedgerError):
        Ledger.create(path, small_budget())
    assert path.read_bytes() == content


def test_a_foreign_database_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as raw:
        raw.execute("CREATE TABLE sales (sku TEXT)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="a database, but not a ledger"):
        Ledger.open(path)
    with pytest.raises(LedgerError, match="a database, but not a ledger"):
        Ledger.create(path, small_budget())
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.touch()
    with Ledger.create(path, small_budget()) as ledger:
        assert ledger.verify().ok


@pytest.mark.parametrize("address", ["mysql://host/db", "sqlite://", "https://example.org/x", "post gres://x:y:z@:/"])
def test_an_address_of_another_sort(address: str) -> None:
    with pytest.raises(LedgerError, match=r"path or a postgresql|cannot be read"):
        Ledger.open(address)


def test_a_server_that_is_not_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(LedgerError, match="does not answer") as failed:
        Ledger.open(f"postgresql://ann:s3cret@127.0.0.1:{port}/books?password=t0psecret")
    assert "s3cret" not in str(failed.value)
    assert "t0psecret" not in str(failed.value)
    assert failed.value.__cause__ is None


def test_a_wrong_password_and_a_wrong_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute("DROP ROLE IF EXISTS guarded")  # of a run that was killed here
        admin.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
        rules = Path(str(admin.execute("SHOW hba_file").fetchone()[0]))  # type: ignore[index] # SHOW has one row
        before = rules.read_text()
        rules.write_text("host all guarded 127.0.0.1/32 scram-sha-256\n" + before)
        admin.execute("SELECT pg_reload_conf()")
        server = postgres_url.partition("@")[2].rpartition("/")[0]
        try:
            with pytest.raises(LedgerError, match="password: check both") as failed:
                Ledger.open(f"postgresql://guarded:s3cret@{server}/postgres")
            assert "s3cret" not in str(failed.value)
            with pytest.raises(LedgerError, match="no such database"):
                Ledger.open(f"postgresql://postgres@{server}/nowhere")
            with pytest.raises(LedgerError, match="may not read or write"):
                Ledger.create(f"postgresql://guarded:right@{server}/postgres", small_budget())
        finally:
            rules.write_text(before)
            admin.execute("DROP ROLE guarded")
            admin.execute("SELECT pg_reload_conf()")


def test_a_server_that_goes_away_in_between(postgres_url: str, postgres_database: str) -> None:
    with Ledger.create(postgres_database, small_budget()) as ledger:
        ledger.reserve(drawn(1))
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity "  # waits until it is gone
                "WHERE datname = %s AND pid <> pg_backend_pid()",
                (postgres_database.rpartition("/")[2],),
            )
        ledger.reserve(drawn(1))  # a new connection is made
        assert ledger.spent().loss == 2 * EPSILON


def test_a_read_only_server(postgres_database: str) -> None:
    Ledger.create(postgres_database, small_budget()).close()
    with psycopg.connect(postgres_database, autocommit=True) as admin:
        name = postgres_database.rpartition("/")[2]
        admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    with Ledger.open(postgres_database) as ledger:
        with pytest.raises(LedgerError, match="read-only"):
            ledger.reserve(drawn(1))
        assert ledger.spent().loss == 0


def test_a_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path, small_budget(10**4)) as ledger:
        for _ in range(30):
            ledger.reserve(drawn(1), question={"padding": "x" * 1000})
    content = bytearray(path.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="backup"), Ledger.open(path) as ledger:
        ledger.verify()
