"""Every way in leads to the same histogram."""

from __future__ import annotations

import socket
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import crestline.sources
from crestline.errors import QuestionError, SourceError
from crestline.histogram.histogram import Histogram
from crestline.question import Question
from crestline.sources import open_source

QUESTION = Question(k=1, k_bar=2)
COLUMNS = {"user": ["u1", "u2", "u2", "u3"], "item": ["a", "a", "b", "é"]}


def database(folder: Path) -> Path:
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute('create schema s; create table s.t ("user" text, item text)')
        connection.execute(
            "create table t as select * from (values ('u1','a'),('u2','a'),('u2','b'),('u3','é')) v(user, item)"
        )
    return path


WAYS: dict[str, Any] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "categories": lambda: pd.DataFrame(COLUMNS).astype({"item": "category"}),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "polars lazy": lambda: pl.LazyFrame(COLUMNS),
    "arrow": lambda: pa.table(COLUMNS),
    "arrow batch": lambda: pa.record_batch(COLUMNS),
    "ibis": lambda: ibis.memtable(COLUMNS),
}


@pytest.mark.parametrize("way", WAYS)
def test_tables_in_memory(way: str) -> None:
    source = open_source(WAYS[way]())
    histogram = source.top_counts(QUESTION)
    assert (histogram.items, histogram.counts, histogram.next_count) == (("a", "b"), (2, 1), 1)
    assert source.version() is None
    assert "u1" not in source.name


def test_objects_are_read_as_text_whatever_they_are() -> None:
    frame = pd.DataFrame({"user": [1, 2, 3, 4], "item": pd.Series([7, "7", None, date(2026, 1, 2)], dtype=object)})
    histogram = open_source(frame).top_counts(QUESTION)
    assert (histogram.items, histogram.counts) == (("7", "2026-01-02"), (2, 1))


def test_a_database_file_is_opened_for_reading_only(tmp_path: Path) -> None:
    path = database(tmp_path)
    source = open_source(f"duckdb:///{path}", table="t")
    assert source.top_counts(QUESTION).items == ("a", "b")
    assert source.name == "t"
    with duckdb.connect(path, read_only=True) as beside:  # two readers are possible only when neither may write
        assert beside.execute("select count(*) from t").fetchone() == (4,)


def test_a_schema_may_be_named(tmp_path: Path) -> None:
    source = open_source(f"duckdb:///{database(tmp_path)}", table="s.t")
    assert source.top_counts(QUESTION).counts == (0, 0)


def test_a_ready_histogram_is_cut_to_the_question() -> None:
    source = open_source(Histogram.from_counts({"a": 3, "b": 2, "c": 1}, k_bar=3))
    histogram = source.top_counts(QUESTION)
    assert (histogram.items, histogram.counts, histogram.next_count) == (("a", "b"), (3, 2), 1)


def test_a_ready_histogram_refuses_what_needs_rows() -> None:
    source = open_source(Histogram.from_counts({"a": 3}, k_bar=2))
    with pytest.raises(QuestionError, match="`where`"):
        source.check(Question(k=1, k_bar=2, where="x = 1"))
    with pytest.raises(QuestionError, match="cut at k_bar=2"):
        source.check(Question(k=1, k_bar=3))


def test_a_public_list_is_handed_out_whole() -> None:
    listed = Histogram.over_domain({"a": 3, "b": 0})
    assert open_source(listed).top_counts(QUESTION) is listed


@pytest.mark.parametrize(
    ("source", "table", "says"),
    [
        (3, None, "a source is"),
        (pd.Series([1]), None, "not a Series"),
        (pd.DataFrame(COLUMNS), "t", "`table` goes with a database"),
        ("t.parquet", "t", "`table` goes with a database"),
        ("duckdb:///missing.duckdb", "t", "no DuckDB database"),
        ("postgresql://x:secret@localhost:1/y", None, "needs `table`"),
        (pd.DataFrame([["secret", 1]], columns=["user", "user"]), None, "a name of its own"),
    ],
)
def test_refusals(source: Any, table: str | None, says: str) -> None:
    with pytest.raises(QuestionError, match=says) as refusal:
        open_source(source, table=table)
    assert "secret" not in str(refusal.value)


def test_a_failed_connection_does_not_repeat_the_password() -> None:
    with pytest.raises(SourceError, match="nobody answers") as failure:
        open_source("postgresql://me:secret@127.0.0.1:1/shop", table="t")
    assert "secret" not in str(failure.value)
    assert failure.value.__context__ is None


@pytest.mark.parametrize("scheme", ["postgresql", "mariadb"])
def test_a_server_that_takes_the_call_and_says_nothing_is_given_up(scheme: str) -> None:
    """As a machine does whose database hangs. Without a limit of ours this test would never end."""
    if scheme == "mariadb":
        pytest.importorskip("MySQLdb", exc_type=ImportError)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"{scheme}://me:secret@127.0.0.1:{silent.getsockname()[1]}/shop"
        with pytest.raises(SourceError, match="nobody answers there"):
            open_source(address, table="t", timeout=1)


def test_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="no table 'nope'"):
        open_source(f"duckdb:///{database(tmp_path)}", table="nope")


@pytest.mark.engines
def test_opening_nothing_imports_no_engine() -> None:
    heavy = {"ibis", "duckdb", "pandas", "pyarrow", "sqlglot"}
    code = f"import sys, crestline.sources; assert not {heavy!r} & set(sys.modules)"
    package = Path(crestline.sources.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(package)})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ('connection failed: FATAL:  database "shpo" does not exist', "the server has no such database"),
        ('FATAL:  password authentication failed for user "me"', "does not let this user in"),
        ('FATAL:  role "you" does not exist', "does not let this user in"),
        ("connection refused\n\tIs the server running?", "nobody answers there"),
        ("failed to resolve host 'nowhere'", "nobody answers there"),
        ("something else", "the connection failed (RuntimeError)"),
    ],
)
def test_what_a_failed_connection_means(words: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words of a server that cannot be made to say them here; `test_postgres` meets a real one."""

    def refuse(url: str, **options: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(ibis, "connect", refuse)
    with pytest.raises(SourceError) as failure:
        open_source("postgresql://me:secret@localhost/shop", table="t")
    assert said in str(failure.value)
    assert "shpo" not in str(failure.value)
