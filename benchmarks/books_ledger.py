"""Reserving and settling, both durable, on SQLite and PostgreSQL, with 1, 8 and 64 writers."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.books import measured
from benchmarks.measuring import Row

TITLE = "The ledger"
ACROSS = ()


def measure(quick: bool) -> Iterator[Row]:
    yield from measured("ledger", *(("--rounds", "20") if quick else ("--rounds", "300")))


def words(rows: list[Row]) -> list[str]:
    return []
