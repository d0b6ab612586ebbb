"""The service under 64 clients on this machine, with a ledger in SQLite and PostgreSQL; milliseconds and requests."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bearing import measured
from benchmarks.measuring import Row

TITLE = "The service"
ACROSS = ()


def measure(quick: bool) -> Iterator[Row]:
    options = ("--seconds", "1", "--clients", "2", "--ledgers", "sqlite") if quick else ("--seconds", "20")
    yield from measured("service", *options)


def words(rows: list[Row]) -> list[str]:
    found = [row for row in rows if "per_second" in row.extra]
    return [
        f"{row.who}: {row.extra['per_second']:,.0f} requests a second, the ledger held against them." for row in found
    ]
