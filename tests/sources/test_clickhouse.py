"""ClickHouse keeps the contract, as far as its types go; beyond it: settings of others, a clock, one zero, errors."""

from __future__ import annotations

from typing import Any

import ibis
import pyarrow as pa
import pytest

from crestline.errors import EngineDefect, QuestionError, SourceError
from crestline.sources import open_source
from crestline.sources.engine.dialects import clickhouse
from crestline.sources.engine.dialects.functions import try_cast
from crestline.sources.source import SlotSource
from tests.servers import needs
from tests.sources.between import refuses_all_items
from tests.sources.conformance import ask, question
from tests.sources.conforming import Conformance
from tests.sources.engines import ClickHouse
from tests.sources.pairs import Pair, PairSuite, found_by_filters
from tests.sources.pairs_servers import clickhouse_columns, selects

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def engine() -> ClickHouse:
    needs("chdb", "clickhouse_connect")
    return ClickHouse()


def client_of(source: SlotSource) -> Any:
    return source._runner._engine.con  # type: ignore[attr-defined] # the connection is nobody else's business


@pytest.mark.sample(n=1)
class TestClickHouse(Conformance):
    tested_engine = "clickhouse"

    def test_types_that_only_it_has(self, engine: ClickHouse) -> None:
        client = client_of(engine.source(pa.table({"user": [1]})))
        client.command(
            "create table t (user UInt64, item LowCardinality(String), code FixedString(2), "
            "kind Enum8('b' = 1, 'a' = 2), day Date, at DateTime) engine = Memory"
        )
        client.command("insert into t values (1, 'x', 'ab', 'a', '2026-01-31', '2026-01-31 12:00:00')")
        client.command("insert into t values (2, unhex('ff'), 'ab', 'b', '2026-01-31', '2026-01-31 12:00:00')")
        source = open_source(ibis.clickhouse.from_connection(client).table("t"))
        assert ask(source, question(2)).items == ("x", "\\xff")
        for column in ("code", "day", "at"):
            assert ask(source, question(1, item=(column,))).counts == (2,)
        assert ask(source, question(2, item=("kind",))).items == ("a", "b")

    def test_settings_of_others_change_nothing(self, engine: ClickHouse) -> None:
        source = engine.source(pa.table({"user": [1, 2, 3, 3], "item": ["a", "a", "a", "b"]}))
        client = client_of(source)
        for name, value in {
            "join_use_nulls": 0, "limit": 1, "max_rows_to_group_by": 2, "group_by_overflow_mode": "any",
            "session_timezone": "Asia/Tokyo", "aggregate_functions_null_for_empty": 1, "transform_null_in": 1,
        }.items():  # fmt: skip
            client.set_client_setting(name, value)
        listed = question(3, domain=["a", "b", "c"], contribution=2)
        client.set_client_setting("max_rows_to_group_by", 0)
        assert ask(source, listed).counts[:3] == (3, 1, 0)
        client.set_client_setting("max_rows_to_group_by", 1)
        with pytest.raises(SourceError, match="no room left"):  # and not a part of the rows
            ask(source, question(2))

    def test_all_observed_items_are_refused_and_auto_answers(self, engine: ClickHouse) -> None:
        refuses_all_items(engine.source(pa.table({"user": [1, 2], "item": ["a", "a"]})))

    def test_a_role_that_may_change_no_setting_is_refused(self, engine: ClickHouse) -> None:
        client = client_of(engine.source(pa.table({"user": [1], "item": ["a"]})))
        client.set_client_setting("readonly", 1)
        with pytest.raises(QuestionError, match="readonly = 2"):
            open_source(ibis.clickhouse.from_connection(client).table("events"))

    def test_a_statement_is_given_up_in_time(self, engine: ClickHouse) -> None:
        client = client_of(engine.source(pa.table({"user": [1]})))
        client.command("create view t as select number as user, number + 1 as item from numbers(100000000000)")
        slow = open_source(ibis.clickhouse.from_connection(client).table("t"), timeout=0.2)
        with pytest.raises(SourceError, match="gave the statement up"):
            ask(slow, question(1))

    def test_what_an_error_means(self, engine: ClickHouse) -> None:
        source = engine.source(pa.table({"user": [1], "item": ["a"]}))
        client_of(source).command("drop table events")
        with pytest.raises(SourceError, match="have changed") as failure:
            ask(source, question(1))
        assert not isinstance(failure.value, EngineDefect)

    def test_no_server(self, engine: ClickHouse) -> None:
        with pytest.raises(SourceError, match="nobody answers there"):
            open_source("clickhouse://reader:secret@127.0.0.1:1/shop", table="t")


class TestPairs(PairSuite):
    """The same question of a table with a user and of one without, with the ends of every type."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, engine: ClickHouse) -> Pair:
        columns = clickhouse_columns()
        kinds = ", ".join(f"{column.name} {kind}" for column, kind in columns)
        client = client_of(engine.source(pa.table({"user": [1]})))
        backend = ibis.clickhouse.from_connection(client)
        for name, with_user in (("pair_with", True), ("pair_without", False)):
            client.command(f"create table {name} (user String, item String, {kinds}) engine = Memory")
            for row in selects(columns, with_user):
                client.command(f"insert into {name} select {row}")
        sides = [open_source(backend.table(name)) for name in ("pair_with", "pair_without")]
        return Pair(sides[0], sides[1], tuple(column for column, _ in columns), every=8)

    def test_a_guard_that_is_taken_out_is_found(self, pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
        """The power of the suite here: a moment in milliseconds that microseconds cannot hold."""
        monkeypatch.setattr(clickhouse, "_total_cast", try_cast)
        (milli,) = (column for column in pair.columns if column.name == "at_milli")
        assert found_by_filters(pair, milli)
