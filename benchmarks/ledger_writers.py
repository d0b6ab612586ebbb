"""How many questions a ledger records per second, with one writer and with many.

    python -m benchmarks.ledger_writers [--seconds 5] [--writers 1 8 64] [--ledgers sqlite postgres] [--json FILE]

An operation is a reserve and a settle, each one durable transaction. Every writer is a process of its own, as servers
are. Afterwards the ledger is verified, and every charge is counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.servers import empty_database, running_postgres

from benchmarks.ledger import BUDGET, reserve_and_settle
from crestline.ledger.ledger import Ledger

SQLITE, POSTGRES = "sqlite", "postgres"
DURABLE = "-c max_connections=150 -c timezone=UTC"
MOST = 1_000_000  # operations of one writer, whatever the clock says
WARM = 2.0  # seconds for all writers to open the ledger


@dataclass(frozen=True)
class Result:
    """One run: operations per second of all writers together, and milliseconds of one operation."""

    ledger: str
    writers: int
    seconds: float
    operations: int
    per_second: float
    p50: float
    p99: float


def write(address: str, log: Path, number: int, start: float, seconds: float) -> None:
    """One writer: wait for the common start, record until the time is over, keep what each operation took."""
    taken = []
    with Ledger.open(address, timeout=120) as ledger:
        action = reserve_and_settle(ledger)
        time.sleep(max(0.0, start - time.time()))
        for turn in range(MOST):
            began = time.perf_counter()
            action(number * MOST + turn)
            taken.append(1000 * (time.perf_counter() - began))
            if time.time() > start + seconds:
                break
    log.write_text(json.dumps({"taken": taken, "end": time.time()}))


def measure(kind: str, address: str, folder: Path, writers: int, seconds: float) -> Result:
    """Start all writers, wait for them, and check the ledger against what they did."""
    Ledger.create(address, BUDGET).close()
    start = time.time() + WARM + writers / 16
    children = []
    for number in range(writers):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                write(address, folder / f"{number}.json", number, start, seconds)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    assert not failed, f"{len(failed)} writers failed"
    logs = [json.loads((folder / f"{number}.json").read_text()) for number in range(writers)]
    taken = [one for log in logs for one in log["taken"]]
    lasted = max(log["end"] for log in logs) - start
    with Ledger.open(address) as ledger:
        assert ledger.verify().ok
        assert sum(entry.kind == "settled" for entry in ledger.history()) == len(taken), "a charge is missing"
        assert ledger.open_reservations() == []
    cuts = statistics.quantiles(taken, n=100) if len(taken) > 1 else taken * 99
    figures = (round(len(taken) / lasted, 1), round(cuts[49], 2), round(cuts[98], 2))
    return Result(kind, writers, round(lasted, 2), len(taken), *figures)


def runs(kind: str, writers: list[int], seconds: float, parent: Path | None) -> Iterator[Result]:
    """One result for each number of writers, each with a new ledger."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres(DURABLE)) if kind == POSTGRES else ""
        for many in writers:
            with ExitStack() as one:
                folder = Path(one.enter_context(tempfile.TemporaryDirectory(dir=parent)))
                address = one.enter_context(empty_database(server)) if server else str(folder / "ledger.db")
                yield measure(kind, address, folder, many, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--ledgers", nargs="+", choices=[SQLITE, POSTGRES], default=[SQLITE, POSTGRES])
    parser.add_argument("--folder", type=Path, default=None, help="where files go (default: the temporary directory)")
    parser.add_argument("--json", type=Path, default=None, help="also write the figures to this file")
    options = parser.parse_args()
    results = [one for kind in options.ledgers for one in runs(kind, options.writers, options.seconds, options.folder)]
    table = Table(title="reserve + settle, both durable", title_justify="left")
    for heading in ("ledger", "writers", "operations", "operations/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="left" if heading == "ledger" else "right")
    for one in results:
        numbers = (one.writers, one.operations, one.per_second, one.p50, one.p99)
        table.add_row(one.ledger, *map(str, numbers))
    Console(width=100).print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
