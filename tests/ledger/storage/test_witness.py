"""The witness: a ledger that is older than what was told of it is refused, and an honest one never is."""

from __future__ import annotations

import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ledger.conftest import EPSILON, drawn, small_budget
from tests.patience import PATIENCE
from typer.testing import CliRunner

from crestline.cli.main import app
from crestline.errors import LedgerError
from crestline.ledger.entries import GENESIS, entry_hash
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.addresses import open_database
from crestline.ledger.storage.rows import ChainHead
from crestline.ledger.storage.witness import DatabaseWitness, FileWitness, Witness


@pytest.fixture(params=["file", "database"])
def witness(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "witness") if request.param == "file" else f"sqlite:///{tmp_path / 'witness.db'}"


@pytest.fixture
def path(tmp_path: Path, witness: str) -> Path:
    """A ledger with a witness, and a backup of it from before the last question."""
    file = tmp_path / "ledger.db"
    with Ledger.open_or_create(file, small_budget(100), witness=witness) as ledger:
        ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    shutil.copy(file, tmp_path / "backup.db")
    with Ledger.open(file, witness=witness) as ledger:
        ledger.settle(ledger.reserve(drawn(2)), drawn(2))
    return file


def restore(path: Path) -> None:
    for file in path.parent.glob("ledger.db*"):
        file.unlink()
    shutil.copy(path.parent / "backup.db", path)


def test_an_honest_ledger_is_opened_again_and_again(path: Path, witness: str) -> None:
    for _ in range(3):
        with Ledger.open(path, witness=witness) as ledger:
            ledger.settle(ledger.reserve(drawn(1)), drawn(1))
            assert ledger.verify().findings == ()
    assert [entry.kind for entry in ledger._store.entries() if entry.dataset == ""] == ["witnessed"]


def test_a_ledger_has_a_witness_from_the_first_budget_on(tmp_path: Path, witness: str) -> None:
    with Ledger.create(tmp_path / "new.db", small_budget(), witness=witness) as ledger:
        assert [entry.kind for entry in ledger._store.entries()] == ["witnessed", "opened"]
    (tmp_path / "new.db").unlink()
    with pytest.raises(LedgerError, match="witness"):
        Ledger.create(tmp_path / "new.db", small_budget(), witness=witness)


def test_a_restored_backup_is_refused(path: Path, witness: str) -> None:
    restore(path)
    with pytest.raises(LedgerError, match=r"4 entries, and its witness .* knows 6: it is an older copy"):
        Ledger.open(path, witness=witness)


def test_a_restored_backup_that_has_grown_since_is_refused(path: Path, witness: str) -> None:
    restore(path)
    with Ledger.open(path) as unwatched:
        for _ in range(4):
            unwatched.settle(unwatched.reserve(drawn(1)), drawn(1))
    with pytest.raises(LedgerError, match=r"entry 6 is not the one that its witness .* knows"):
        Ledger.open(path, witness=witness)


def test_a_backup_that_is_restored_under_an_open_ledger_is_refused(path: Path, witness: str) -> None:
    with Ledger.open(path, witness=witness) as ledger:
        ledger._store.database._engine.dispose()
        restore(path)
        for charge in (lambda: ledger.reserve(drawn(1)), lambda: ledger.add_analyst("ann", small_budget())):
            with pytest.raises(LedgerError, match="it is an older copy"):
                charge()
        assert len(ledger.history()) == 3


def test_a_missing_witness_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="it has a witness, and there is none at"):
        Ledger.open(path, witness=tmp_path / "another")


def test_entries_that_were_written_without_the_witness_do_no_harm(path: Path, witness: str) -> None:
    with Ledger.open(path) as ledger:
        ledger.settle(ledger.reserve(drawn(1)), drawn(1))
    with Ledger.open(path, witness=witness) as ledger:
        ledger.reserve(drawn(1))
        assert ledger.spent().loss == 5 * EPSILON


@pytest.mark.long
def test_its_owner_accepts_a_restored_backup(path: Path, witness: str) -> None:
    restore(path)
    told = CliRunner().invoke(app, ["ledger", "accept", str(path), witness])
    assert told.exit_code == 0
    assert "The witness knew 6:" in told.stdout
    with Ledger.open(path, witness=witness) as ledger:
        ledger.reserve(drawn(1))
        assert ledger.verify().findings == ()
        accepted = [entry.content for entry in ledger._store.entries() if entry.kind == "witnessed"][-1]
        assert accepted["knew"].startswith("6:")


def test_a_ledger_that_does_not_hold_is_not_accepted(path: Path, witness: str) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE crestline_accounts SET settled = held")
    raw.close()
    told = CliRunner().invoke(app, ["ledger", "accept", str(path), witness])
    assert isinstance(told.exception, LedgerError | SystemExit)
    assert told.exit_code != 0


def test_a_witness_that_lags_behind_is_no_error(path: Path, tmp_path: Path) -> None:
    """As after a crash between the commit and the witness: at every length that it can have."""
    with Ledger.open(path) as ledger:
        entries = ledger._store.entries()
    for known in [ChainHead(0, GENESIS), *(ChainHead(entry.sequence, entry.hash) for entry in entries)]:
        lagging = tmp_path / f"{known.length}"
        FileWitness(lagging).replace(known)
        Ledger.open(path, witness=lagging).close()
        assert FileWitness(lagging).read_head() == ChainHead(entries[-1].sequence, entries[-1].hash)


KILLED = """
import os, signal, sys
from tests.ledger.conftest import drawn
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.witness import FileWitness

ledger = Ledger.open(sys.argv[1], witness=sys.argv[2])
ledger.reserve(drawn(1))
FileWitness.note_head = lambda self, head: os.kill(os.getpid(), signal.SIGKILL)
ledger.reserve(drawn(1))
"""


@pytest.mark.engines
def test_killed_between_the_commit_and_the_witness(tmp_path: Path) -> None:
    path, witness = tmp_path / "ledger.db", tmp_path / "witness"
    Ledger.open_or_create(path, small_budget(), witness=witness).close()
    run = subprocess.run([sys.executable, "-c", KILLED, str(path), str(witness)], timeout=PATIENCE)
    assert run.returncode == -9
    with Ledger.open(path, witness=witness) as ledger:
        assert ledger.spent().loss == 2 * EPSILON
        assert ledger.verify().findings == ()


def test_a_witness_that_cannot_be_written_charges_nothing_and_reports_nothing(tmp_path: Path) -> None:
    path, folder = tmp_path / "ledger.db", tmp_path / "elsewhere"
    folder.mkdir()
    with Ledger.open_or_create(path, small_budget(), witness=folder / "witness") as ledger:
        shutil.rmtree(folder)
        with pytest.raises(LedgerError, match="witness"):
            ledger.reserve(drawn(1))


@pytest.mark.parametrize("kind", ["file", "database"])
def test_it_keeps_the_longer_of_two(tmp_path: Path, kind: str) -> None:
    def opened() -> Witness:
        if kind == "file":
            return FileWitness(tmp_path / "witness")
        return DatabaseWitness(open_database(tmp_path / "w.db", create=True, timeout=PATIENCE), "ledger.db")

    crowd = [
        threading.Thread(
            target=lambda first=first: [opened().note_head(head(length)) for length in range(first, 41, 4)]
        )
        for first in (1, 2, 3, 4)
    ]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert opened().read_head() == head(40)
    opened().note_head(head(7))
    assert opened().read_head() == head(40)
    opened().note_head(ChainHead(40, entry_hash("another")))
    assert opened().read_head() == head(40), "what is as long is no longer"
    opened().replace(head(7))
    assert opened().read_head() == head(7)


def head(length: int) -> ChainHead:
    return ChainHead(length, entry_hash(str(length)))


def test_a_torn_write_leaves_the_checksum_before_it(tmp_path: Path) -> None:
    witness = FileWitness(tmp_path / "witness")
    for length in (1, 2, 3):
        witness.note_head(head(length))
    content = (tmp_path / "witness").read_bytes()
    for torn in range(256, 256 + 130):  # the newest is in the second place
        (tmp_path / "witness").write_bytes(content[:torn])
        assert witness.read_head() == head(2)
    (tmp_path / "witness").write_bytes(b"something else")
    with pytest.raises(LedgerError, match="cannot be read"):
        witness.read_head()


Tamper = Callable[[sqlite3.Connection], object]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE crestline_books SET length = length - 1",
        "UPDATE crestline_books SET head = 'x'",
        "DELETE FROM crestline_entries WHERE sequence = 3",
        "UPDATE crestline_entries SET body = replace(body, '1/10', '0/10') WHERE sequence = 3",
        "UPDATE crestline_entries SET hash = 'x' WHERE sequence = 3",
    ],
)
def test_nothing_is_charged_to_a_ledger_whose_end_was_changed(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path, small_budget()) as ledger:
        ledger.settle(ledger.reserve(drawn(1)), drawn(1))
        with sqlite3.connect(path) as raw:
            raw.execute(statement)
        raw.close()
        with pytest.raises(LedgerError, match="its head row and its last entry do not agree"):
            ledger.reserve(drawn(1))


def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    with Ledger.open_or_create(tmp_path / "ledger.db", small_budget(), witness=tmp_path / "witness") as ledger:
        ledger.reserve(drawn(1))
        files = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert set(files) >= {"ledger.db", "ledger.db-wal", "witness"}
    assert set(files.values()) == {0o600}
