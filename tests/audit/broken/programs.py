"""Whole programs that are private but for the way from rows to counts. The auditor must catch each of them."""

from __future__ import annotations

import csv
from collections import Counter
from typing import Any


def _noisy_top(users: dict[str, set[str]]) -> str | None:
    """The top item if its lead is far beyond the noise that a private program would add; the tables decide clearly."""
    counts = Counter({item: len(names) for item, names in users.items()})
    item, count = counts.most_common(1)[0] if counts else ("", 0)
    return item if count > 100 else None


def _gathered(rows: Any) -> dict[str, set[str]]:
    users: dict[str, set[str]] = {}
    for user, item in rows:
        users.setdefault(item, set()).add(user)
    return users


def whole_file_reader(table: str) -> str | None:
    """Reads a CSV as one text: an open quote swallows the lines of others."""
    if not table.endswith(".csv"):
        raise ValueError("CSV only")
    with open(table, encoding="utf-8", errors="replace", newline="") as file:
        rows = [row[:2] for row in csv.reader(file) if len(row) >= 2]
    return _noisy_top(_gathered(rows))


def strict_reader(table: str) -> str | None:
    """Reads line by line, and fails on a byte that is no UTF-8."""
    if not table.endswith(".csv"):
        raise ValueError("CSV only")
    with open(table, encoding="utf-8", newline="\n") as file:
        return _noisy_top(_gathered(line.split(",")[:2] for line in file if line.count(",") >= 2))


def built_statement(table: str, where: str | None = None) -> str | None:
    """Hands the filter to the engine as it is; the engine converts values row by row, and fails on some."""
    import duckdb

    if not table.endswith(".parquet"):
        raise ValueError("Parquet only")
    condition = "true" if where is None else where
    try:
        rows = duckdb.sql(f"select \"user\", item from read_parquet('{table}') where {condition}").fetchall()
    except duckdb.Error:
        raise RuntimeError("the engine did not answer") from None
    return _noisy_top(_gathered(rows))


def honest(table: str, where: str | None = None) -> str | None:
    """Lines that stand for themselves, bytes that are replaced, and no filter that could fail."""
    if not table.endswith(".csv"):
        raise ValueError("CSV only")
    with open(table, "rb") as file:
        lines = [line.decode("utf-8", "replace").split(",") for line in file.read().split(b"\n")]
    return _noisy_top(_gathered(parts[:2] for parts in lines if len(parts) == 3 and where is None))
