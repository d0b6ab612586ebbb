"""DuckDB keeps the contract; beyond it: columns with a collation, and a clock."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from crestline.errors import SourceError
from crestline.sources import open_source
from tests.sources.conformance import ask, question
from tests.sources.conforming import Conformance
from tests.sources.engines import DuckDB


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDB:
    return DuckDB(tmp_path_factory.mktemp("duckdb"))


class TestDuckDB(Conformance):
    tested_engine = "duckdb"

    def test_a_collation_neither_merges_nor_reorders_items(self, tmp_path: Path) -> None:
        path = tmp_path / "t.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute("create table t (user int, item text collate nocase)")
            connection.execute("insert into t values (1, 'b'), (2, 'B'), (3, 'a'), (4, 'C')")
            naive = connection.execute("select item, count(*) from t group by item order by item").fetchall()
        assert len(naive) == 3  # the engine on its own merges b and B
        assert ask(open_source(f"duckdb:///{path}", table="t"), question(4)).items == ("B", "C", "a", "b")

    @pytest.mark.parametrize("timeout", [0.2, 1e-6])  # also when the time is over before the statement begins
    def test_a_statement_is_given_up_in_time(self, tmp_path: Path, timeout: float) -> None:
        path = tmp_path / "t.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(
                "create view t as select a.range * 100000 + b.range as user, a.range as item "
                "from range(100000) a, range(100000) b"
            )
        source = open_source(f"duckdb:///{path}", table="t", timeout=timeout)
        with pytest.raises(SourceError, match="gave the statement up"):
            source.top_counts(question(1))
