"""The whole conformance suite, for one engine.

A class that inherits it names its engine (`tested_engine`, a key of `gaps.GAPS`) and provides the fixture `engine`.
What an engine cannot do is listed among its gaps, and nowhere else.
"""

from __future__ import annotations

from typing import ClassVar

from tests.sources.conformance import SourceConformance
from tests.sources.conformance_coarse import CoarseConformance
from tests.sources.conformance_coverage import CoverageConformance
from tests.sources.conformance_group_pairs import GroupPairConformance
from tests.sources.conformance_groups import GroupConformance
from tests.sources.conformance_periods import PeriodConformance
from tests.sources.conformance_scores import ScoreConformance
from tests.sources.conformance_views import ViewConformance


class Conformance(
    SourceConformance,
    CoarseConformance,
    PeriodConformance,
    ScoreConformance,
    ViewConformance,
    GroupConformance,
    GroupPairConformance,
    CoverageConformance,
):
    """Every suite that engines must pass alike."""

    tested_engine: ClassVar[str]
