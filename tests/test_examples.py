"""The invented data of the pages: the same every time, and popular enough that a private answer names something."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import crestline as cl

pytestmark = pytest.mark.long


def test_the_shop_is_the_same_every_time(tmp_path: Path) -> None:
    first, second = (cl.examples.shop(tmp_path / name) for name in ("one", "two"))
    cl.examples.shop(first)  # files that are there are replaced
    for name in ("checkins", "sales"):
        one, two = (duckdb.read_parquet(str(folder / f"{name}.parquet")).fetchall() for folder in (first, second))
        assert one == two
    with duckdb.connect(first / "shop.duckdb", read_only=True) as shop:
        tables = {row[0] for row in shop.execute("show tables").fetchall()}
    assert tables == {"sales", "products", "customers"}


def test_a_private_answer_names_what_is_popular(tmp_path: Path) -> None:
    cl.examples.shop(tmp_path)
    answer = cl.top_k(tmp_path / "checkins.parquet", user="user", item="venue", k=3, epsilon=1, delta="1e-8")
    assert set(answer) <= {"Central Station, Ahlen", "Central Station, Brunn", "Central Station, Calw"}


def test_the_library(tmp_path: Path) -> None:
    path = cl.examples.library(tmp_path / "new")
    assert path.read_text().startswith("reader,title\n")
