"""Spark, in local mode, keeps the contract."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, SourceError
from crestline.sources import open_source
from crestline.sources.expression import score
from tests.sources.between import AFTER, BEFORE, DOMAIN, NAMED, answered, coverage_stays, views_stay
from tests.sources.conformance import SourceConformance, ask, events, question
from tests.sources.conformance_coarse import CoarseConformance
from tests.sources.conformance_coverage import CoverageConformance
from tests.sources.conformance_groups import GroupConformance
from tests.sources.conformance_periods import PeriodConformance
from tests.sources.conformance_scores import ScoreConformance
from tests.sources.conformance_views import ViewConformance
from tests.sources.engines import Spark
from tests.sources.pairs import Pair, PairSuite, found_by_scores
from tests.sources.pairs_servers import names, selects, spark_columns

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

# A Java that lives for minutes spends half of its time on compiling well what hardly runs again.
_SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


@pytest.fixture(scope="session")
def engine() -> Iterator[Spark]:
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("crestline tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.default.parallelism", "1")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.driver.extraJavaOptions", _SHORT_LIVED)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield Spark(session)
    session.stop()


class TestSpark(
    SourceConformance,
    CoarseConformance,
    PeriodConformance,
    ScoreConformance,
    ViewConformance,
    GroupConformance,
    CoverageConformance,
):
    def test_times_with_a_zone_come_back_in_utc(self, engine: Spark) -> None:
        """Ibis does not tell Spark's two kinds of timestamp apart, so the label is UTC without saying so."""
        moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
        table = events(pa.timestamp("us", tz="UTC"), [moment, moment])
        assert ask(engine.source(table), question(1)).items == (moment.replace(tzinfo=None),)

    def test_what_is_written_between_counting_and_naming_changes_nothing(self, engine: Spark) -> None:
        def put(table: pa.Table) -> None:
            engine.session.createDataFrame(table).createOrReplaceTempView("replaced")

        put(BEFORE)
        assert answered(open_source("spark://local", table="replaced"), lambda: put(AFTER), DOMAIN).items == NAMED

    def test_what_is_written_between_two_views_changes_neither(self, engine: Spark) -> None:
        def put(table: pa.Table) -> None:
            engine.session.createDataFrame(table).createOrReplaceTempView("replaced")

        put(BEFORE)
        assert views_stay(open_source("spark://local", table="replaced"), lambda: put(AFTER))
        put(BEFORE)
        assert coverage_stays(open_source("spark://local", table="replaced"), lambda: put(AFTER))

    def test_a_statement_is_given_up_in_time(self, engine: Spark) -> None:
        engine.session.sql(
            "create or replace temp view slow as select a.id * 1000000 + b.id as user, a.id as item "
            "from range(1000000) a cross join range(1000000) b"
        )
        with pytest.raises(SourceError, match="gave the statement up"):
            open_source("spark://local", table="slow", timeout=2).top_counts(question(1))
        assert not engine.session.sparkContext.getJobTags()

    def test_what_an_error_means(self, engine: Spark, capfd: pytest.CaptureFixture[str]) -> None:
        engine.session.sql("select 1 as user, 1 as item").createOrReplaceTempView("dropped")
        source = open_source("spark://local", table="dropped")
        engine.session.catalog.dropTempView("dropped")
        with pytest.raises(SourceError, match="have changed"):
            source.top_counts(question(1))
        engine.session.sql(
            "create or replace temp view failing as select 1 as user, cast(what as int) as item "
            "from values ('secret') as t(what)"
        )
        with pytest.raises(EngineDefect) as failure:
            open_source("spark://local", table="failing").top_counts(question(1))
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
        source = open_source("spark://local", table="years")
        assert ask(source, question(4)).items == tuple(moments)
        assert ask(source, question(4, item=("zoned",))).items == tuple(moments)

    def test_a_collation_neither_merges_nor_reorders_items(self, engine: Spark) -> None:
        engine.session.sql("select * from values (1, 'b'), (2, 'B'), (3, 'a') as t(user, plain)").selectExpr(
            "user", "collate(plain, 'UTF8_LCASE') as item"
        ).createOrReplaceTempView("collated")
        naive = engine.session.sql("select item, count(*) from collated group by item").collect()
        assert len(naive) == 2  # the engine on its own merges b and B
        assert ask(open_source("spark://local", table="collated"), question(3)).items == ("B", "a", "b")


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
        sources = (open_source("spark://local", table=name) for name in ("pair_with", "pair_without"))
        return Pair(*sources, tuple(column for column, _ in columns), every=12)

    def test_a_guard_that_is_taken_out_is_found(self, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        """The power of the suite here: Spark fails on a double that is converted before it is clipped."""
        monkeypatch.setattr(score, "_clipped_double", lambda value, clip, engine: value.cast("int64").cast("float64"))
        sources = (open_source("spark://local", table=name) for name in ("pair_with", "pair_without"))
        naked = Pair(*sources, pair.columns, every=1)
        doubles = [column for column in pair.columns if column.name == "double"]
        assert [told for column in doubles for told in found_by_scores(naked, column)]
