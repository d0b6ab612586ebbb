"""PostgreSQL keeps the contract; beyond it: a locale's order of text, numbers that are none, rights, a clock."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from decimal import Decimal
from typing import Any

import ibis
import psycopg
import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.histogram.label_order import Padding
from crestline.histogram.view_kinds import SLOTS, View
from crestline.sources import open_source
from crestline.sources.expression import score
from crestline.sources.groups import group_histograms as group_tables
from crestline.sources.groups import observed_scores as observed_groups
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered, coverage_stays, refuses_all_items, views_stay
from tests.sources.conformance import ask, question
from tests.sources.conforming import Conformance
from tests.sources.engines import Postgres
from tests.sources.pairs import Pair, PairSuite, found_by_scores
from tests.sources.pairs_servers import postgres_columns, selects

pytestmark = pytest.mark.engines

LONG = 10**45 + 7  # longer than Python's decimals calculate by default


@pytest.fixture(scope="session")
def engine(postgres_url: str) -> Iterator[Postgres]:
    name = f"sources_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_url, autocommit=True) as admin:
        admin.execute(f'create database "{name}"')
        yield Postgres(postgres_url.rpartition("/")[0] + f"/{name}")
        admin.execute(f'drop database "{name}" with (force)')


def prepared(engine: Postgres, *statements: str) -> None:
    with psycopg.connect(engine.url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def rows_of(table: pa.Table) -> str:
    return ", ".join(f"({user}, {item})" for user, item in zip(*table.to_pydict().values(), strict=True))


@pytest.mark.sample(n=1)
class TestPostgres(Conformance):
    tested_engine = "postgres"

    @pytest.mark.parametrize("view", [SLOTS, View("observed", (1,))], ids=["slots", "observed"])
    def test_groups_are_sent_some_at_a_time_and_all_of_one_state(
        self, engine: Postgres, monkeypatch: pytest.MonkeyPatch, view: View
    ) -> None:
        prepared(
            engine,
            'drop table if exists many; create table many ("user" int, item text, "group" int)',
            "insert into many select n, 'x', n from generate_series(1, 30) n",
        )
        for module in (group_tables, observed_groups):
            monkeypatch.setattr(module, "_ROWS", 4)
        source = open_source(engine.url, table="many")
        asked = replace(question(2), by=("group",), contribution=1)
        with source.reading(asked, bytes(32), view) as reading:
            parts: Any = iter(reading.histogram)  # type: ignore[arg-type] # tables
            sizes = [len(next(parts))]
            prepared(engine, "insert into many values (99, 'x', 99); delete from many where \"group\" = 30")
            rest = list(parts)
        sizes += [len(part) for part in rest]
        assert sum(sizes) == 30
        assert max(sizes) <= 4
        assert rest[-1].groups[-1] == 30
        with source.reading(asked, bytes(32), view) as reading:  # left after the first part
            next(iter(reading.histogram))  # type: ignore[arg-type] # tables
        with source.reading(asked, bytes(32), view) as reading:
            assert sum(len(part) for part in reading.histogram) == 30  # type: ignore[misc, union-attr] # tables

    def test_a_locale_does_not_reorder_items(self, engine: Postgres) -> None:
        try:
            prepared(engine, "create collation people (provider = libc, locale = 'en_US.UTF-8')")
        except psycopg.errors.Error:
            pytest.skip("this machine cannot make the locale en_US.UTF-8")
        prepared(
            engine,
            'create table people ("user" int, item text collate people)',
            "insert into people values (1, 'b'), (2, 'B'), (3, 'a'), (4, 'é'), (5, 'z')",
        )
        with psycopg.connect(engine.url) as connection:
            naive = [row[0] for row in connection.execute("select item from people order by item")]
        assert naive == ["a", "b", "B", "é", "z"]
        source = open_source(engine.url, table="people")
        assert ask(source, question(5)).items == ("B", "a", "b", "z", "é")
        assert ask(source, question(5, where="item <= 'a'")).items[:2] == ("B", "a")

    def test_numerics_of_any_size_and_those_that_are_no_numbers(self, engine: Postgres) -> None:
        prepared(
            engine,
            'create table wide ("user" int, item numeric)',
            "insert into wide values (1, 1.50), (2, 1.5), (3, 'NaN'), (4, 'NaN'), (5, 'Infinity')",
            f"insert into wide values (6, 1e60), (7, {LONG}), (8, {LONG + 1})",
        )
        source = open_source(engine.url, table="wide")
        histogram = ask(source, question(5))
        assert histogram.items == (Decimal("1.5"), Decimal(LONG), Decimal(LONG + 1), Decimal(10**60), Padding(0))
        assert histogram.counts == (2, 1, 1, 1, 0)
        assert ask(source, question(5, score="sum(item)", clip=3)).counts == (*[1_000_000] * 4, 0)

    @pytest.mark.parametrize("clip", [1, 10**6 + 1, 2**63 - 1])
    def test_no_numeric_makes_a_score_or_a_filter_fail(self, engine: Postgres, clip: int) -> None:
        name = f"odd_{clip}"
        prepared(
            engine,
            f'create table {name} ("user" int, item text, v numeric, w numeric(4, 2))',
            f"insert into {name} values (1, 'tiny', 1e-400, 0), (2, 'large', 1e400, 99.99), (3, 'nan', 'NaN', 'NaN')",
            f"insert into {name} values (4, 'endless', 'Infinity', 1), (5, 'less', '-Infinity', 1), (6, 'no', null, 1)",
            f"insert into {name} values (7, 'long', 1e16000, -99.99), (8, 'negative', -1e400, 1), (9, 'one', 1, 1)",
        )
        source = open_source(engine.url, table=name)
        histogram = ask(source, question(9, score="sum(v)", clip=clip))
        found = {item: count for item, count in zip(histogram.items, histogram.counts, strict=True) if count}
        assert found == {"large": 10**6, "long": 10**6} | ({} if clip > 10**6 else {"one": 10**6})
        for condition, count in (
            ("v > 1e-300", 5), ("v < 1e-300", 3), ("v in (1, 1e300, 0.5)", 1), ("v between -1e300 and 1e300", 2),
            ("w < 1e20", 8), ("w > -0.001", 8), ("w = 99.99", 1), ("w <> 99.990000001", 9),
        ):  # fmt: skip
            for others, expected in (("item = 'nobody'", 0), ("item is not null", count)):
                assert sum(ask(source, question(9, where=f"{others} and {condition}")).counts) == expected

    def test_a_collation_that_ignores_case_neither_finds_nor_fails(self, engine: Postgres) -> None:
        collation = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
        try:
            prepared(engine, f"create collation careless ({collation})")
        except psycopg.errors.Error:
            pytest.skip("this server was built without ICU")
        prepared(
            engine,
            'create table careless ("user" int, item text collate careless)',
            "insert into careless values (1, 'a'), (2, 'A'), (3, 'b')",
        )
        source = open_source(engine.url, table="careless")
        for condition, count in (
            ("item = 'a'", 1), ("item <> 'a'", 2), ("item in ('a', 'B')", 1), ("item like 'a%'", 1), ("item < 'a'", 1),
        ):  # fmt: skip
            assert sum(ask(source, question(3, where=condition)).counts) == count

    def test_dates_outside_the_calendar_are_dropped(self, engine: Postgres) -> None:
        prepared(
            engine,
            'create table days ("user" int, item date, at timestamptz)',
            "insert into days values (1, 'infinity', 'infinity'), (2, '0044-03-15 BC', '-infinity')",
            "insert into days values (3, '2026-01-31', 'now')",
        )
        source = open_source(engine.url, table="days")
        assert ask(source, question(2)).counts == (1, 0)
        assert ask(source, question(2, item=("at",))).counts == (1, 0)

    def test_the_connection_may_only_read(self, engine: Postgres) -> None:
        prepared(engine, 'create table mine ("user" int, item int)')
        source = open_source(engine.url, table="mine")
        backend = source._runner._engine  # type: ignore[attr-defined] # the connection is nobody else's business
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            backend.raw_sql("insert into mine values (1, 1)")

    def test_a_statement_is_given_up_in_time(self, engine: Postgres) -> None:
        prepared(
            engine,
            'create view slow as select a as "user", b as item '
            "from generate_series(1, 100000) a, generate_series(1, 100000) b",
        )
        source = open_source(engine.url, table="slow", timeout=0.2)
        with pytest.raises(SourceError, match="gave the statement up"):
            source.top_counts(question(1))

    @pytest.mark.parametrize("domain", [DOMAIN, "catalogue"])
    def test_what_is_written_between_counting_and_naming_changes_nothing(self, engine: Postgres, domain: Any) -> None:
        schema = f"between_{len(domain)}"
        prepared(
            engine,
            f"create schema {schema}",
            f'create table {schema}.events ("user" bigint, item bigint)',
            f"create table {schema}.catalogue (item bigint)",
            f"insert into {schema}.events values {rows_of(BEFORE)}",
            f"insert into {schema}.catalogue values {', '.join(f'({item})' for item in DOMAIN)}",
        )
        source = open_source(f"{engine.url}/{schema}", table="events")

        def write() -> None:
            prepared(engine, f"delete from {schema}.events", f"delete from {schema}.catalogue where item = 15")
            prepared(engine, f"insert into {schema}.events values {rows_of(AFTER)}")

        assert answered(source, write, domain).items == NAMED

    def test_what_is_written_between_two_views_changes_neither(self, engine: Postgres) -> None:
        prepared(
            engine,
            'create table viewed ("user" bigint, item bigint)',
            f"insert into viewed values {rows_of(BEFORE)}",
        )
        source = open_source(engine.url, table="viewed")
        assert views_stay(source, lambda: prepared(engine, f"insert into viewed values {rows_of(AFTER)}"))
        assert ask(source, question(1)).items == (12,)  # the next question sees what was written
        assert ask(source, question(1)).counts == (3,)

    def test_what_is_written_between_the_counts_and_the_coverage_changes_neither(self, engine: Postgres) -> None:
        prepared(engine, 'create table covered ("user" bigint, item bigint)')
        prepared(engine, f"insert into covered values {rows_of(BEFORE)}")
        source = open_source(engine.url, table="covered")
        assert coverage_stays(source, lambda: prepared(engine, f"insert into covered values {rows_of(AFTER)}"))
        assert not coverage_stays(source, lambda: None)  # the next question sees what was written

    def test_a_connection_in_the_middle_of_a_transaction(self, engine: Postgres) -> None:
        """Somebody else's transaction may see new rows at every statement: the counts are then held in memory."""
        prepared(engine, 'create table busy ("user" bigint, item bigint)')
        prepared(engine, f"insert into busy values {rows_of(BEFORE)}")
        with psycopg.connect(engine.url) as connection:
            backend = ibis.postgres.from_connection(connection)
            source = open_source(backend.table("busy"))
            connection.execute("select 1")
            assert answered(source, lambda: prepared(engine, "delete from busy"), DOMAIN).items == NAMED
            refuses_all_items(source)
            connection.commit()
            assert source.limits.snapshots

    def test_a_statement_of_ours_is_no_transaction_of_somebody_else(self, engine: Postgres) -> None:
        """What a question is answered by does not depend on whether another is being answered."""
        prepared(engine, 'create table calm ("user" bigint, item bigint)')
        source: Any = open_source(engine.url, table="calm")
        with ThreadPoolExecutor() as pool:
            asked = pool.submit(
                lambda: source._runner._run(lambda: source._runner._engine.raw_sql("select pg_sleep(1)"))
            )
            time.sleep(0.3)
            assert source.limits.snapshots
            asked.result()

    def test_a_question_reads_only_whatever_the_connection_may(self, engine: Postgres) -> None:
        """A pooler may drop the options of the start, and a table of Ibis comes with a connection of its own."""
        prepared(
            engine,
            "create table log (at timestamptz)",
            "create function logged() returns int language sql as 'insert into log values (now()) returning 1'",
            'create view writes as select logged() as "user", 1 as item',
            'create view sleeps as select 1 as "user", 1 as item from pg_sleep(60)',
        )
        backend = ibis.postgres.from_connection(psycopg.connect(engine.url, autocommit=True))
        with pytest.raises(EngineDefect):
            open_source(backend.table("writes")).top_counts(question(1))
        with pytest.raises(SourceError, match="gave the statement up"):
            open_source(backend.table("sleeps"), timeout=0.2).top_counts(question(1))
        assert backend.con.execute("select * from log").fetchall() == []
        backend.con.close()

    @pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
    def test_a_database_of_another_encoding_is_refused(self, engine: Postgres, encoding: str) -> None:
        """In SQL_ASCII text may be any bytes: one that is no UTF-8 would make every question fail."""
        name = f"encoded_{encoding.lower()}"
        prepared(engine, f"create database {name} encoding '{encoding}' locale 'C' template template0")
        try:
            with pytest.raises(QuestionError, match=f"encoded in {encoding}"):
                open_source(engine.url.rpartition("/")[0] + f"/{name}", table="t")
        finally:
            prepared(engine, f"drop database {name} with (force)")

    def test_what_an_error_means(self, engine: Postgres) -> None:
        prepared(engine, 'create table gone ("user" int, item int)', 'create table lost ("user" int, item int)')
        gone, lost = (open_source(engine.url, table=name) for name in ("gone", "lost"))
        prepared(engine, "drop table gone")
        with pytest.raises(SourceError, match="have changed"):
            gone.top_counts(question(1))
        backend = lost._runner._engine.con.info.backend_pid  # type: ignore[attr-defined] # its own connection
        prepared(engine, f"select pg_terminate_backend({backend})")
        with pytest.raises(SourceError, match="did not answer") as failure:
            lost.top_counts(question(1))
        assert not isinstance(failure.value, EngineDefect)

    def test_an_engine_error_says_nothing_of_the_rows(self, engine: Postgres) -> None:
        prepared(
            engine,
            "create table secrets (who int, what text)",
            "insert into secrets values (1, 'secret')",
            'create view broken as select who as "user", cast(what as int) as item from secrets',
        )
        source = open_source(engine.url, table="broken")
        with pytest.raises(EngineDefect, match="internal error") as failure:
            source.top_counts(question(1))
        assert failure.value.kind == "InvalidTextRepresentation"
        assert "secret" not in str(failure.value)
        assert failure.value.__context__ is None
        assert failure.value.__cause__ is None


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without; sums also of numbers that are none."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, engine: Postgres) -> Pair:
        columns = postgres_columns()
        sources = []
        for name, with_user in (("pair_with", True), ("pair_without", False)):
            kinds = ", ".join(f"{column.name} {kind}" for column, kind in columns)
            rows = ", ".join(f"({row})" for row in selects(columns, with_user))
            prepared(
                engine,
                f'create table {name} ("user" text, item text, {kinds})',
                f"insert into {name} values {rows}",
            )
            sources.append(open_source(engine.url, table=name))
        first, second = sources
        return Pair(first, second, tuple(column for column, _ in columns), every=4)

    def test_a_guard_that_is_taken_out_is_found(
        self, pair: Pair, engine: Postgres, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The power of the suite here: PostgreSQL fails on a double whose share of the clip is too small for one."""
        monkeypatch.setattr(score, "_TINY", 0.0)
        first, second = (open_source(engine.url, table=name) for name in ("pair_with", "pair_without"))
        naked = Pair(first, second, pair.columns, every=1)
        doubles = [column for column in pair.columns if column.name == "double"]
        assert [told for column in doubles for told in found_by_scores(naked, column)]


def test_wrong_names_are_told_apart(postgres_url: str) -> None:
    server, _, _ = postgres_url.partition("?")[0].rpartition("/")
    with pytest.raises(SourceError, match="the server has no such database"):
        open_source(f"{server}/no_such_database", table="t")
    host = server.rpartition("@")[2]
    with pytest.raises(SourceError, match="does not let this user in"):
        open_source(f"postgresql://no_such_user:secret@{host.removeprefix('postgresql://')}/postgres", table="t")
