"""How many questions a ledger records per second, with one writer and with many.

    python -m benchmarks.ledger_writers [--seconds 5] [--writers 1 8 64] [--ledgers sqlite postgres] [--json FILE]

An operation is a reserve and a settle, each durable when it returns. The writers are threads of one process, as the
questions of a server are, whose operations share commits; and then processes, as servers are. Afterwards the ledger is
verified, and every charge is counted. In the same run and place, two bare writes with fsync show what a durable
operation takes at least that shares nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.servers import empty_database, running_postgres

from benchmarks.ledger import BUDGET, reserve_and_settle, two_fsyncs
from crestline.ledger.ledger import Ledger

SQLITE, POSTGRES = "sqlite", "postgres"
DURABLE = "-c max_connections=150 -c timezone=UTC"
MOST = 1_000_000  # operations of one writer, whatever the clock says
WARM = 2.0  # seconds for all writers to open the ledger


@dataclass(frozen=True)
class Result:
    """One run: operations per second of all writers together, and milliseconds of one operation.

    way    threads of one process, or processes
    """

    ledger: str
    way: str
    writers: int
    seconds: float
    operations: int
    per_second: float
    p50: float
    p99: float


def write(ledger: Ledger, log: Path, number: int, start: float, seconds: float) -> None:
    """One writer: wait for the common start, record until the time is over, keep what each operation took."""
    taken = []
    action = reserve_and_settle(ledger)
    time.sleep(max(0.0, start - time.time()))
    for turn in range(MOST):
        began = time.perf_counter()
        action(number * MOST + turn)
        taken.append(1000 * (time.perf_counter() - began))
        if time.time() > start + seconds:
            break
    log.write_text(json.dumps({"taken": taken, "end": time.time()}))


def in_threads(address: str, folder: Path, writers: int, start: float, seconds: float) -> None:
    with Ledger.open(address, timeout=120) as ledger:
        logs = [folder / f"{number}.json" for number in range(writers)]
        crowd = [
            threading.Thread(target=write, args=(ledger, log, number, start, seconds))
            for number, log in enumerate(logs)
        ]
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()


def in_processes(address: str, folder: Path, writers: int, start: float, seconds: float) -> None:
    children = []
    for number in range(writers):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                with Ledger.open(address, timeout=120) as ledger:
                    write(ledger, folder / f"{number}.json", number, start, seconds)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    failed = [child for child in children if os.waitpid(child, 0)[1] != 0]
    assert not failed, f"{len(failed)} writers failed"


WAYS = {"threads": in_threads, "processes": in_processes}


def measure(kind: str, way: str, address: str, folder: Path, writers: int, seconds: float) -> Result:
    """Start all writers, wait for them, and check the ledger against what they did."""
    Ledger.create(address, BUDGET).close()
    start = time.time() + WARM + writers / 16
    WAYS[way](address, folder, writers, start, seconds)
    logs = [json.loads((folder / f"{number}.json").read_text()) for number in range(writers)]
    taken = [one for log in logs for one in log["taken"]]
    lasted = max(log["end"] for log in logs) - start
    with Ledger.open(address) as ledger:
        assert ledger.verify().ok
        assert sum(entry.kind == "settled" for entry in ledger.history()) == len(taken), "a charge is missing"
        assert ledger.open_reservations() == []
    return result(kind, way, writers, lasted, taken)


def result(kind: str, way: str, writers: int, lasted: float, taken: list[float]) -> Result:
    cuts = statistics.quantiles(taken, n=100) if len(taken) > 1 else taken * 99
    figures = (round(len(taken) / lasted, 1), round(cuts[49], 2), round(cuts[98], 2))
    return Result(kind, way, writers, round(lasted, 2), len(taken), *figures)


def bare(parent: Path | None, seconds: float) -> Result:
    """Two bare writes with fsync, one after the other, until the time is over."""
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        action, taken, start = two_fsyncs(Path(folder)), [], time.perf_counter()
        while time.perf_counter() < start + seconds:
            began = time.perf_counter()
            action(0)
            taken.append(1000 * (time.perf_counter() - began))
        return result("two bare writes with fsync", "alone", 1, time.perf_counter() - start, taken)


def runs(kind: str, writers: list[int], seconds: float, parent: Path | None) -> Iterator[Result]:
    """One result for each way and number of writers, each with a new ledger."""
    with ExitStack() as stack:
        server = stack.enter_context(running_postgres(DURABLE)) if kind == POSTGRES else ""
        for way, many in product(WAYS, writers):
            with ExitStack() as one:
                folder = Path(one.enter_context(tempfile.TemporaryDirectory(dir=parent)))
                address = one.enter_context(empty_database(server)) if server else str(folder / "ledger.db")
                yield measure(kind, way, address, folder, many, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--writers", type=int, nargs="+", default=[1, 8, 64])
    parser.add_argument("--ledgers", nargs="+", choices=[SQLITE, POSTGRES], default=[SQLITE, POSTGRES])
    parser.add_argument("--folder", type=Path, default=None, help="where files go (default: the temporary directory)")
    parser.add_argument("--json", type=Path, default=None, help="also write the figures to this file")
    options = parser.parse_args()
    results = [bare(options.folder, options.seconds)]
    results += [one for kind in options.ledgers for one in runs(kind, options.writers, options.seconds, options.folder)]
    table = Table(title="reserve + settle, both durable", title_justify="left")
    for heading in ("ledger", "as", "writers", "operations", "operations/s", "p50 ms", "p99 ms"):
        table.add_column(heading, justify="left" if heading in ("ledger", "as") else "right")
    for one in results:
        numbers = (one.writers, one.operations, one.per_second, one.p50, one.p99)
        table.add_row(one.ledger, one.way, *map(str, numbers))
    Console(width=100).print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
