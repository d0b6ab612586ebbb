"""MariaDB keeps the contract; beyond it: days that there are not, padded text, settings of others, tables without
snapshots, a clock."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from typing import Any
from urllib.parse import urlsplit

import ibis
import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.sources import open_source
from crestline.sources.engine.dialects import mariadb
from tests.sources import total
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered, coverage_stays, refuses_all_items, views_stay
from tests.sources.conformance import agrees, ask, events, question
from tests.sources.conforming import Conformance
from tests.sources.engines import MariaDB, mariadb_connection
from tests.sources.pairs import Pair, PairSuite, found_by_keys
from tests.sources.pairs_servers import mariadb_columns, selects

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def engine(mariadb_url: str) -> Iterator[MariaDB]:
    """A database of its own; `MariaDB.source` makes others beside it."""
    name = f"sources_{uuid.uuid4().hex[:12]}"
    with closing(mariadb_connection(mariadb_url)) as admin, closing(admin.cursor()) as cursor:
        cursor.execute(f"create database {name}")
        yield MariaDB(mariadb_url.rpartition("/")[0] + f"/{name}")
        cursor.execute(f"drop database {name}")


def prepared(engine: MariaDB, *statements: str) -> None:
    with closing(mariadb_connection(engine.url)) as connection, closing(connection.cursor()) as cursor:
        for statement in statements:
            cursor.execute(statement)
        connection.commit()


def rows_of(table: pa.Table) -> str:
    return ", ".join(f"({user}, {item})" for user, item in zip(*table.to_pydict().values(), strict=True))


def own_connection(engine: MariaDB) -> Any:
    """A connection of somebody else, with settings of theirs."""
    parts = urlsplit(engine.url)
    database = parts.path.removeprefix("/")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the server has no names of time zones
        return ibis.mysql.connect(host=parts.hostname, port=parts.port, user=parts.username, database=database)


@pytest.mark.sample(n=1)
class TestMariaDB(Conformance):
    tested_engine = "mariadb"

    def test_a_collation_neither_merges_nor_reorders_items(self, engine: MariaDB) -> None:
        prepared(
            engine,
            "create table careless (user int, item varchar(9) character set latin1 collate latin1_general_ci)",
            "insert into careless values (1, 'b'), (2, 'B'), (3, 'a'), (4, 'é'), (5, 'b ')",
        )
        source = open_source(engine.url, table="careless")
        assert ask(source, question(5)).items == ("B", "a", "b", "b ", "é")
        for condition, count in (
            ("item = 'b'", 1), ("item <> 'b'", 4), ("item in ('b', 'É')", 1), ("item like 'b%'", 2), ("item < 'a'", 1),
        ):  # fmt: skip
            assert sum(ask(source, question(5, where=condition)).counts) == count

    def test_finite_numbers_in_full(self, engine: MariaDB) -> None:
        values = [0.1, -2.5, 1e300, 1e-300, 5e-324, 10.0, 9.0, 2.0**53]
        table = events(pa.float64(), values)
        agrees(engine.source(table), table, question())
        source: Any = engine.source(total.table(pa.float64(), [*values, None]))
        total.agrees_on_every_value(source, pa.float64(), [*values, None], total.NUMBERS)
        scored = pa.table({"user": [1, 1, 2, 3], "item": ["a", "a", "a", "b"], "v": [0.5, 1e300, 0.25, 1e-300]})
        assert ask(engine.source(scored), question(2, score="sum(v)", clip=1)).counts == (1_250_000, 0)

    def test_days_that_there_are_not_are_dropped(self, engine: MariaDB) -> None:
        prepared(
            engine,
            "set sql_mode = 'ALLOW_INVALID_DATES'",
            "create table days (user int, item date, at datetime(6))",
            "insert into days values (1, '0000-00-00', '0000-00-00'), (2, '2026-02-31', '2026-02-31 10:00')",
            "insert into days values (3, '2026-00-10', '2026-01-00'), (4, '2026-01-31', '2026-01-31 10:00:00.5')",
        )
        source = open_source(engine.url, table="days")
        assert ask(source, question(2)).items[0] == date(2026, 1, 31)
        for item in ("item", "at", "date(at)", "week(at)", "year(item)"):
            assert ask(source, question(2, item=(item,))).counts == (1, 0)

    def test_longer_text_is_no_item_and_changes_nothing_for_other_users(self, engine: MariaDB) -> None:
        whole = "é" * (mariadb.LONGEST_KEY // 2)
        table = events(pa.string(), [whole, whole, whole + "x", "short", whole[:-1] + "è"])
        histogram = ask(engine.source(table), question(4, contribution=1))
        assert (histogram.items[0], histogram.counts) == (whole, (2, 1, 1, 0))

    def test_the_connection_may_only_read(self, engine: MariaDB) -> None:
        prepared(engine, "create table mine (user int, item int)")
        source: Any = open_source(engine.url, table="mine")
        with pytest.raises(Exception, match="READ ONLY transaction"):
            source._runner._engine.raw_sql("insert into mine values (1, 1)")

    def test_a_question_reads_only_whatever_the_connection_may(self, engine: MariaDB) -> None:
        """Also with settings of somebody else, under which a backslash or a text means something else."""
        prepared(
            engine,
            "create table log (at int)",
            "create function logged() returns int begin insert into log values (1); return 1; end",
            "create view writes as select logged() as user, 1 as item",
            "create view sleeps as select sleep(60) as user, 1 as item",
            "create table plain (user int, item varchar(9))",
            r"insert into plain values (1, 'a\\b'), (2, 'a'), (3, 'A')",
        )
        backend = own_connection(engine)
        with backend.begin() as cursor:
            cursor.execute("set names latin1, sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT'")
        with pytest.raises(EngineDefect):
            ask(open_source(backend.table("writes")), question(1))
        with pytest.raises(SourceError, match="gave the statement up"):
            ask(open_source(backend.table("sleeps"), timeout=0.2), question(1))
        source = open_source(backend.table("plain"))
        assert ask(source, question(3)).items == ("A", "a", "a\\b")
        assert ask(source, question(1, where=r"item = 'a\b'")).items == ("a\\b",)
        with backend.begin() as cursor:
            cursor.execute("select count(*) from log")
            assert cursor.fetchall() == ((0,),)
        backend.disconnect()

    def test_a_statement_is_given_up_in_time(self, engine: MariaDB) -> None:
        prepared(
            engine, "create view slow as select a.seq as user, b.seq as item from seq_1_to_100000 a, seq_1_to_100000 b"
        )
        source = open_source(engine.url, table="slow", timeout=0.2)
        with pytest.raises(SourceError, match="gave the statement up"):
            ask(source, question(1))

    @pytest.mark.parametrize("storage", ["InnoDB", "MyISAM", "view"])
    def test_what_is_written_in_between_changes_nothing(self, engine: MariaDB, storage: str) -> None:
        """Tables of MyISAM have no snapshots, and a view may read one of them."""
        name = f"between_{storage.lower()}"
        held = f"{name}_held" if storage == "view" else name
        prepared(
            engine,
            f"create table {held} (user bigint, item bigint) engine = {'MyISAM' if storage == 'view' else storage}",
            *([f"create view {name} as select * from {held}"] if storage == "view" else []),
        )
        source = open_source(engine.url, table=name)

        def before() -> None:
            prepared(engine, f"delete from {held}", f"insert into {held} values {rows_of(BEFORE)}")

        def write() -> None:
            prepared(engine, f"insert into {held} values {rows_of(AFTER)}")

        before()
        assert answered(source, write, DOMAIN).items == NAMED
        if storage != "InnoDB":
            refuses_all_items(source)
        else:
            before()
            assert views_stay(source, write)
            before()
            assert coverage_stays(source, write)

    def test_what_an_error_means(self, engine: MariaDB) -> None:
        prepared(engine, "create table gone (user int, item int)", "create table lost (user int, item int)")
        gone, lost = (open_source(engine.url, table=name) for name in ("gone", "lost"))
        prepared(engine, "drop table gone")
        with pytest.raises(SourceError, match="have changed"):
            ask(gone, question(1))
        held: Any = lost
        prepared(engine, f"kill {held._runner._engine.con.thread_id()}")
        with pytest.raises(SourceError, match="did not answer") as failure:
            ask(lost, question(1))
        assert not isinstance(failure.value, EngineDefect)


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without, with the ends of every type."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, engine: MariaDB) -> Pair:
        columns = mariadb_columns()
        kinds = ", ".join(f"{column.name} {kind}" for column, kind in columns)
        for name, with_user in (("pair_with", True), ("pair_without", False)):
            prepared(
                engine,
                "set sql_mode = 'ALLOW_INVALID_DATES'",
                f"create table {name} (user varchar(9), item varchar(9), {kinds})",
                *(f"insert ignore into {name} values ({row})" for row in selects(columns, with_user, "{value}")),
            )
        sides = [open_source(engine.url, table=name) for name in ("pair_with", "pair_without")]
        return Pair(sides[0], sides[1], tuple(column for column, _ in columns), every=8)

    def test_a_guard_that_is_taken_out_is_found(
        self, pair: Pair, engine: MariaDB, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The power of the suite here: bits are bytes to the driver, and days that there are not are nothing to it."""
        monkeypatch.setattr(mariadb, "_readable_column", lambda column: column)
        sides = [open_source(engine.url, table=name) for name in ("pair_with", "pair_without")]
        held = tuple(column for column in pair.columns if column.name == "bits")
        assert found_by_keys(Pair(sides[0], sides[1], held), held[0])


def test_wrong_names_are_told_apart(engine: MariaDB) -> None:
    parts = urlsplit(engine.url)
    place = f"127.0.0.1:{parts.port}"
    prepared(engine, "create or replace user somebody@'%' identified by 'right'")
    for url, said in (
        (f"mariadb://root@{place}/no_such_database", "the server has no such database"),
        (f"mariadb://somebody:wrong@{place}/mysql", "does not let this user in"),
        (f"mysql://nobody:secret@{place}/mysql", "does not let this user in"),
        (f"mariadb://somebody:right@{place}/mysql", "does not let this user in"),
        ("mariadb://root@127.0.0.1:1/mysql", "nobody answers there"),
    ):
        with pytest.raises(SourceError, match=said) as failure:
            open_source(url, table="t")
        assert not any(word in str(failure.value) for word in ("secret", "wrong", "right"))
    with pytest.raises(QuestionError, match="no table 'nowhere'"):
        open_source(engine.url, table="nowhere")
