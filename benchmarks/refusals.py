"""How long refusals take, by their reason: what the words do not say, the clock should not say either.

    python -m benchmarks.refusals [--rounds 200] [--json FILE]

In process, in random order. Reported, not promised: an unknown token costs a hash (16 MiB) and a known one does not, so
the two groups are told apart by those who hold a token, and by nobody else. Within a group medians should agree.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tests.web.conftest import CONFIG, Service, started, write_loans

STRANGER = "cl_aaaaaaaaaaaaa_" + "A" * 43


def cases(service: Service, foreign: int) -> dict[str, Callable[[], Any]]:
    """Every reason, in its group."""
    altered = service.tokens["ann"][:-1] + ("A" if service.tokens["ann"][-1] != "A" else "B")
    return {
        "no valid token: unknown, a data set that is there": lambda: service.top(STRANGER),
        "no valid token: unknown, a data set that is not": lambda: service.top(STRANGER, dataset="absent"),
        "no valid token: altered": lambda: service.top(altered),
        "no valid token: an answer that is there": lambda: service.get(f"/v1/answers/{foreign}", STRANGER),
        "no valid token: an answer that is not": lambda: service.get("/v1/answers/999999", STRANGER),
        "an analyst: somebody else's data set": lambda: service.top(dataset="secret"),
        "an analyst: no such data set": lambda: service.top(dataset="absent"),
        "an analyst: a column that is not listed": lambda: service.top(item="salary"),
        "an analyst: a column that is not there": lambda: service.top(item="absent"),
        "an analyst: somebody else's answer": lambda: service.get(f"/v1/answers/{foreign}"),
        "an analyst: no such answer": lambda: service.get("/v1/answers/999999"),
    }


def measure(rounds: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_loans(folder / "loans.csv")
        (folder / "crestline.toml").write_text(CONFIG.replace("per_minute = 1000", "per_minute = 100000000"))
        with started(folder) as service:
            reasons = cases(service, service.top("bob").json()["id"])
            taken: dict[str, list[float]] = {reason: [] for reason in reasons}
            order = [reason for reason in reasons for _ in range(rounds)]
            random.shuffle(order)
            for reason in order:
                start = time.perf_counter()
                assert reasons[reason]().status_code == 403
                taken[reason].append(1000 * (time.perf_counter() - start))
    return {
        reason: {"median": round(statistics.median(times), 2), "p95": round(statistics.quantiles(times, n=20)[18], 2)}
        for reason, times in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, default=None, help="also write the figures to this file")
    options = parser.parse_args()
    figures = measure(options.rounds)
    table = Table(title=f"milliseconds until a refusal, {options.rounds} rounds", title_justify="left")
    for heading in ("reason", "median", "p95"):
        table.add_column(heading, justify="left" if heading == "reason" else "right")
    for reason, times in figures.items():
        table.add_row(reason, f"{times['median']:.2f}", f"{times['p95']:.2f}")
    Console(width=100).print(table)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
