"""Tables of lakes: one snapshot for one question, the same values as in Parquet, no version unless one is named."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.errors import QuestionError, SourceError
from crestline.question import Question
from crestline.sources import open_source

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries

QUESTION = Question(k=2, k_bar=3)
FIRST = pa.table({"user": [1, 2, 2, 3], "item": ["a", "a", "b", None], "country": ["DE", "DE", "FR", "FR"]})
SECOND = pa.table({"user": [7, 8, 9], "item": ["z", "z", "z"], "country": ["DE", "DE", "IT"]})
BROKEN = pa.table(
    {
        "user": [1, 2, 3, 4],
        "item": pa.array([b"\xff\xfe", b"a", b"b", b"b"]).view(pa.string()),  # the first is no UTF-8
        "at": pa.array([datetime(2026, 1, 1)] * 4, pa.timestamp("us")),
        "price": pa.array([Decimal("1.50")] * 4, pa.decimal128(9, 2)),
    }
)
AS_PARQUET = {"b": 2, "a": 1, "\N{REPLACEMENT CHARACTER}" * 2: 1}

Made = Callable[[str, pa.Table], object]


def counted(source: Any, question: Question = QUESTION) -> dict[Any, int]:
    source.check(question)
    histogram = source.top_counts(question)
    return {item: count for item, count in zip(histogram.items, histogram.counts, strict=True) if count}


class TestDelta:
    def test_a_folder_with_a_log_is_read_as_its_newest_version(self, tmp_path: Path) -> None:
        from deltalake import DeltaTable, write_deltalake

        path = tmp_path / "sales"
        write_deltalake(path, FIRST, partition_by=["country"])
        source = open_source(path)
        assert counted(source) == {"a": 2, "b": 1}
        assert counted(source, Question(k=1, k_bar=2, item=("country",))) == {"DE": 2, "FR": 2}
        assert counted(source, Question(k=1, k_bar=2, where="country = 'FR'")) == {"b": 1}
        write_deltalake(path, SECOND, mode="overwrite")  # the old files are still in the folder
        assert counted(source) == counted(open_source(f"delta:{path}")) == {"z": 3}
        assert counted(open_source(DeltaTable(path))) == {"z": 3}
        assert source.version() is None

    def test_a_version_that_is_named_stays_and_is_a_label(self, tmp_path: Path) -> None:
        from deltalake import write_deltalake

        path = tmp_path / "sales"
        write_deltalake(path, FIRST)
        source = open_source(f"{path}@v0")
        write_deltalake(path, SECOND, mode="overwrite")
        assert counted(source) == {"a": 2, "b": 1}
        assert source.version() == "delta version 0"
        with pytest.raises(SourceError, match="check its name, its version"):
            open_source(f"{path}@v9")

    def test_a_row_that_cannot_be_read_changes_nothing_for_other_users(self, tmp_path: Path) -> None:
        from deltalake import convert_to_deltalake

        (tmp_path / "sales").mkdir()
        pq.write_table(BROKEN, tmp_path / "sales" / "t.parquet")
        convert_to_deltalake(tmp_path / "sales")
        assert counted(open_source(tmp_path / "sales")) == AS_PARQUET

    def test_a_question_that_cannot_be_asked_is_refused_by_the_types_alone(self, tmp_path: Path) -> None:
        from deltalake import write_deltalake

        write_deltalake(tmp_path / "sales", FIRST)
        source = open_source(tmp_path / "sales")
        with pytest.raises(QuestionError, match="no column 'venue'"):
            source.check(Question(k=1, k_bar=2, item=("venue",)))
        with pytest.raises(QuestionError, match="a Delta table is one table"):
            open_source(tmp_path / "sales", table="sales")

    def test_observed_items_and_sums_and_a_ledger(self, tmp_path: Path) -> None:
        from deltalake import write_deltalake

        rows = 300
        sold = pa.table({"user": range(rows), "item": ["tea"] * rows, "price": [2.5] * rows})
        write_deltalake(tmp_path / "sales", sold)
        asked: dict[str, Any] = {"user": "user", "item": "item", "k": 1, "epsilon": 1, "delta": "1e-6"}
        for options in ({"mechanism": "Sieve"}, {"contribution": 1}, {"score": "sum(price)", "clip": 5}):
            assert cl.top_k(str(tmp_path / "sales"), **asked, **options).items == ("tea",)


class TestIceberg:
    @pytest.fixture
    def catalogue(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
        from pyiceberg import catalog
        from pyiceberg.utils.config import Config

        monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path}/catalogue.db")
        monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", f"file://{tmp_path}")
        monkeypatch.setattr(catalog, "_ENV_CONFIG", Config())  # it is read once, when the library is imported
        found = catalog.load_catalog("prod")
        found.create_namespace("shop")
        return found

    def test_a_table_of_a_catalogue_is_read_as_its_newest_snapshot(self, catalogue: Any) -> None:
        table = catalogue.create_table("shop.sales", schema=FIRST.schema)
        source = open_source("iceberg://prod", table="shop.sales")
        assert counted(source) == {}  # no snapshot yet: a legal table
        table.append(FIRST)
        assert counted(source) == {"a": 2, "b": 1}
        first = table.current_snapshot().snapshot_id
        table.overwrite(SECOND)
        assert counted(source) == {"z": 3}
        assert source.version() is None
        pinned = open_source("iceberg://prod", table=f"shop.sales@v{first}")
        assert counted(pinned) == {"a": 2, "b": 1}
        assert pinned.version() == f"iceberg snapshot {first}"
        table.delete("user = 8")
        assert counted(source) == counted(open_source(catalogue.load_table("shop.sales"))) == {"z": 2}

    def test_a_row_that_cannot_be_read_changes_nothing_for_other_users(self, catalogue: Any, tmp_path: Path) -> None:
        table = catalogue.create_table("shop.sales", schema=BROKEN.schema)
        pq.write_table(BROKEN, tmp_path / "t.parquet", write_statistics=False)  # the library would stumble over them
        table.add_files([f"file://{tmp_path}/t.parquet"])
        assert counted(open_source("iceberg://prod", table="shop.sales")) == AS_PARQUET

    def test_what_can_be_wrong(self, catalogue: Any) -> None:
        with pytest.raises(QuestionError, match=r"needs `table`: namespace\.table"):
            open_source("iceberg://prod")
        with pytest.raises(SourceError, match="check its name"):
            open_source("iceberg://prod", table="shop.other")
        catalogue.create_table("shop.sales", schema=FIRST.schema)
        with pytest.raises(SourceError, match="check its name, its version"):
            open_source("iceberg://prod", table="shop.sales@v1")


@pytest.mark.parametrize(
    ("library", "address", "options"),
    [("deltalake", "delta:sales", {}), ("pyiceberg.catalog", "iceberg://prod", {"table": "shop.sales"})],
)
def test_a_missing_driver_names_the_command(
    library: str, address: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(SourceError, match=r"pip install 'crestline\[(delta|iceberg)\]'"):
        open_source(address, **options)
