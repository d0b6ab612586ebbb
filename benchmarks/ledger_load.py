"""Reserving and settling, both durable, on SQLite and PostgreSQL, with 1, 8 and 64 writers: threads, and processes."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.bearing import measured
from benchmarks.measuring import Row

TITLE = "The ledger"
ACROSS = ()


def measure(quick: bool) -> Iterator[Row]:
    short = ("--seconds", "0.5", "--writers", "1", "2", "--ledgers", "sqlite")
    yield from measured("ledger_writers", *(short if quick else ()))


def words(rows: list[Row]) -> list[str]:
    return [
        f"{row.who}, writers: {row.setting['writers']}; reserved and settled a second: {row.extra['per_second']:,.0f}."
        for row in rows
        if "per_second" in row.extra
    ]
