"""Filters, and the same in Python: what is kept is what the function calls true, null being neither."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from tests.sources.oracle import Row


def known(test: Callable[[Any], bool]) -> Callable[[Row], bool]:
    """A test of column `n` that null does not pass."""
    return lambda row: row["n"] is not None and test(row["n"])


WHERE: dict[str, Callable[[Row], Any]] = {
    "n > 2": known(lambda n: n > 2),
    "2 >= n": known(lambda n: n <= 2),
    "n <> 3 and n <> 2.5": known(lambda n: n != 3),
    "not n = 3": known(lambda n: n != 3),
    "n is null or n = 1": lambda row: row["n"] is None or row["n"] == 1,
    "n is not null": known(lambda n: True),
    "n in (1, 3, 99)": known(lambda n: n in (1, 3)),
    "n not in (1, 3)": known(lambda n: n not in (1, 3)),
    "n in (1, 2.5)": known(lambda n: n == 1),
    "n between 2 and 4": known(lambda n: 2 <= n <= 4),
    "n not between 2 and 4": known(lambda n: not 2 <= n <= 4),
    "n > 1e300 or n < -99999999999999999999": lambda row: False,
    "n < 1e300": known(lambda n: True),
    "item = 'a''b'": lambda row: row["item"] == "a'b",
    "item = 'a\\b'": lambda row: row["item"] == "a\\b",
    "item = 'é' or item = 'A'": lambda row: row["item"] in ("é", "A"),
    "item < 'a'": lambda row: row["item"].encode() < b"a",
    "item between 'Z' and 'é'": lambda row: b"Z" <= row["item"].encode() <= "é".encode(),
    "item like 'a%'": lambda row: row["item"].startswith("a"),
    "item like 'a_b'": lambda row: len(row["item"]) == 3 and row["item"][::2] == "ab",
    "item not like '%b'": lambda row: not row["item"].endswith("b"),
    "x >= 0.1": lambda row: row["x"] >= 0.1,
    "x = 0.1 or x = -3": lambda row: row["x"] in (0.1, -3),
    "price = 0.1": lambda row: row["price"] == Decimal("0.1"),
    "price >= 0.1000001 and price < 1e20": lambda row: row["price"] > Decimal("0.1"),
    "price > 0.10000000000000000000000000001": lambda row: row["price"] > Decimal("0.1"),
    "day >= '2026-01-03'": lambda row: row["day"] >= date(2026, 1, 3),
    "day in ('2026-01-01', '2026-01-04')": lambda row: row["day"].day in (1, 4),
    "at < '2026-01-02T12:00:00'": lambda row: row["at"] < datetime(2026, 1, 2, 12),
    "at between '2026-01-02' and '2026-01-03'": lambda row: datetime(2026, 1, 2) <= row["at"] <= datetime(2026, 1, 3),
    "yes": lambda row: row["yes"],
    "not yes or yes = true": lambda row: True,
    "yes = false or (n > 1 and (item = 'a' or item = 'z'))": lambda row: (
        not row["yes"] or ((row["n"] or 0) > 1 and row["item"] in ("a", "z"))
    ),
}
