"""Spark on a cluster of two workers keeps the contract."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import ibis
import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, SourceError
from crestline.sources import open_source
from crestline.sources.engine.dialects.spark import SPARK
from crestline.sources.engine.inline_tables import inline_int_table
from crestline.sources.expression import score
from tests.patience import PATIENCE
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered, coverage_stays, views_stay
from tests.sources.conformance import ask, events, question
from tests.sources.conforming import Conformance
from tests.sources.engines import Engine, Spark
from tests.sources.pairs import Pair, PairSuite, found_by_filters, found_by_scores
from tests.sources.pairs_servers import names, selects, spark_columns
from tests.spark_cluster import CONNECT, cluster_settings, connect_url, running_cluster, session_on

pytestmark = [pytest.mark.engines, pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# One small table is asked at a time: what is meant for large ones would only cost time.
_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


_CONNECT_MODULE = "tests/sources/spark_connect.py"
_COUNTED = """
from crestline.question import Question
histogram = s.open_source(sys.argv[1], table="shop.sales").top_counts(Question(k=1, k_bar=2))
print(*(part for row in zip(histogram.items, histogram.counts) for part in row))
"""
# What is run over Spark Connect as well: one of each kind.
_OVER_CONNECT = {
    "items, users and sums": (
        "test_ties_are_in_byte_order_and_labels_are_plain_values[text]",
        "test_nulls_are_dropped_in_the_user_and_in_any_item_column",
        "test_where[item like 'a_b']",
        "test_sums_are_clipped_per_user_and_item[decimals]",
    ),
    "bounds, groups and views": (
        "test_contribution_keeps_the_items_of_smallest_hash[3-text]",
        "test_bounds_are_for_a_user_and_a_period[week-2]",
        "test_every_group_has_its_own_ranking[{'contribution': 1}]",
        "test_views_of_filtered_rows[some buckets]",
    ),
}


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    shared = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}  # a folder that all workers see
    with running_cluster(workers=2) as url:
        session = session_on(url, cluster_settings() | CONNECT | _SMALL | shared)
        yield Spark(session, url)
        session.stop()


@pytest.mark.sample(n=1)
class TestSpark(Conformance):
    tested_engine = "pyspark"

    def test_times_with_a_zone_come_back_in_utc(self, engine: Engine) -> None:
        """Ibis does not tell Spark's two kinds of timestamp apart, so the label is UTC without saying so."""
        moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
        table = events(pa.timestamp("us", tz="UTC"), [moment, moment])
        assert ask(engine.source(table), question(1)).items == (moment.replace(tzinfo=None),)

    def test_what_is_written_between_counting_and_naming_changes_nothing(self, engine: Spark) -> None:
        def put(table: pa.Table) -> None:
            engine.session.createDataFrame(table).createOrReplaceTempView("replaced")

        put(BEFORE)
        assert answered(open_source(engine.url, table="replaced"), lambda: put(AFTER), DOMAIN).items == NAMED

    def test_what_is_written_between_two_views_changes_neither(self, engine: Spark) -> None:
        def put(table: pa.Table) -> None:
            engine.session.createDataFrame(table).createOrReplaceTempView("replaced")

        put(BEFORE)
        assert views_stay(open_source(engine.url, table="replaced"), lambda: put(AFTER))
        put(BEFORE)
        assert coverage_stays(open_source(engine.url, table="replaced"), lambda: put(AFTER))

    def test_small_tables_need_no_python_on_the_workers(self, engine: Spark) -> None:
        """As rows of Python they would be read by a Python on every worker, which it must have, for every statement."""
        backend, weights = ibis.pyspark.connect(engine.session), inline_int_table({"many": [1, 2]}, "pyspark")
        with SPARK.around_statement(backend):
            backend._run_pre_execute_hooks(weights)
            plan = backend.raw_sql(backend.compile(weights))._jdf.queryExecution().optimizedPlan().toString()
        assert plan.startswith("LocalRelation")

    def test_a_statement_is_given_up_in_time(self, engine: Spark) -> None:
        engine.session.sql(
            "create or replace temp view slow as select b.id % 7 as user, a.id % 5 as item "
            "from range(1000000) a cross join range(1000000) b"
        )
        with pytest.raises(SourceError, match="gave the statement up"):
            open_source(engine.url, table="slow", timeout=2).top_counts(question(1))
        assert not engine.session.sparkContext.getJobTags()

    def test_what_an_error_means(self, engine: Spark, capfd: pytest.CaptureFixture[str]) -> None:
        engine.session.sql("select 1 as user, 1 as item").createOrReplaceTempView("dropped")
        source = open_source(engine.url, table="dropped")
        engine.session.catalog.dropTempView("dropped")
        with pytest.raises(SourceError, match="have changed"):
            source.top_counts(question(1))
        engine.session.sql(
            "create or replace temp view failing as select 1 as user, cast(what as int) as item "
            "from values ('secret') as t(what)"
        )
        with pytest.raises(EngineDefect) as failure:
            open_source(engine.url, table="failing").top_counts(question(1))
        assert "secret" not in str(failure.value)
        assert "secret" not in "".join(capfd.readouterr())  # PySpark logs the error's words unless it is told not to
        gc.collect()  # PySpark leaves a socket of the failed statement behind; here its warning is ignored

    def test_days_and_moments_of_every_year_come_back(self, engine: Spark) -> None:
        """The calendar of data frames ends in the years 1677 and 2262: one row outside made every question fail."""
        moments = [datetime(2, 1, 1), datetime(1500, 6, 1, 12), datetime(2500, 1, 1), datetime(9998, 12, 31, 23)]
        engine.session.sql(
            "select 1 as user, cast(at as timestamp_ntz) as item, to_timestamp(at) as zoned from values "
            + ", ".join(f"('{moment.isoformat()}')" for moment in moments)
            + " as t(at)"
        ).createOrReplaceTempView("years")
        source = open_source(engine.url, table="years")
        assert ask(source, question(4)).items == tuple(moments)
        assert ask(source, question(4, item=("zoned",))).items == tuple(moments)

    def test_both_workers_take_part(self, engine: Spark) -> None:
        """Otherwise this were Spark in one process again."""
        context = engine.session.sparkContext
        together = context.parallelize(range(2), 2).barrier()  # both at once, and each worker has one core
        assert len(set(together.mapPartitions(lambda _: [os.getppid()]).collect())) == 2

    def test_files_on_a_shared_folder_are_a_table_of_a_schema(self, engine: Spark) -> None:
        """`schema.table`, as a catalogue of Spark has it; each worker reads and writes the files itself."""
        engine.session.sql("create database if not exists shop")
        table = pa.table({"user": [1, 2, 3, 1, None], "item": ["tea", "tea", "cocoa", "cocoa", "tea"]})
        engine.session.createDataFrame(table).repartition(2).write.saveAsTable("shop.sales")
        try:
            histogram = ask(open_source(engine.url, table="shop.sales"), question(3))
            assert (histogram.items[:2], histogram.counts) == (("cocoa", "tea"), (2, 2, 0))
            over_connect = f"import crestline.sources as s, sys; {_COUNTED}"
            command = [sys.executable, "-W", "ignore", "-c", over_connect, connect_url(engine.session)]
            assert subprocess.check_output(command, text=True, timeout=PATIENCE).split() == ["cocoa", "2", "tea", "2"]
        finally:
            engine.session.sql("drop database shop cascade")

    @pytest.mark.parametrize("kind", _OVER_CONNECT)
    def test_spark_connect_keeps_the_contract(self, engine: Spark, kind: str) -> None:
        names = [f"{_CONNECT_MODULE}::TestSparkConnect::{name}" for name in _OVER_CONNECT[kind]]
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *names]
        address = {"CRESTLINE_TEST_CONNECT": connect_url(engine.session)}
        done = subprocess.run(
            command, env=os.environ | address, capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        assert f"{len(names)} passed" in done.stdout, done.stdout + done.stderr

    def test_a_collation_neither_merges_nor_reorders_items(self, engine: Spark) -> None:
        engine.session.sql("select * from values (1, 'b'), (2, 'B'), (3, 'a') as t(user, plain)").selectExpr(
            "user", "collate(plain, 'UTF8_LCASE') as item"
        ).createOrReplaceTempView("collated")
        naive = engine.session.sql("select item, count(*) from collated group by item").collect()
        assert len(naive) == 2  # the engine on its own merges b and B
        assert ask(open_source(engine.url, table="collated"), question(3)).items == ("B", "a", "b")


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without; a statement takes long here, so few are made."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, engine: Spark) -> Pair:
        columns = spark_columns()
        for name, with_user in (("pair_with", True), ("pair_without", False)):
            rows = " union all ".join(f"select {row}" for row in selects(columns, with_user))
            engine.session.sql(f"create or replace temp view {name}({names(columns)}) as {rows}")
            engine.session.table(name).cache()
        first, second = (open_source(engine.url, table=name) for name in ("pair_with", "pair_without"))
        return Pair(first, second, tuple(column for column, _ in columns), every=24)

    @pytest.mark.full
    def test_no_further_filter_tells_whether_a_user_is_there(self, pair: Pair) -> None:
        """As many filters again, between those of the other test."""
        further = replace(pair, start=pair.every // 2)
        assert [told for column in pair.columns for told in found_by_filters(further, column)] == []

    def test_a_guard_that_is_taken_out_is_found(
        self, engine: Spark, pair: Pair, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The power of the suite here: Spark fails on a double that is converted before it is clipped."""
        monkeypatch.setattr(score, "_clip_doubles", lambda value, clip, engine: value.cast("int64").cast("float64"))
        first, second = (open_source(engine.url, table=name) for name in ("pair_with", "pair_without"))
        naked = Pair(first, second, pair.columns, every=1)
        doubles = [column for column in pair.columns if column.name == "double"]
        assert [told for column in doubles for told in found_by_scores(naked, column)]
