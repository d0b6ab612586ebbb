"""What is written between the counting and the naming changes nothing: both see the same rows."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.errors import SourceError
from crestline.sources import open_source
from crestline.sources.engine.runner import Runner
from crestline.sources.expression.public_list_snapshot import index_of_free_place
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered


def test_a_file_that_is_replaced(tmp_path: Path) -> None:
    path, next_path = tmp_path / "t.parquet", tmp_path / "next.parquet"
    pq.write_table(BEFORE, path)
    pq.write_table(AFTER, next_path)
    assert answered(open_source(path), lambda: os.replace(next_path, path), DOMAIN).items == NAMED


def test_a_file_that_is_emptied_or_taken_away(tmp_path: Path) -> None:
    for number, write in enumerate((lambda path: pq.write_table(BEFORE.slice(0, 0), path), os.remove)):
        path = tmp_path / f"{number}.parquet"
        pq.write_table(BEFORE, path)
        assert answered(open_source(path), lambda write=write, path=path: write(path), DOMAIN).items == NAMED


def made(engine: Any, **tables: pa.Table) -> None:
    for name, table in tables.items():
        engine.con.register("arrow", table)
        engine.con.execute(f"create table {name} as from arrow; drop view arrow")


@pytest.mark.parametrize("domain", [DOMAIN, "catalogue.item"])
def test_a_duckdb_with_a_second_connection(domain: Any) -> None:
    engine = ibis.duckdb.connect()
    made(engine, events=BEFORE, catalogue=pa.table({"item": DOMAIN}))
    second = engine.con.cursor()

    def write() -> None:
        second.register("after", AFTER)
        second.execute("delete from events; insert into events from after; insert into catalogue values (9)")

    assert answered(open_source(engine.table("events")), write, domain).items == NAMED
    assert engine.con.sql("select table_name from duckdb_tables() where temporary").fetchall() == []  # nothing is left


def test_a_mechanism_that_fails_leaves_nothing_behind() -> None:
    engine = ibis.duckdb.connect()
    made(engine, events=BEFORE)

    def write() -> None:
        raise RuntimeError("the mechanism broke off")

    with pytest.raises(RuntimeError):
        answered(open_source(engine.table("events")), write, DOMAIN)
    assert engine.con.sql("select table_name from duckdb_tables() where temporary").fetchall() == []


def sqlite_file(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("create table events (user integer, item integer)")
        connection.execute("create table catalogue (item integer)")
        connection.executemany("insert into events values (?, ?)", zip(*BEFORE.to_pydict().values(), strict=True))
        connection.executemany("insert into catalogue values (?)", [(item,) for item in DOMAIN])
    connection.close()
    return path


@pytest.fixture
def without_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as an engine that keeps nothing for later statements."""
    monkeypatch.setattr(Runner, "stores_public_lists", False)


@pytest.mark.usefixtures("without_snapshots")
def test_an_engine_without_snapshots(tmp_path: Path) -> None:
    path = sqlite_file(tmp_path / "t.sqlite")

    def write() -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("delete from events")
            connection.executemany("insert into events values (?, ?)", zip(*AFTER.to_pydict().values(), strict=True))
        connection.close()

    assert answered(open_source(f"sqlite:///{path}", table="events"), write, "catalogue").items == NAMED


@pytest.mark.usefixtures("without_snapshots")
def test_a_public_list_that_shrinks_where_there_are_no_snapshots(tmp_path: Path) -> None:
    """It is public, so the error may say so."""
    path = sqlite_file(tmp_path / "t.sqlite")

    def write() -> None:
        with sqlite3.connect(path) as connection:
            connection.execute("delete from catalogue where item > 13")
        connection.close()

    with pytest.raises(SourceError, match="changed before it was named"):
        answered(open_source(f"sqlite:///{path}", table="events"), write, "catalogue")


@pytest.mark.parametrize("taken", [[], [0], [0, 1, 2], [3], [1, 4, 5, 9], [0, 2, 3, 11]])
def test_free_places(taken: list[int]) -> None:
    free = [place for place in range(12) if place not in taken]
    assert [index_of_free_place(index, taken) for index in range(len(free))] == free
