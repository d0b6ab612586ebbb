"""SQLite keeps the contract; beyond it: values of any type in any column, types that nobody declared, a collation."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.sources import open_source
from crestline.sources.engine.dialects import sqlite_values
from crestline.sources.source import SlotSource
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered, views_stay
from tests.sources.conformance import KEY, ask, question
from tests.sources.conforming import Conformance
from tests.sources.engines import SQLite
from tests.sources.pairs import Pair, PairSuite, found_by_keys
from tests.sources.pairs_servers import selects, sqlite_columns

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> SQLite:
    return SQLite(tmp_path_factory.mktemp("sqlite"))


def written(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def source(path: Path, *statements: str, **options: Any) -> SlotSource:
    written(path, *statements)
    return open_source(f"sqlite:///{path}", table="t", **options)


def counted(table: SlotSource, **options: Any) -> dict[Any, int]:
    found = ask(table, question(9, **options))
    return {item: count for item, count in zip(found.items, found.counts, strict=True) if count}


@pytest.mark.sample(n=1)
class TestSQLite(Conformance):
    tested_engine = "sqlite"

    def test_a_collation_neither_merges_nor_reorders_items(self, tmp_path: Path) -> None:
        table = source(
            tmp_path / "t.sqlite",
            "create table t (user integer, item text collate nocase)",
            "insert into t values (1, 'b'), (2, 'B'), (3, 'a'), (4, 'C'), (5, 'a ')",
        )
        assert ask(table, question(5)).items == ("B", "C", "a", "a ", "b")
        assert counted(table, where="item = 'b'") == {"b": 1}
        assert counted(table, where="item like 'b%' or item < 'C'") == {"B": 1, "b": 1}

    def test_the_connection_may_only_read(self, tmp_path: Path) -> None:
        table = source(tmp_path / "t.sqlite", "create table t (user integer, item integer)")
        connection = table._runner._engine.con  # type: ignore[attr-defined] # the connection is nobody else's business
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("insert into t values (1, 1)")

    def test_a_statement_is_given_up_in_time(self, tmp_path: Path) -> None:
        slow = source(
            tmp_path / "t.sqlite",
            "create table n (i integer)",
            "insert into n with recursive c(x) as (select 1 union all select x + 1 from c where x < 3000) select x "
            "from c",
            "create view t as select a.i as user, c.i as item from n a, n b, n c",
            timeout=0.2,
        )
        with pytest.raises(SourceError, match="gave the statement up"):
            ask(slow, question(1))

    def test_questions_may_come_from_any_thread(self, tmp_path: Path) -> None:
        table = source(tmp_path / "t.sqlite", "create table t (user integer, item integer)")
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(ask(table, question(1, contribution=1), KEY).counts))
        thread.start()
        thread.join()
        assert found == [(0,)]

    def test_what_an_error_means(self, tmp_path: Path) -> None:
        table = source(tmp_path / "t.sqlite", "create table t (user integer, item integer)")
        table._runner._engine.con.execute("pragma busy_timeout = 1")  # type: ignore[attr-defined] # not five seconds
        with closing(sqlite3.connect(tmp_path / "t.sqlite", isolation_level=None)) as writer:
            writer.execute("begin exclusive")
            with pytest.raises(SourceError, match="did not answer") as failure:
                ask(table, question(1))
            assert not isinstance(failure.value, EngineDefect)

    @pytest.mark.parametrize("domain", [DOMAIN, "catalogue"])
    def test_what_is_written_between_counting_and_naming_changes_nothing(self, engine: SQLite, domain: Any) -> None:
        table = engine.source(BEFORE, catalogue=pa.table({"item": DOMAIN}))
        path = Path(table._runner._engine.con.execute("pragma database_list").fetchone()[2])  # type: ignore[attr-defined] # its file
        rows = ", ".join(f"({user}, {item})" for user, item in zip(*AFTER.to_pydict().values(), strict=True))

        def write() -> None:
            written(path, "delete from events", f"insert into events values {rows}")

        assert answered(table, write, domain).items == NAMED
        table = engine.source(BEFORE)
        path = Path(table._runner._engine.con.execute("pragma database_list").fetchone()[2])  # type: ignore[attr-defined] # its file
        assert views_stay(table, write)

    def test_a_table_may_be_called_like_a_part_of_a_statement(self, tmp_path: Path) -> None:
        for name in ("t0", "t1", "t2", "t3"):
            path = tmp_path / f"{name}.sqlite"
            written(path, f"create table {name} (user integer, item text)", f"insert into {name} values (1, 'a')")
            table = open_source(f"sqlite:///{path}", table=name)
            assert counted(table, contribution=1) == {"a": 1}


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "integer": ("integer", {"7": 7, "'7'": 7, "7.0": 7, "7.5": None, "'tea'": None, "x'37'": None, "9e999": None}),
    "real": ("real", {"7": 7.0, "'7.5'": 7.5, "9e999": float("inf"), "'tea'": None, "x'37'": None}),
    "decimal": ("decimal(9, 2)", {"7": 7.0, "'7.50'": 7.5, "'tea'": None, "x'37'": None}),
    "boolean": ("boolean", {"1": True, "false": False, "2": None, "'yes'": None}),
    "text": ("text", {"'7'": "7", "7": "7", "x'37'": None, "cast(x'c328' as text)": "\\xc3("}),
    "no type": ("", {"'7'": "7", "7": "7", "7.5": "7.5", "x'37'": None}),
    "no type that anybody knows": ("frobnicated", {"'tea'": "tea", "7": "7", "x'37'": None}),
    "unsigned big int": ("unsigned big int", {"7": 7, "'tea'": None}),
    "blob": ("blob", {"x'37'": b"7", "'7'": None, "7": None}),
    "date": ("date", {"'2026-01-31'": date(2026, 1, 31), "'2026-02-30'": None, "'now'": None, "2451545": None,
                      "'2026-01-31 '": None, "'0000-01-01'": None}),
    "datetime": ("datetime", {"'2026-01-31 12:00:00.000001'": datetime(2026, 1, 31, 12, 0, 0, 1),
                              "'2026-01-31T12:00:00+02:00'": datetime(2026, 1, 31, 10),
                              "'2026-01-31'": datetime(2026, 1, 31), "'now'": None, "1769860800": None,
                              "'0001-01-01 00:00+14:00'": None}),
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_a_value_that_is_not_of_its_columns_type_is_none(tmp_path: Path, name: str) -> None:
    kind, values = KINDS[name]
    table = source(
        tmp_path / "t.sqlite",
        f"create table t (user integer, item {kind})",
        *(f"insert into t values ({user}, {value})" for user, value in enumerate(values)),
    )
    expected: dict[Any, int] = {}
    for label in values.values():
        if label is not None:
            expected[label] = expected.get(label, 0) + 1
    found = counted(table)
    assert found == expected
    assert {type(label) for label in found} == {type(label) for label in expected}


def test_types_come_from_the_definition_and_never_from_a_row(tmp_path: Path) -> None:
    """Ibis would take the type of the first row: whether a question is refused would tell what it holds."""
    for number, rows in enumerate(("", "(1, 'tea')", "(1, 5)", "(1, 1.5), (2, x'00')")):
        statements = [
            "create table base (user integer, item)",
            "create view t as select user, item || '' as item from base",
        ]
        table = source(tmp_path / f"{number}.sqlite", *statements, *([f"insert into base values {rows}"] * bool(rows)))
        table.check(question(1, where="item like 't%'"))
        with pytest.raises(QuestionError, match="a score adds up numbers"):
            table.check(question(1, score="sum(item)", clip=1))


def test_a_table_of_ibis_whose_type_came_from_a_row_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite"
    written(path, "create table t (user integer, item)", "insert into t values (1, 'tea')")
    written(path, "create table typed (user integer, item text)", "insert into typed values (1, 'tea')")
    engine = ibis.sqlite.connect(path)
    with pytest.raises(QuestionError, match="without a declared type"):
        open_source(engine.table("t"))
    assert counted(open_source(engine.table("typed")), contribution=1) == {"tea": 1}
    engine.disconnect()


def test_another_encoding_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="UTF-16le"):
        source(tmp_path / "t.sqlite", "pragma encoding = 'UTF-16le'", "create table t (user integer, item text)")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(QuestionError, match="no SQLite database"):
        open_source(f"sqlite:///{tmp_path}/none.sqlite", table="t")
    assert not (tmp_path / "none.sqlite").exists()
    written(tmp_path / "t.sqlite", "create table t (user integer)")
    with pytest.raises(QuestionError, match="no table 'other'"):
        open_source(f"sqlite:///{tmp_path}/t.sqlite", table="other")


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without, with every kind of value in every column."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        columns, folder = sqlite_columns(), tmp_path_factory.mktemp("pairs")
        kinds = ", ".join(f"{column.name} {kind}" for column, kind in columns)
        sides = []
        for with_user in (True, False):
            rows = (f"insert into t values ({row})" for row in selects(columns, with_user, "{value}"))
            sides.append(
                source(folder / f"{with_user}.sqlite", f"create table t (user text, item text, {kinds})", *rows)
            )
        first, second = sides
        return Pair(first, second, tuple(column for column, _ in columns), every=8)

    def test_a_guard_that_is_taken_out_is_found(self, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        """The power of the suite here: a value of another type than its column's makes the reading of it fail."""
        folder = Path(pair.with_user._runner._engine.con.execute("pragma database_list").fetchone()[2]).parent  # type: ignore[attr-defined] # its file
        monkeypatch.setattr(sqlite_values, "_readable_column", lambda column: column)
        first, second = (
            open_source(f"sqlite:///{folder}/{with_user}.sqlite", table="t") for with_user in (True, False)
        )
        days = tuple(column for column in pair.columns if column.name == "day")
        assert found_by_keys(Pair(first, second, days), days[0])
