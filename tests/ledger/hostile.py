"""Places where a ledger cannot be written, each tried in a process of its own. Prints what happened as JSON.

python -m tests.ledger.hostile readonly-file | readonly-folder | full | too-large  FOLDER
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from tests.ledger.conftest import drawn, small_budget

from crestline.errors import LedgerError
from crestline.ledger.ledger import Ledger

_NOBODY = 65534


def attempt(action: Callable[[], object]) -> str | None:
    """The message of the error, or None."""
    try:
        action()
    except LedgerError as error:
        return str(error)
    return None


def books(folder: Path) -> Path:
    path = folder / "ledger.db"
    with Ledger.create(path, small_budget(10**6)) as ledger:
        ledger.settle(ledger.reserve(drawn(3)), drawn(2))
    return path


def forbidden(folder: Path, *, file_mode: int, folder_mode: int) -> dict[str, object]:
    path = books(folder)
    path.chmod(file_mode)
    folder.chmod(folder_mode)
    if os.geteuid() == 0:
        os.setuid(_NOBODY)  # for root, nothing is read-only

    def spend() -> None:
        with Ledger.open(path) as ledger:
            ledger.reserve(drawn(1))

    def read() -> None:
        with Ledger.open(path) as ledger:
            assert ledger.verify().ok

    return {"spend": attempt(spend), "read": attempt(read)}


def run_out_of_room(folder: Path, fill: Callable[[Path], None], relieve: Callable[[], None]) -> dict[str, object]:
    """Spend until there is no room, make room, go on: nothing that was granted may be lost."""
    path = books(folder)
    granted = 0
    with Ledger.open(path) as ledger:
        fill(path)
        message = None
        while message is None and granted < 10**5:
            message = attempt(lambda: ledger.reserve(drawn(1), question={"padding": "x" * 2000}))
            granted += message is None
        again = attempt(lambda: ledger.reserve(drawn(1)))
        readable = ledger.spent().to_json()
        relieve()
        ledger.settle(ledger.reserve(drawn(1)), drawn(1))
        findings = ledger.verify().findings
        after = len(ledger.open_reservations())
    with Ledger.open(path) as ledger:
        assert ledger.verify().findings == findings
        return {
            "message": message,
            "again": again,
            "granted": granted,
            "spent_when_full": readable,
            "reserved": after,
            "findings": findings,
            "spent": ledger.spent().to_json(),
        }


def full(folder: Path) -> dict[str, object]:
    """A file system that another file fills up but for a few pages."""
    filler = folder / "filler"

    def fill(_: Path) -> None:
        room = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
        filler.write_bytes(bytes(max(0, room - 64 * 1024)))

    return run_out_of_room(folder, fill, filler.unlink)


def too_large(folder: Path) -> dict[str, object]:
    """A process that may not make any file larger than it is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(path: Path) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 64 * 1024, before[1]))

    return run_out_of_room(folder, fill, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, before))


_PLACES: dict[str, Callable[[Path], dict[str, object]]] = {
    "unreadable": lambda folder: forbidden(folder, file_mode=0o000, folder_mode=0o777),
    "readonly-file": lambda folder: forbidden(folder, file_mode=0o444, folder_mode=0o777),
    "readonly-folder": lambda folder: forbidden(folder, file_mode=0o444, folder_mode=0o555),
    "full": full,
    "too-large": too_large,
}

if __name__ == "__main__":
    print(json.dumps(_PLACES[sys.argv[1]](Path(sys.argv[2]))))
