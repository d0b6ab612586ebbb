"""Parquet: files of a glob that do not agree on types, and values that DuckDB itself does not read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.errors import QuestionError
from crestline.question import Question
from crestline.sources import open_source
from crestline.sources.files.parquet import common_type
from tests.sources.oracle import typed

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.sample(of="way")]

NOON = datetime(2026, 1, 31, 12)
ZONED = NOON.replace(tzinfo=UTC)


def glob(folder: Path, *columns: Any, name: str = "item") -> str:
    for number, column in enumerate(columns):
        users = pa.array([f"{number}-{i}" for i in range(len(column))])
        pq.write_table(pa.table({"user": users, name: column}), folder / f"{number}.parquet")
    return str(folder / "*.parquet")


def labels(path: str, **options: Any) -> list[Any]:
    asked = Question.from_fields({"user": "user", "item": ("item",), "k": 1, "k_bar": 5, **options})  # type: ignore[typeddict-item] # options
    source = open_source(path)
    source.check(asked)
    found = source.top_counts(asked, bytes(16))
    return [item for item, count in zip(found.items, found.counts, strict=True) if count]


MIXED: dict[str, tuple[list[Any], list[Any]]] = {
    "whole numbers": ([pa.array([1, 2], pa.int32()), pa.array([2**40, 2], pa.int64())], [2, 1, 2**40]),
    "unsigned": ([pa.array([1], pa.uint32()), pa.array([-1], pa.int16())], [-1, 1]),
    "the longest": (
        [pa.array([2**64 - 1], pa.uint64()), pa.array([-1], pa.int64())],
        [Decimal(-1), Decimal(2**64 - 1)],
    ),
    "floats": ([pa.array([0.5], pa.float32()), pa.array([0.1], pa.float64())], [0.1, 0.5]),
    "short and float": ([pa.array([7], pa.int32()), pa.array([0.5], pa.float32())], [0.5, 7.0]),
    "moments": ([pa.array([NOON], pa.timestamp("ns")), pa.array([NOON], pa.timestamp("us"))], [NOON]),
    "the first and last": (
        [pa.array([NOON], pa.timestamp("us")), pa.array([2**63 - 1, -(2**63) + 2], pa.timestamp("ns"))],
        [datetime(1677, 9, 21, 0, 12, 43, 145224), NOON],
    ),
    "zones": ([pa.array([ZONED], pa.timestamp("ns", "UTC")), pa.array([ZONED], pa.timestamp("ms", "UTC"))], [ZONED]),
    "decimals": (
        [pa.array([Decimal("1.50")], pa.decimal128(5, 2)), pa.array([Decimal(10**20)], pa.decimal128(22, 0))],
        [Decimal("1.5"), Decimal(10**20)],
    ),
    "nothing": ([pa.nulls(1), pa.array([5, 5], pa.int64())], [5]),
    "nothing at all": ([pa.nulls(1)], []),
}


@pytest.mark.parametrize("name", MIXED)
@pytest.mark.parametrize("turned", [False, True])
def test_mixed_types_are_one_column(tmp_path: Path, name: str, turned: bool) -> None:
    columns, expected = MIXED[name]
    path = glob(tmp_path, *(columns[::-1] if turned else columns))
    assert [*map(typed, labels(path))] == [*map(typed, expected)]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ([pa.array([1], pa.int64()), pa.array(["x"])], "int64, string"),
        ([pa.array([2**60], pa.int64()), pa.array([0.5])], "float64, int64"),
        ([pa.array([NOON], pa.timestamp("us")), pa.array([ZONED], pa.timestamp("us", "UTC"))], "timestamp"),
        ([pa.array([date(2026, 1, 1)]), pa.array([NOON])], "date, timestamp"),
        ([pa.array([Decimal(1)], pa.decimal128(38, 0)), pa.array([Decimal(1)], pa.decimal128(38, 2))], "decimal"),
    ],
)
@pytest.mark.parametrize("rows", [0, 1])
def test_what_has_no_common_type_is_refused_by_the_schemas_alone(
    tmp_path: Path, columns: list[Any], says: str, rows: int
) -> None:
    path = glob(tmp_path, *(column[:rows] for column in columns))
    with pytest.raises(QuestionError, match=f"'item' in types that cannot be one: .*{says}"):
        labels(path)
    assert len(labels(path, item=("user",))) == 2 * rows  # other columns can be asked


def test_a_column_that_came_later_is_null_before(tmp_path: Path) -> None:
    pq.write_table(pa.table({"user": ["u"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"item": ["a"], "user": ["v"]}), tmp_path / "1.parquet")
    assert labels(str(tmp_path / "*.parquet")) == ["a"]


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_a_moment_out_of_range_costs_only_its_row(tmp_path: Path, unit: str, zone: str | None) -> None:
    ticks = [2**62, -(2**62), 0, 0] if unit == "ms" else [2**52, -(2**52), 0, 0]  # written as milliseconds
    path = glob(tmp_path, pa.array(ticks, pa.int64()).cast(pa.timestamp(unit, zone)))
    start = datetime(1970, 1, 1, tzinfo=UTC if zone else None)
    assert labels(path) == [start]
    assert labels(path, where="item = '1970-01-01'", item=("user",)) == ["0-2", "0-3"]


@pytest.mark.long
def test_text_that_is_no_text_costs_only_its_row(tmp_path: Path) -> None:
    broken = pa.array([b"\xff", b"a", b"a"], pa.binary()).view(pa.string())
    assert labels(glob(tmp_path, broken)) == ["a", "\ufffd"]
    assert labels(glob(tmp_path, broken), where="item = 'a'") == ["a"]
    assert labels(glob(tmp_path, broken.dictionary_encode())) == ["a", "\ufffd"]


def test_one_schema_stays_one_read(tmp_path: Path) -> None:
    path = glob(tmp_path, pa.array([1]), pa.array([2]))
    assert labels(path) == [1, 2]
    from crestline.sources.engine.engine_functions import embedded_duckdb
    from crestline.sources.files.parquet import parquet_table

    table, unusable = parquet_table(embedded_duckdb(), sorted(map(str, tmp_path.iterdir())))
    assert type(table.op()).__name__ == "DatabaseTable"
    assert not unusable


def test_a_common_type_holds_the_ends_of_each() -> None:
    kinds = [ibis.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
    for one in kinds:
        for other in kinds:
            common: Any = common_type({one, other})
            for kind in (one, other):
                if common.is_integer():
                    assert common.bounds.lower <= kind.bounds.lower
                    assert kind.bounds.upper <= common.bounds.upper
                else:
                    assert common.scale == 0
                    assert len(str(kind.bounds.upper)) <= common.precision
