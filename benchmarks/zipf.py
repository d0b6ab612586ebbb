"""Rows to ask about: 10^6 users, 10^6 items, Zipf, made by DuckDB as Parquet, and the question in plain SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

import crestline as cl
from crestline.histogram.histogram import Histogram
from crestline.question import Question
from crestline.sources import Source

K, K_BAR, CONTRIBUTION = 100, 1000, 5
PEOPLE = ITEMS = 1_000_000
KEY = bytes(range(32))


def plain_sql(table: str, quote: str = '"') -> str:
    """The question as an analyst would write it, without privacy."""
    user = f"{quote}user{quote}"
    return f"""
        select item, count(distinct {user}) as n from {table}
        where {user} is not null and item is not null
        group by item order by n desc, item limit {K_BAR + 1}
    """


def make(path: Path, rows: int) -> None:
    """Rows whose user is uniform and whose item has rank r with probability proportional to 1/r."""
    uniform = "(hash(i + {}) / 18446744073709551616.0)"
    duckdb.sql(
        f"""
        copy (
            select cast(floor({uniform.format(0)} * {PEOPLE}) as bigint) as "user",
                   'item ' || cast(floor(exp({uniform.format(rows)} * ln({ITEMS} + 1))) as bigint) as item
            from range({rows}) as numbers(i)
        ) to '{path}' (format parquet)
        """
    )


def plain(path: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        rows: list[tuple[Any, ...]] = connection.execute(plain_sql("read_parquet(?)"), [path]).fetchall()
        return rows


def counted(source: Source, contribution: int | None = None) -> Histogram:
    """The part of the database alone."""
    with source.reading(Question(k=K, k_bar=K_BAR, contribution=contribution), KEY) as reading:
        assert isinstance(reading.histogram, Histogram), "slots are asked for"
        return reading.histogram


def private(source: Any, **options: Any) -> Any:
    """The whole of `top_k`."""
    return cl.top_k(source, user="user", item="item", k=K, k_bar=K_BAR, epsilon=1, delta=1e-8, **options)
