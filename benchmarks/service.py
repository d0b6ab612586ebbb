"""The service under load: many clients on this machine, real HTTP, real processes, SQLite and PostgreSQL.

    python -m benchmarks.service [--clients 64] [--seconds 60] [--servers 1] [--ledgers sqlite postgres] [--json FILE]

Every client asks new questions, sends some requests again and asks some questions anew. Afterwards the ledger is held
against everything the clients were told: no charge lost, none twice. Both ledgers wait for the disk at each commit.
Clients and servers share the machine, so the figures are those of a whole, not of a server alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.servers import empty_database, running_postgres
from tests.web.processes import serving, write_service
from tests.web.traffic import Plan, Told, check_books, send

SQLITE, POSTGRES = "sqlite", "postgres"
ANALYSTS = 8
BUDGET = 1000  # ε; nobody runs out in a minute
DURABLE = "-c max_connections=150 -c timezone=UTC"


@dataclass(frozen=True)
class Result:
    """One run: how many requests, how quickly, and what the ledger holds."""

    ledger: str
    servers: int
    clients: int
    seconds: float
    requests: int
    per_second: float
    paid_per_second: float
    p50: float
    p99: float
    statuses: dict[str, int]
    entries: dict[str, int]


def measure(ledger: str, address: str, folder: Path, plan: Plan, servers: int) -> Result:
    """Load one ledger, then hold it against what was told."""
    tokens = write_service(folder, address, BUDGET, ANALYSTS)
    told: list[Told] = []
    with serving(folder / "crestline.toml", servers, command=True) as running:
        start = time.perf_counter()
        send([server.port for server in running], tokens, plan, told.append)
        seconds = time.perf_counter() - start
        for server in running:
            server.stop()
    entries = check_books(address if "://" in address else str(folder / address), told)
    unanswered = sum(one.status == 0 for one in told)
    assert not unanswered, f"{unanswered} requests got no response"
    taken = [1000 * one.seconds for one in told]
    cuts = statistics.quantiles(taken, n=100)
    return Result(
        ledger=ledger,
        servers=servers,
        clients=plan.clients,
        seconds=round(seconds, 2),
        requests=len(told),
        per_second=round(len(told) / seconds, 1),
        paid_per_second=round(entries["settled"] / seconds, 1),
        p50=round(cuts[49], 1),
        p99=round(cuts[98], 1),
        statuses={str(status): count for status, count in sorted(Counter(one.status for one in told).items())},
        entries=dict(entries),
    )


@contextmanager
def address_of(ledger: str) -> Iterator[str]:
    """Where a ledger of this kind is kept: a file beside the configuration, or a database of a server of our own."""
    with ExitStack() as stack:
        yield (
            "ledger.db"
            if ledger == SQLITE
            else stack.enter_context(empty_database(stack.enter_context(running_postgres(DURABLE))))
        )


def shown(results: list[Result]) -> Table:
    table = Table(title="the service under load", title_justify="left")
    columns = ("ledger", "servers", "clients", "requests", "requests/s", "paid/s", "p50 ms", "p99 ms")
    for heading in columns:
        table.add_column(heading, justify="left" if heading == "ledger" else "right")
    for one in results:
        numbers = (one.servers, one.clients, one.requests, one.per_second, one.paid_per_second, one.p50, one.p99)
        table.add_row(one.ledger, *map(str, numbers))
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--servers", type=int, default=1, help="server processes on one ledger")
    parser.add_argument("--ledgers", nargs="+", choices=[SQLITE, POSTGRES], default=[SQLITE, POSTGRES])
    parser.add_argument("--folder", type=Path, default=None, help="where files go (default: the temporary directory)")
    parser.add_argument("--json", type=Path, default=None, help="also write the figures to this file")
    options = parser.parse_args()
    results = []
    for ledger in options.ledgers:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder, address_of(ledger) as address:
            plan = Plan(options.clients, options.seconds)
            results.append(measure(ledger, address, Path(folder), plan, options.servers))
    Console(width=110).print(shown(results))
    print("The ledger holds: every charge has its answer, every answer its charge, none twice.")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in results], indent=2) + "\n")


if __name__ == "__main__":
    main()
