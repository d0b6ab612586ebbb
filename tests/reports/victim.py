"""A process that makes a report and publishes it, killed at random moments; and a check of what another one publishes.

    python -m tests.reports.victim FOLDER KILLS

Prints, as JSON, in how many runs what was left: editions settled, and reserved without an answer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tests.reports.test_report import MONDAY, REPORT, WEEKLY, Clock, rows

from crestline import payment
from crestline.ledger.ledger import Ledger
from crestline.randomness.entropy import system
from crestline.reports import report
from crestline.reports.publish import publish
from crestline.reports.report import run_report
from crestline.sources import open_source

_REPORT = replace(REPORT, question=replace(REPORT.question, k=1, mechanism="LimitedDomain"), ahead=2)
_TABLE = rows()


def run(address: Path, folder: Path) -> int:
    """Make the report in a process of its own, and give its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for module in (payment, report):
                vars(module)["LONGEST_WAIT"] = 0.0  # what is lost is lost: nothing else runs
            with Ledger.open(address, clock=Clock()) as ledger:
                publish(
                    run_report(_REPORT, source=open_source(_TABLE), ledger=ledger, entropy=system()), folder, ledger
                )
            code = 0
            (folder / "modules.json").write_text(
                json.dumps(
                    [
                        name
                        for name in sys.modules
                        if name.startswith(("crestline.", "duckdb", "ibis.", "sqlglot.", "sqlalchemy.", "pyarrow."))
                    ]
                )
            )
        finally:
            os._exit(code)
    return child


def check(address: Path, folder: Path) -> Counter[str]:
    """What a run after a kill published: each settled edition, with its items, and none that was charged twice."""
    published = {one["period"]: one for one in json.loads((folder / "weekly.json").read_text())["editions"]}
    with Ledger.open(address, clock=Clock()) as ledger:
        assert ledger.verify().findings == ()
        entries = ledger.history()
    reserved = {entry.sequence: str(entry.content["data_version"]) for entry in entries if entry.kind == "reserved"}
    assert len(set(reserved.values())) == len(reserved), "charged twice"
    left = Counter[str]()
    for entry in entries:
        if entry.kind == "settled":
            assert entry.receipt is not None
            period = reserved[entry.receipt].rpartition(" ")[2]
            assert published[period]["status"] in ("published", "stopped"), "a settled edition was lost"
            assert published[period]["answer"]["items"] == entry.content["answer"]["items"]
            left["settled"] += 1
    missed = [one for one in published.values() if one["status"] == "missed"]
    assert len(missed) <= 1, "one kill loses one edition at most"
    left["lost before it was answered"] += len(missed)
    return left


def main(folder: Path, kills: int) -> None:
    choice, left, whole = random.Random(kills), Counter[str](), 0.0
    for number in range(kills + 1):  # the first is not killed, and says how long it takes
        address, place = folder / f"{number}.db", folder / str(number)
        Ledger.create(address, WEEKLY, clock=Clock()).close()
        start, child = time.monotonic(), run(address, place)
        if number:
            time.sleep(choice.uniform(0, whole))
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if not number:  # what it has loaded, the others need not load
            loaded = json.loads((place / "modules.json").read_text())
            for name in loaded:
                import_module(name)
            start, child = time.monotonic(), run(address, place)
            os.waitpid(child, 0)
            whole = time.monotonic() - start
        _, status = os.waitpid(run(address, place), 0)
        assert status == 0, "the next run failed"
        left += check(address, place)
    print(json.dumps(left))


if __name__ == "__main__":
    assert MONDAY.weekday() == 0
    main(Path(sys.argv[1]), int(sys.argv[2]))
