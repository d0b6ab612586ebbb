"""The witness: a ledger that is older than what was told of it is refused, and an honest one never is."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
from crestline.ledger.storage.witness import (
    DatabaseWitness,
    FileWitness,
    Witness,
    WitnessError,
    WitnessState,
    open_witness,
)


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
    with Ledger.open(path) as unwatched, unwatched._store.database.without_witness():
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


def test_nothing_is_written_without_the_witness(
    path: Path, tmp_path: Path, witness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path) as ledger:
        entries = len(ledger.history())
        for charge in (lambda: ledger.reserve(drawn(1)), lambda: ledger.add_analyst("ann", small_budget())):
            with pytest.raises(LedgerError, match=r"it has a witness, 'witness(\.db)?', and is not written without it"):
                charge()
        assert len(ledger.history()) == entries
    monkeypatch.setenv("CRESTLINE_WITNESS", witness)
    with Ledger.open(path) as ledger:
        ledger.reserve(drawn(1))


def test_a_program_that_runs_stops_writing_once_there_is_a_witness(tmp_path: Path, witness: str) -> None:
    path = tmp_path / "ledger.db"
    with Ledger.create(path, small_budget(100)) as running:
        running.reserve(drawn(1))
        Ledger.open(path, witness=witness).close()
        with pytest.raises(LedgerError, match="is not written without it"):
            running.reserve(drawn(1))


def test_a_witness_of_another_name_is_refused(path: Path, tmp_path: Path, witness: str) -> None:
    """Two that each know a part would let a backup forget what the other one knows."""
    name = witness.removeprefix("sqlite:///")
    shutil.copy(name, f"{name}.copy")
    with pytest.raises(LedgerError, match="is another one"):
        Ledger.open(path, witness=f"{witness}.copy")


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
        assert accepted["by"].endswith("(command line)")


def test_a_ledger_that_does_not_hold_is_not_accepted(path: Path, witness: str) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE crestline_accounts SET settled = held")
    raw.close()
    told = CliRunner().invoke(app, ["ledger", "accept", str(path), witness])
    assert isinstance(told.exception, LedgerError | SystemExit)
    assert told.exit_code != 0


def test_a_witness_that_lags_behind_is_no_error(path: Path, tmp_path: Path) -> None:
    """As when it comes from a backup of its own: at every length that it can have."""
    with Ledger.open(path) as ledger:
        name = ledger._store.entries()[0].content["name"]
        entries = ledger._store.entries()
    for known in [ChainHead(0, GENESIS), *(ChainHead(entry.sequence, entry.hash) for entry in entries)]:
        folder = tmp_path / f"{known.length}"
        folder.mkdir()
        lagging = FileWitness(folder / name)
        lagging.replace(known)
        Ledger.open(path, witness=folder / name).close()
        assert lagging.read() == both(ChainHead(entries[-1].sequence, entries[-1].hash))


KILLED = """
import os, signal, sys
from tests.ledger.conftest import drawn
from crestline.ledger.ledger import Ledger
from crestline.ledger.storage.witness import FileWitness

ledger = Ledger.open(sys.argv[1], witness=sys.argv[2])
ledger.reserve(drawn(1))
phase = getattr(FileWitness, sys.argv[3])

def killed(self, *heads):
    if sys.argv[4] == "after":
        phase(self, *heads)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(FileWitness, sys.argv[3], killed)
ledger.reserve(drawn(1))
"""


@pytest.mark.engines
@pytest.mark.parametrize(
    ("phase", "when", "charged"), [("announce", "before", 1), ("announce", "after", 1), ("confirm", "before", 2)]
)
def test_killed_between_the_phases(tmp_path: Path, phase: str, when: str, charged: int) -> None:
    path, witness = tmp_path / "ledger.db", tmp_path / "witness"
    Ledger.open_or_create(path, small_budget(), witness=witness).close()
    run = subprocess.run([sys.executable, "-c", KILLED, str(path), str(witness), phase, when], timeout=PATIENCE)
    assert run.returncode == -9
    with Ledger.open(path, witness=witness) as ledger:
        assert ledger.spent().loss == charged * EPSILON
        ledger.reserve(drawn(1))
        assert ledger.spent().loss == (charged + 1) * EPSILON
        assert ledger.verify().findings == ()


def test_a_change_that_was_announced_and_committed_is_not_forgotten(path: Path, witness: str, tmp_path: Path) -> None:
    """The process died before it could confirm; a longer chain that lacks the change is refused all the same."""
    with Ledger.open(path) as ledger:
        entries = ledger._store.entries()
    restore(path)
    known = open_witness(witness, Ledger.open(path)._store.database, 5.0)
    known.replace(ChainHead(4, entries[3].hash))
    known.announce(ChainHead(4, entries[3].hash), ChainHead(6, entries[5].hash))
    with Ledger.open(path, witness=witness) as ledger:  # it may never have been committed
        assert ledger.spent().loss == EPSILON
    with Ledger.open(path) as unwatched, unwatched._store.database.without_witness():
        for _ in range(2):
            unwatched.reserve(drawn(1))
    known.announce(ChainHead(4, entries[3].hash), ChainHead(6, entries[5].hash))
    with pytest.raises(LedgerError, match="entry 6 is not the one"):
        Ledger.open(path, witness=witness)


def test_a_witness_that_can_be_read_and_not_written_charges_nothing(
    path: Path, witness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.open(path, witness=witness) as ledger:
        before, entries = ledger.spent(), len(ledger.history())
        if witness.startswith("sqlite"):
            edit(witness, "CREATE TRIGGER no BEFORE DELETE ON crestline_witness BEGIN SELECT RAISE(ABORT, 'no'); END")
        else:
            monkeypatch.setattr("os.pwrite", refuse_write)
        with pytest.raises(LedgerError, match="nothing is charged without it"):
            ledger.reserve(drawn(1))
        assert ledger.spent() == before
        assert len(ledger.history()) == entries
        assert ledger.verify().findings == ()


def refuse_write(*_: object) -> int:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def edit(witness: str, statement: str) -> None:
    with sqlite3.connect(witness.removeprefix("sqlite:///")) as raw:
        raw.execute(statement)
    raw.close()


@pytest.mark.long
def test_a_locked_witness_refuses_all_who_wait_after_one_wait(
    path: Path, witness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crestline.ledger.storage.witness.LONGEST_WAIT", 0.2)
    with Ledger.open(path, witness=witness) as ledger, locked(witness):
        before, outcomes, started = ledger.spent(), list[str](), time.monotonic()

        def charge() -> None:
            try:
                ledger.reserve(drawn(1))
            except LedgerError as error:
                outcomes.append(str(error))

        crowd = [threading.Thread(target=charge) for _ in range(16)]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join(PATIENCE)
        assert len(outcomes) == 16
        assert all("keeps it locked" in outcome for outcome in outcomes)
        assert ledger.spent() == before
        assert time.monotonic() - started < 16 * 0.2, "they wait together"


@contextmanager
def locked(witness: str) -> Iterator[None]:
    if witness.startswith("sqlite"):
        raw = sqlite3.connect(witness.removeprefix("sqlite:///"), isolation_level=None)
        raw.execute("BEGIN EXCLUSIVE")
        yield
        raw.close()
    else:
        with open(witness, "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def test_a_slow_witness_refuses_before_the_charge(path: Path, witness: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger.open(path, witness=witness) as ledger:
        before = ledger.spent()
        monkeypatch.setattr("crestline.ledger.storage.books.LONGEST_WAIT", 0.0)
        with pytest.raises(LedgerError, match="too slow"):
            ledger.reserve(drawn(1))
        monkeypatch.undo()
        assert ledger.spent() == before
        ledger.reserve(drawn(1))


def test_a_witness_that_fails_between_its_phases_reports_nothing(
    path: Path, witness: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is answered can rely on it: what was not confirmed could be forgotten with a backup."""
    with Ledger.open(path, witness=witness) as ledger:
        for kind in (FileWitness, DatabaseWitness):
            monkeypatch.setattr(kind, "confirm", fail_to_confirm)
        with pytest.raises(LedgerError, match="stays charged"):
            ledger.reserve(drawn(1))
        monkeypatch.undo()
        assert ledger.spent().loss == 4 * EPSILON
        ledger.reserve(drawn(1))


def fail_to_confirm(*_: object) -> None:
    raise WitnessError("witness: it is full; nothing is charged")


def test_the_place_of_a_witness_is_never_taken_from_a_ledger(path: Path, witness: str) -> None:
    with Ledger.open(path) as ledger:
        stated = [entry.content for entry in ledger._store.entries() if entry.kind == "witnessed"]
    assert [one["name"] for one in stated] == [Path(witness).name]
    assert not any(str(path.parent) in str(one) for one in stated)


@pytest.mark.long
def test_the_command_line_names_a_witness(path: Path, witness: str, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("user,item\n" + "".join(f"{n},{n % 2}\n" for n in range(400)))
    asked = ["top", str(tmp_path / "visits.csv"), "--user", "user", "--item", "item", "-k", "1", "--epsilon", "1"]
    asked += ["--ledger", str(path)]
    refused = CliRunner().invoke(app, asked)
    assert "is not written without it" in str(refused.exception)
    restore(path)
    refused = CliRunner().invoke(app, [*asked, "--witness", witness])
    assert "it is an older copy" in str(refused.exception)


@pytest.mark.parametrize("kind", ["file", "database"])
def test_it_keeps_the_longer_of_two(tmp_path: Path, kind: str) -> None:
    def opened() -> Witness:
        if kind == "file":
            return FileWitness(tmp_path / "witness")
        return DatabaseWitness(open_database(tmp_path / "w.db", create=True, timeout=PATIENCE), "ledger.db")

    crowd = [
        threading.Thread(target=lambda first=first: [opened().confirm(head(length)) for length in range(first, 41, 4)])
        for first in (1, 2, 3, 4)
    ]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert opened().read() == both(head(40))
    opened().confirm(head(7))
    assert opened().read() == both(head(40))
    opened().confirm(ChainHead(40, entry_hash("another")))
    assert opened().read() == both(head(40)), "what is as long is no longer"
    opened().announce(head(40), head(42))
    assert opened().read() == WitnessState(head(40), head(42))
    opened().confirm(head(41))
    assert opened().read() == WitnessState(head(41), head(42)), "another has announced since"
    opened().confirm(head(42))
    assert opened().read() == both(head(42))
    opened().replace(head(7))
    assert opened().read() == both(head(7))


def head(length: int) -> ChainHead:
    return ChainHead(length, entry_hash(str(length)))


def both(known: ChainHead) -> WitnessState:
    return WitnessState(known, known)


def test_a_torn_write_leaves_the_state_before_it(tmp_path: Path) -> None:
    witness = FileWitness(tmp_path / "witness")
    for length in (1, 2, 3, 4):
        witness.confirm(head(length))
    content = (tmp_path / "witness").read_bytes()
    for torn in range(512, 512 + 199):  # the newest is in the second place
        (tmp_path / "witness").write_bytes(content[:torn])
        assert witness.read() == both(head(3))
    (tmp_path / "witness").write_bytes(b"something else")
    with pytest.raises(LedgerError, match="cannot be read"):
        witness.read()


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
