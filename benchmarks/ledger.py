"""What a ledger costs: one reserve and one settle, both durable, on SQLite, in memory, and on PostgreSQL if given.

    python -m benchmarks.ledger [--rounds 1000] [--folder .] [--postgres postgresql://…] [--json FILE]

The bound to keep: reserve plus settle on a SQLite file takes less than 5 ms (median). The cost of two bare fsyncs in
the same place is shown beside, since no durable ledger can be quicker. Many writers: `benchmarks.ledger_writers`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from rich.console import Console
from rich.table import Table

from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.ledger.budget import Budget
from crestline.ledger.ledger import Ledger

BOUND = 5.0  # milliseconds
BUDGET = Budget(epsilon=100, delta="1e-3")
QUESTION = {"item": ["venue"], "k": 20, "k_bar": 200, "where": "country = 'DE'", "epsilon": "1/10"}
ANSWER = {"items": [f"item number {place}" for place in range(20)], "stopped": False}
STEP = BoundedRange("0.001")
DELTA = Fraction(1, 10**9)


def times(action: Callable[[int], object], rounds: int) -> list[float]:
    """Milliseconds of each of `rounds` calls, after a few that do not count."""
    for number in range(20):
        action(-number - 1)
    taken = []
    for number in range(rounds):
        start = time.perf_counter()
        action(number)
        taken.append(1000 * (time.perf_counter() - start))
    return taken


def reserve_and_settle(ledger: Ledger, analyst: str | None = None) -> Callable[[int], object]:
    def action(number: int) -> object:
        question = {**QUESTION, "number": number}
        receipt = ledger.reserve(
            repeat_step(STEP, 20, delta=DELTA), question=question, data_version="1", analyst=analyst
        )
        return ledger.settle(receipt, repeat_step(STEP, 14, delta=DELTA), answer=ANSWER)

    return action


def serve_again(ledger: Ledger) -> Callable[[int], object]:
    return lambda number: ledger.find_answer({**QUESTION, "number": 0}, "1")


def two_fsyncs(folder: Path) -> Callable[[int], object]:
    file = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT)

    def action(_: int) -> None:
        for _ in range(2):
            os.write(file, bytes(4096))
            os.fsync(file)

    return action


def measure(folder: Path, rounds: int, postgres: str | None) -> dict[str, list[float]]:
    results = {"two bare writes with fsync": times(two_fsyncs(folder), rounds)}
    with Ledger.create(folder / "ledger.db", BUDGET) as ledger:
        results["SQLite: reserve + settle"] = times(reserve_and_settle(ledger), rounds)
        results["SQLite: stored answer"] = times(serve_again(ledger), rounds)
    with Ledger.create(folder / "nested.db", BUDGET, analysts={"ann": BUDGET}) as ledger:
        results["SQLite: reserve + settle, with analyst"] = times(reserve_and_settle(ledger, "ann"), rounds)
    with Ledger.in_memory(BUDGET) as ledger:
        results["memory: reserve + settle"] = times(reserve_and_settle(ledger), rounds)
    if postgres:
        with Ledger.create(postgres, BUDGET, dataset=f"benchmark {time.time()}") as ledger:
            results["PostgreSQL: reserve + settle"] = times(reserve_and_settle(ledger), rounds)
    return results


def summary(taken: list[float]) -> dict[str, float]:
    """Milliseconds: the median, and what one in twenty and one in a hundred exceed."""
    cuts = statistics.quantiles(taken, n=100)
    return {"median": statistics.median(taken), "p95": cuts[94], "p99": cuts[98]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument(
        "--folder", type=Path, default=None, help="where the files go (default: the temporary directory)"
    )
    parser.add_argument("--postgres", default=None, help="the address of an empty database")
    parser.add_argument("--json", type=Path, default=None, help="also write the figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        results = measure(Path(folder), options.rounds, options.postgres)
    table = Table(title=f"milliseconds, {options.rounds} rounds", title_justify="left")
    for heading in ("operation", "median", "p95", "p99"):
        table.add_column(heading, justify="left" if heading == "operation" else "right")
    figures = {name: summary(taken) for name, taken in results.items()}
    for name, values in figures.items():
        table.add_row(name, *(f"{value:.2f}" for value in values.values()))
    Console().print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")
    median = statistics.median(results["SQLite: reserve + settle"])
    bare = statistics.median(results["two bare writes with fsync"])
    verdict = "within" if median < BOUND else "OVER"
    print(f"SQLite reserve + settle: {median:.2f} ms, {verdict} the bound of {BOUND:g} ms")
    print(f"Two bare fsyncs take {bare:.2f} ms: far more than 1 ms means a slow disk or a busy machine.")
    raise SystemExit(0 if median < BOUND else 1)


if __name__ == "__main__":
    main()
