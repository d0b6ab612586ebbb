"""Spark Connect keeps the contract. A process has a session of its own or one from afar, never both, so `test_spark.py`
runs this module in a process of its own, against the address in `CRESTLINE_TEST_CONNECT`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.sources.conformance import SourceConformance
from tests.sources.conformance_groups import GroupConformance
from tests.sources.conformance_periods import PeriodConformance
from tests.sources.conformance_scores import ScoreConformance
from tests.sources.conformance_views import ViewConformance
from tests.sources.engines import Spark

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="session")
def engine() -> Iterator[Spark]:
    from pyspark.sql import SparkSession

    url = os.environ["CRESTLINE_TEST_CONNECT"]
    session = SparkSession.builder.remote(url).getOrCreate()
    yield Spark(session, url)
    session.stop()


class TestSparkConnect(SourceConformance, PeriodConformance, ScoreConformance, ViewConformance, GroupConformance):
    pass
