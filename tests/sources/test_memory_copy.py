"""A copy in memory answers as its table does: the same counts for every question and every key."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from crestline.errors import QuestionError
from crestline.histogram.view_kinds import PAIRS, SLOTS, View
from crestline.mechanisms.observed.weights import gaussian_weights
from crestline.question import Question
from crestline.score import Sum
from crestline.sources import Source, open_source
from crestline.sources.memory_copy import CachedSource, may_be_kept, with_memory_copy
from crestline.sources.pool import Pool
from tests.sources.pair_views.test_routes import KEYS, ranked, seen, table

pytestmark = pytest.mark.long

COLUMNS = ("item", "year"), ("place", "amount", "item")
BIG = 1 << 30
QUESTIONS: list[dict[str, Any]] = [
    {},
    {"where": "place = 'y''' and year >= 2021"},
    {"where": "place like 'x%' or item is null"},
    {"where": "item > 'Z' and item <> 'é'"},
    {"where": "place = 'nowhere'"},
    {"item": ("year",), "where": "amount < 3"},
    {"item": ("item", "year")},
]


def rows() -> pa.Table:
    amounts = np.random.default_rng(3).integers(0, 9, 900)
    return table().append_column("amount", pa.array(amounts))


@pytest.fixture(params=["parquet", "csv", "duckdb"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    path = tmp_path / f"events.{request.param}"
    if request.param == "parquet":
        pq.write_table(rows(), path)
    elif request.param == "csv":
        pyarrow.csv.write_csv(rows(), path)
    else:
        with duckdb.connect(str(path)) as connection:
            connection.register("arrow", rows())
            connection.execute("create table events as from arrow")
        return Pool(lambda: open_source(f"duckdb:///{path}", table="events"))
    return open_source(path)


def looked_at(source: Source, question: Question, key: bytes, view: View) -> Any:
    with source.ready() as ready, ready.reading(question, key, view) as reading:
        found: Any = reading.histogram
        if view == PAIRS:
            return seen(found)
        if view == SLOTS:
            return found.items[: found.filled], found.counts, found.next_count
        return ranked(found)


@pytest.mark.long
def test_every_question_is_answered_as_by_the_table(source: Source) -> None:
    copy = with_memory_copy(source, "user", *COLUMNS, BIG)
    assert isinstance(copy, CachedSource)
    weights = View("observed", tuple(gaussian_weights(2, 2).tolist()))
    for options in QUESTIONS:
        for view in (SLOTS, PAIRS, weights):
            asked = Question(k=1, k_bar=4, contribution=2 if view == weights else None, **options)
            copy.check(asked, view)
            for key in KEYS[:1] if view == PAIRS else KEYS:
                assert looked_at(copy, asked, key, view) == looked_at(source, asked, key, view), (options, view)


@pytest.mark.parametrize("options", [{"contribution": 1}, {"score": Sum("amount", 5)}], ids=str)
def test_bounds_and_sums_over_slots(source: Source, options: dict[str, Any]) -> None:
    copy = with_memory_copy(source, "user", *COLUMNS, BIG)
    asked = Question(k=1, k_bar=4, where="year <> 2020", **options)
    for key in KEYS:
        assert looked_at(copy, asked, key, SLOTS) == looked_at(source, asked, key, SLOTS)


def test_the_copy_is_of_one_state_of_the_table(tmp_path: Path) -> None:
    path, asked = tmp_path / "events.parquet", Question(k=1, k_bar=4)
    pq.write_table(rows(), path)
    copy = with_memory_copy(open_source(path), "user", *COLUMNS, BIG)
    before = looked_at(copy, asked, KEYS[0], PAIRS)
    pq.write_table(rows().slice(0, 10), path)
    assert looked_at(copy, asked, KEYS[0], PAIRS) == before
    assert looked_at(open_source(path), asked, KEYS[0], PAIRS) != before


def test_a_public_list_is_looked_up_in_the_table_itself(source: Source) -> None:
    copy = with_memory_copy(source, "user", *COLUMNS, BIG)
    asked = Question(k=1, k_bar=1, domain=["a", "nobody"])
    assert isinstance(copy, CachedSource)
    with copy.ready() as ready, ready.reading(asked) as reading:
        assert reading.labels is not None


@pytest.mark.parametrize("limit", [100, 20_000])
def test_a_copy_that_does_not_fit_is_not_kept(source: Source, limit: int) -> None:
    """Neither where the number of rows tells so, nor where only their bytes do."""
    assert with_memory_copy(source, "user", *COLUMNS, limit) is source


def test_types_that_a_copy_might_not_hold_are_refused_without_reading_a_row(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    amounts = pa.array([1, 2], pa.decimal128(38, 0))
    pq.write_table(pa.table({"user": [1, 2], "item": ["a", "b"], "amount": amounts}), path)
    may_be_kept(open_source(path), "user", ("item",), ())
    with pytest.raises(QuestionError, match=r"'amount' is of type .* cannot be kept"):
        may_be_kept(open_source(path), "user", ("item",), ("amount",))
    with pytest.raises(QuestionError, match="cannot be kept"):
        with_memory_copy(open_source(path), "user", ("item",), ("amount",), BIG)


def test_what_other_engines_hold_is_not_kept(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "events.db") as connection:
        connection.execute("create table events (user integer, item text)")
    source = open_source(f"sqlite:///{tmp_path}/events.db", table="events")
    with pytest.raises(QuestionError, match="only files and tables of DuckDB"):
        may_be_kept(source, "user", ("item",), ())
    with pytest.raises(QuestionError, match="only files and tables of DuckDB"):
        with_memory_copy(source, "user", ("item",), (), BIG)
