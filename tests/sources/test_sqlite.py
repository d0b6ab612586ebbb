"""SQLite: whole numbers only, because its columns hold values of any type and a collation groups its text."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

import crestline as cl
from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.sources import Source, open_source
from tests.sources.conformance import ask, question


def source(path: Path, *statements: str, **options: Any) -> Source:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return open_source(f"sqlite:///{path}", table="t", **options)


@pytest.fixture
def visits(tmp_path: Path) -> Source:
    return source(
        tmp_path / "t.sqlite",
        "create table t (user integer, item integer, name text collate nocase, price real, id blob)",
        "insert into t values (1, 7, 'Tea', 1.5, x'00'), (2, 7, 'TEA', 2.5, x'00'), (3, 8, 'tea', 1.0, x'01')",
    )


def test_whole_numbers_are_counted(visits: Source) -> None:
    histogram = ask(visits, question(3))
    assert (histogram.items[:2], histogram.counts) == ((7, 8), (2, 1, 0))


def test_text_is_refused_before_anything_is_charged(visits: Source) -> None:
    """Its collation takes Tea, TEA and tea for one item, and one user's spelling would be the name of it."""
    for column in ("name", "price", "id"):
        for options in ({"user": column}, {"item": (column,)}, {"item": ("item", column)}):
            with pytest.raises(QuestionError, match="DuckDB, PostgreSQL or Spark"):
                visits.check(question(2, **options))
    ledger = cl.Ledger.in_memory(cl.Budget(epsilon=1, delta="1e-5"))
    before = ledger.remaining()
    path = Path(visits._runner._engine.con.execute("pragma database_list").fetchone()[2])  # type: ignore[attr-defined] # its file
    asked: dict[str, Any] = {"table": "t", "user": "user", "item": "name", "k": 1, "epsilon": "0.1", "delta": "1e-7"}
    with pytest.raises(QuestionError, match="whole numbers"):
        cl.top_k(f"sqlite:///{path}", ledger=ledger, **asked)
    assert ledger.remaining() == before


def test_a_filter_may_ask_for_a_text_but_not_for_its_order(visits: Source) -> None:
    assert ask(visits, question(1, where="name = 'tea'")).counts == (2,)  # its collation decides, row by row
    assert ask(visits, question(1, where="name in ('x', 'tea') and price >= 1.5")).counts == (2,)
    for text in ("name < 'tea'", "name between 'a' and 'z'", "name like 't%'"):
        with pytest.raises(QuestionError, match="cannot be compared by order"):
            visits.check(question(1, where=text))


def test_a_contribution_bound_and_sums_are_refused(visits: Source) -> None:
    with pytest.raises(QuestionError, match="no hash function"):
        visits.check(question(1, contribution=1))
    with pytest.raises(QuestionError, match="cannot be summed"):
        visits.check(question(1, score="sum(item)", clip=1))


ODD = ["'apples'", "'12 apples'", "x'00ff'", "1.9", "9e999", "-9e999", "''", "cast(x'c328' as text)", "null"]


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("column", ["user", "item", "price"])
def test_a_value_of_another_type_costs_its_own_row_at_most(tmp_path: Path, column: str, value: str) -> None:
    """An integer column may hold any value; one of them must not make a question fail or change another's items."""
    row = {"user": "9", "item": "7", "price": "1"} | {column: value}
    table = source(
        tmp_path / "t.sqlite",
        "create table t (user integer, item integer, price integer)",
        "insert into t values (1, 7, 1), (2, 7, 1), (3, 8, 1)",
        f"insert into t values ({', '.join(row.values())})",
    )
    for options in ({}, {"where": "price > 0.5"}, {"where": "price in (1, 2)"}):
        for domain in (None, [7, 8, 9]):
            table.check(question(4, domain=domain, **options))
            with table.reading(question(4, domain=domain, **options)) as reading:
                assert sum(reading.histogram.distinct[0].tolist()) >= 3
                if domain is None:
                    counts = dict(zip(reading.histogram.items, reading.histogram.counts, strict=True))
                    assert counts[7] in (2, 3, 4)
                    assert counts[8] == 1


def test_the_connection_may_only_read(visits: Source) -> None:
    connection = visits._runner._engine.con  # type: ignore[attr-defined] # the connection is nobody else's business
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("insert into t values (1, 1, 'x', 1, null)")


def test_a_statement_is_given_up_in_time(tmp_path: Path) -> None:
    slow = source(
        tmp_path / "t.sqlite",
        "create table n (i integer)",
        "insert into n with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) select x from c",
        "create view t as select a.i as user, c.i as item from n a, n b, n c",
        timeout=0.2,
    )
    with pytest.raises(SourceError, match="gave the statement up"):
        ask(slow, question(1))


def test_questions_may_come_from_any_thread(visits: Source) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(ask(visits, question(1)).counts))
    thread.start()
    thread.join()
    assert found == [(2,)]


def test_what_an_error_means(tmp_path: Path) -> None:
    table = source(tmp_path / "t.sqlite", "create table t (user integer, item integer)")
    with sqlite3.connect(tmp_path / "t.sqlite", isolation_level=None) as writer:
        writer.execute("begin exclusive")
        with pytest.raises(SourceError, match="did not answer") as failure:
            ask(table, question(1))
        assert not isinstance(failure.value, EngineDefect)
    writer.close()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="no SQLite database"):
        open_source(f"sqlite:///{tmp_path}/none.sqlite", table="t")
    assert not (tmp_path / "none.sqlite").exists()
