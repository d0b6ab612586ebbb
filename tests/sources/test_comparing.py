"""Comparisons are defined for every value of every type: each type's ends against numbers and moments beyond them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.sources import open_source
from crestline.sources.table import TableSource
from tests.sources import total

EVERY = total.COLUMNS | total.ONLY_DUCKDB


def opened(way: str, table: pa.Table, folder: Path) -> TableSource:
    """The table as a Parquet file, as a table in memory, and in a database."""
    source: Any
    if way == "file":
        pq.write_table(table, folder / "t.parquet")
        source = open_source(folder / "t.parquet")
    elif way == "frame":
        source = open_source(table)
    else:
        with duckdb.connect(folder / "t.duckdb") as connection:
            connection.register("arrow", table)
            connection.execute("create table t as select * from arrow")
        source = open_source(f"duckdb:///{folder / 't.duckdb'}", table="t")
    assert isinstance(source, TableSource)
    return source


@pytest.mark.parametrize("way", ["file", "frame", "database"])
@pytest.mark.parametrize("name", EVERY)
def test_every_comparison_is_defined_for_every_value(name: str, way: str, tmp_path: Path) -> None:
    kind, cells, values = EVERY[name]
    cells = [*cells, None]
    total.agrees_on_every_value(opened(way, total.table(kind, cells), tmp_path), kind, cells, values)


def test_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("create table t as select 0 as row, 5::hugeint as v union all select 1, (-2)::hugeint")
        connection.execute(f"insert into t values (2, {2**127 - 1}), (3, {10**38 - 1}), (4, null)")
    source: Any = open_source(f"duckdb:///{tmp_path / 't.duckdb'}", table="t")
    cells = [5, -2, None, 10**38 - 1, None]  # numbers of 39 digits count as missing
    total.agrees_on_every_value(source, pa.decimal128(38, 0), cells, total.NUMBERS)
