"""The DuckDB that reads files and frames keeps the contract, although it compares text as it stands."""

from __future__ import annotations

import pytest

from tests.sources.conforming import Conformance
from tests.sources.engines import Embedded

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Embedded:
    return Embedded(tmp_path_factory.mktemp("embedded"))


@pytest.mark.sample(n=1)
class TestEmbedded(Conformance):
    """Everything in the suite."""

    tested_engine = "embedded"
