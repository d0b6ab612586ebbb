"""The pair suite on DuckDB: a database, Parquet files, and tables in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from crestline.audit.program.failing_filters import COLUMNS, Column
from crestline.audit.program.neighbouring_files import TABLE, columns_of, typed_table, write_typed_files
from crestline.sources import open_source
from crestline.sources.source import SlotSource
from tests.sources.pairs import Pair, PairSuite

pytestmark = pytest.mark.statistics


def opened(kind: str, path: str) -> SlotSource:
    return open_source(f"duckdb:///{path}", table=TABLE) if kind == "duckdb" else open_source(path)


def files(folder: Path, kind: str, every: int, start: int) -> Pair:
    made = write_typed_files(folder, kind, 3)
    return Pair(opened(kind, made.with_user), opened(kind, made.without), columns_of(kind), every, start)


def frames(convert: Any, columns: tuple[Column, ...], every: int, start: int) -> Pair:
    first, second = (open_source(convert(typed_table(side, columns))) for side in (True, False))
    return Pair(first, second, columns, every, start)


def as_pandas(table: Any) -> Any:
    """With types that have a place for null, so that no type depends on the rows; decimals would be Python objects."""
    import pandas as pd
    import pyarrow as pa

    whole = {pa.type_for_alias(name.lower()): getattr(pd, f"{name}Dtype")() for name in WHOLE}
    return table.to_pandas(date_as_object=False, types_mapper={pa.bool_(): pd.BooleanDtype(), **whole}.get)


WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


class TestDatabase(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        return files(tmp_path_factory.mktemp("pairs"), "duckdb", 6, 0)


@pytest.mark.full
@pytest.mark.slow
class TestDatabaseInFull(PairSuite):
    """Every comparison of every column with every literal."""

    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        return files(tmp_path_factory.mktemp("pairs"), "duckdb", 1, 0)


class TestParquet(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls, tmp_path_factory: pytest.TempPathFactory) -> Pair:
        return files(tmp_path_factory.mktemp("pairs"), "parquet", 12, 1)


class TestArrow(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls) -> Pair:
        return frames(lambda table: table, COLUMNS, 12, 3)


class TestPolars(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls) -> Pair:
        import polars

        # Polars has no seconds.
        return frames(polars.from_arrow, tuple(c for c in COLUMNS if not c.kind.startswith("timestamp[s")), 16, 5)


class TestPandas(PairSuite):
    @pytest.fixture(scope="class")
    @classmethod
    def pair(cls) -> Pair:
        return frames(as_pandas, tuple(c for c in COLUMNS if not c.kind.startswith("decimal")), 16, 7)
