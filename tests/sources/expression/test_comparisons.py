"""Comparisons are defined for every value of every type: each type's ends against numbers and moments beyond them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from crestline.sources import open_source
from tests.sources import total
from tests.sources.engines import Embedded

pytestmark = pytest.mark.long


def in_a_database(table: pa.Table, folder: Path) -> Any:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("arrow", table)
        connection.execute("create table t as select * from arrow")
    return open_source(f"duckdb:///{folder / 't.duckdb'}", table="t")


@pytest.mark.parametrize("name", total.COLUMNS | total.ONLY_DUCKDB)
def test_tables_in_memory(name: str) -> None:
    kind, cells, values = (total.COLUMNS | total.ONLY_DUCKDB)[name]
    source: Any = open_source(total.table(kind, [*cells, None]))
    total.agrees_on_every_value(source, kind, [*cells, None], values)


@pytest.mark.parametrize("name", total.ONLY_DUCKDB)
def test_types_that_only_duckdb_has(name: str, tmp_path: Path) -> None:
    kind, cells, values = total.ONLY_DUCKDB[name]
    source = in_a_database(total.table(kind, [*cells, None]), tmp_path)
    total.agrees_on_every_value(source, kind, [*cells, None], values)


@pytest.mark.parametrize("name", ["uint8", "uint64", "timestamp in ns"])
def test_types_that_only_duckdb_has_in_a_file(name: str, tmp_path: Path) -> None:
    kind, cells, values = total.ONLY_DUCKDB[name]
    source: Any = Embedded(tmp_path).source(total.table(kind, [*cells, None]))
    total.agrees_on_every_value(source, kind, [*cells, None], values)


def test_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("create table t as select 0 as row, 5::hugeint as v union all select 1, (-2)::hugeint")
        connection.execute(f"insert into t values (2, {2**127 - 1}), (3, {10**38 - 1}), (4, null)")
    source: Any = open_source(f"duckdb:///{tmp_path / 't.duckdb'}", table="t")
    cells = [5, -2, None, 10**38 - 1, None]  # numbers of 39 digits count as missing
    total.agrees_on_every_value(source, pa.decimal128(38, 0), cells, total.NUMBERS)
