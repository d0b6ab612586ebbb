"""Views of pairs are all of one state of the table, leave nothing behind, and fall back to this process's memory."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.view_kinds import PAIRS, View
from crestline.question import Question
from crestline.sources import open_source
from crestline.sources.engine.engine_functions import Expression
from crestline.sources.engine.runner import Runner
from crestline.sources.pairs.fetched import MEMORY as MOST
from tests.sources.between import AFTER, BEFORE, views_stay

MEMORY = pytest.mark.parametrize("memory", [MOST, 1], ids=["in this process", "in the engine"])


@MEMORY
def test_a_file_that_is_replaced(memory: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRESTLINE_MEMORY", str(memory))
    path, next_path = tmp_path / "t.parquet", tmp_path / "next.parquet"
    pq.write_table(BEFORE, path)
    pq.write_table(AFTER, next_path)
    assert views_stay(open_source(path), lambda: os.replace(next_path, path))


@pytest.mark.long
def test_a_source_that_reads_the_table_again_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same without the stored pairs: every statement reads the file as it is by then, and the check says so."""

    @contextmanager
    def read_again(self: Runner, expression: Expression) -> Iterator[Expression]:
        yield expression

    path, next_path = tmp_path / "t.parquet", tmp_path / "next.parquet"
    pq.write_table(BEFORE, path)
    first = pa.table({"user": [1], "item": [9]})  # every number of an item is another then
    pq.write_table(pa.concat_tables([AFTER, first]), next_path)
    monkeypatch.setattr(Runner, "temporary_table", read_again)
    monkeypatch.setenv("CRESTLINE_MEMORY", "1")  # the relation is read once, and cannot change
    assert views_stay(open_source(path), lambda: None)
    assert not views_stay(open_source(path), lambda: os.replace(next_path, path))


@MEMORY
def test_a_duckdb_with_a_second_connection(memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRESTLINE_MEMORY", str(memory))
    engine = ibis.duckdb.connect()
    engine.con.register("arrow", BEFORE)
    engine.con.execute("create table events as from arrow; drop view arrow")
    second = engine.con.cursor()

    def write() -> None:
        second.register("after", AFTER)
        second.execute("delete from events; insert into events from after")

    assert views_stay(open_source(engine.table("events")), write)
    assert engine.con.sql("select table_name from duckdb_tables() where temporary").fetchall() == []  # nothing is left


@pytest.mark.long
def test_an_engine_without_snapshots_or_hashes(tmp_path: Path) -> None:
    """SQLite: the distinct pairs are held in this process."""
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as connection:
        connection.execute('create table events ("user" integer, item integer)')
        connection.executemany("insert into events values (?, ?)", [*zip(*BEFORE.to_pydict().values(), strict=True)])

    def write() -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("delete from events")

    assert views_stay(open_source(f"sqlite:///{path}", table="events"), write)
    with sqlite3.connect(path) as connection:
        connection.executemany("insert into events values (?, 7)", [(user,) for user in range(500)])
    answer = cl.top_k(f"sqlite:///{path}", table="events", k=1, epsilon=4, delta="1e-6", mechanism="Sieve")
    assert answer.items == (7,)


def test_a_user_keeps_every_item_as_often_as_every_other() -> None:
    """2,000 users with the same twelve items, of which each keeps three: every item is kept by about 500 of them. With
    one order of the items for all users three items would be kept by all of them."""
    rows = pa.table({"user": [user for user in range(2000) for _ in range(12)], "item": list("abcdefghijkl") * 2000})
    with open_source(rows).reading(Question(k=1), bytes(32), View("observed", (1, 1, 1))) as reading:
        items = reading.histogram
        assert isinstance(items, ObservedItems)
        kept = np.array([items.score_of(rank) for rank in range(items.size)])
    assert kept.sum() == 6000
    assert np.abs(kept - 500).max() < 100  # five standard deviations; the key is fixed, and so is the outcome


def test_pairs_of_groups_are_named_as_they_were_read_and_nothing_is_left() -> None:
    """Somebody writes between the reading and the naming: numbers of items would be those of others by then."""
    engine = ibis.duckdb.connect()
    engine.con.execute("create table events as select n as user, 'b' as item, 'g' as \"group\" from range(9) t(n)")
    second, asked = engine.con.cursor(), Question(k=1, k_bar=1, by=("group",))
    with open_source(engine.table("events")).reading(asked, bytes(32), PAIRS) as reading:
        second.execute("delete from events; insert into events values (1, 'a', 'f'), (2, 'b', 'g'), (3, 'c', 'g')")
        tables: Any = reading.histogram
        (table,) = list(tables)
        (pairs,) = list(table.histograms())
        assert (table.groups, pairs.users_with(1), pairs.users_with(2)) == (["g"], 9, 0)
        assert reading.labels_in is not None
        assert reading.labels_in(
            [("g", item) for item in pairs.observed_items(bytes(32), np.ones(1, int)).names([0])]
        ) == ["b"]
    assert engine.con.sql("select table_name from duckdb_tables() where temporary").fetchall() == []
