"""The DuckDB that reads files and frames keeps the contract, although it compares text as it stands."""

from __future__ import annotations

import pytest

from tests.sources.conformance import SourceConformance
from tests.sources.conformance_coarse import CoarseConformance
from tests.sources.conformance_coverage import CoverageConformance
from tests.sources.conformance_groups import GroupConformance
from tests.sources.conformance_periods import PeriodConformance
from tests.sources.conformance_scores import ScoreConformance
from tests.sources.conformance_views import ViewConformance
from tests.sources.engines import Embedded


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return Embedded(tmp_path_factory.mktemp("embedded"))


class TestEmbedded(
    SourceConformance,
    CoarseConformance,
    PeriodConformance,
    ScoreConformance,
    ViewConformance,
    GroupConformance,
    CoverageConformance,
):
    """Everything in the two suites."""
