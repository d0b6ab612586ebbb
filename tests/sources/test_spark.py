"""Spark, in local mode, keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from crestline.sources import open_source
from tests.sources.conformance import SourceConformance, ask, events, question
from tests.sources.conformance_scores import ScoreConformance
from tests.sources.engines import Spark

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark"), pytest.mark.filterwarnings("ignore")]


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
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield Spark(session)
    session.stop()


class TestSpark(SourceConformance, ScoreConformance):
    def test_times_with_a_zone_come_back_in_utc(self, engine: Spark) -> None:
        """Ibis does not tell Spark's two kinds of timestamp apart, so the label is UTC without saying so."""
        moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
        table = events(pa.timestamp("us", tz="UTC"), [moment, moment])
        assert ask(engine.source(table), question(1)).items == (moment.replace(tzinfo=None),)

    def test_a_collation_neither_merges_nor_reorders_items(self, engine: Spark) -> None:
        engine.session.sql("select * from values (1, 'b'), (2, 'B'), (3, 'a') as t(user, plain)").selectExpr(
            "user", "collate(plain, 'UTF8_LCASE') as item"
        ).createOrReplaceTempView("collated")
        naive = engine.session.sql("select item, count(*) from collated group by item").collect()
        assert len(naive) == 2  # the engine on its own merges b and B
        assert ask(open_source("spark://local", table="collated"), question(3)).items == ("B", "a", "b")
