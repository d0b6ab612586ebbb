"""The service under 64 clients for a minute: two server processes on one ledger, in SQLite and in PostgreSQL.

Clients and servers share this machine. Milliseconds, and requests a second.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bearing import measured
from benchmarks.measuring import Row

TITLE = "The service"
ACROSS = ()
PAID, SLOWEST = 60, 2000  # paid answers a second at least, milliseconds of the slowest in a hundred at most


def measure(quick: bool) -> Iterator[Row]:
    options = (
        ("--seconds", "1", "--clients", "2", "--ledgers", "sqlite") if quick else ("--seconds", "60", "--servers", "2")
    )
    yield from measured("service", *options)


def words(rows: list[Row]) -> list[str]:
    found = [row for row in rows if "per_second" in row.extra]
    return [
        f"{row.who}: {row.extra['per_second']:,.0f} a second, of which {row.extra['paid_per_second']:,.0f} paid "
        f"(goal {PAID}), 99 in 100 within {row.extra['p99']:,.0f} ms (goal {SLOWEST:,}); the ledger held against them."
        for row in found
    ]
