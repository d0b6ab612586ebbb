"""DataFusion keeps the contract; beyond it: moments of every unit and zone, nothing left in the session, no address."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest

from crestline.audit.program.failing_filters import COLUMNS
from crestline.audit.program.neighbouring_files import typed_table
from crestline.errors import QuestionError
from crestline.sources import open_source
from crestline.sources.engine.dialects import datafusion
from crestline.sources.engine.dialects.functions import cast
from tests.servers import needs
from tests.sources.conformance import ask, question
from tests.sources.conformance_views import views
from tests.sources.conforming import Conformance
from tests.sources.engines import DataFusion
from tests.sources.pairs import Pair, PairSuite, found_by_keys

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def engine() -> DataFusion:
    needs("datafusion", before=52)
    return DataFusion()


@pytest.mark.sample(n=1)
class TestDataFusion(Conformance):
    tested_engine = "datafusion"

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
    def test_moments_of_every_unit_and_zone(self, engine: DataFusion, unit: str, zone: str | None) -> None:
        moment = datetime(1969, 7, 20, 20, 17, 40, tzinfo=UTC if zone else None)
        source = engine.source(pa.table({"user": [1], "item": pa.array([moment], pa.timestamp(unit, tz=zone))}))
        assert ask(source, question(1)).items == (moment,)
        assert ask(source, question(1, item=("hour(item)",))).items == (20,)
        assert ask(source, question(1, where="item < '1970-01-01' and item > '0001-01-02'")).counts == (1,)

    def test_nothing_stays_in_the_session(self, engine: DataFusion, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CRESTLINE_MEMORY", "1")  # pairs are counted in the engine
        source = engine.source(pa.table({"user": [1, 2], "item": ["a", "b"]}))
        tables = source._runner._engine.con.catalog().schema().names  # type: ignore[attr-defined] # the session is nobody else's business
        with views(source, question(1)):
            assert len(tables()) > 1
        assert set(tables()) == {"events"}

    @pytest.mark.parametrize(
        "changes", [{}, {"contribution": 1}, {"where": "item like '%'"}, {"item": ("lower(item)",)}]
    )
    def test_text_that_is_not_utf_8_is_no_error(self, engine: DataFusion, changes: dict[str, Any]) -> None:
        broken = pa.array([b"\xff\xfe", b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
        source = engine.source(pa.table({"user": [1, 2, 3], "item": broken}))
        label = "fffe" if "item" in changes else "\\xff\\xfe"
        assert ask(source, question(2, **changes)).items == (label, "a")
        with views(source, question(2, **changes)) as pairs:
            assert pairs.slots(2).items == (label, "a")
            assert pairs.observed_items(bytes(32), np.array([1])).names([0]) == (label,)
        swapped = engine.source(pa.table({"item": [1, 2, 3], "user": broken}))
        with views(swapped, question(2, contribution=1)) as pairs:
            assert pairs.users_by_items().sum() == 2

    def test_there_is_no_address(self) -> None:
        with pytest.raises(QuestionError, match=r"ibis\.datafusion\.connect"):
            open_source("datafusion://", table="t")

    def test_a_view_of_the_session_is_a_table(self, engine: DataFusion) -> None:
        session = ibis.datafusion.connect()
        session.con.sql("create view t as select 1 as user, 'a' as item")
        assert ask(open_source(session.table("t")), question(1)).items == ("a",)


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without, with the ends of every type of Arrow."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, engine: DataFusion) -> Pair:
        first, second = (engine.source(typed_table(side, COLUMNS)) for side in (True, False))
        return Pair(first, second, COLUMNS, every=8)

    def test_a_guard_that_is_taken_out_is_found(self, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        """The power of the suite here: a moment in seconds that microseconds cannot hold."""
        monkeypatch.setattr(datafusion, "_total_cast", cast)
        (seconds,) = (column for column in pair.columns if column.kind == "timestamp[s]")
        assert found_by_keys(pair, seconds)
