"""Keys of every type at its ends: as items and as users, with and without a bound, no value makes a question fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.label_order import Padding
from crestline.question import Question
from crestline.sources import open_source
from tests.sources import oracle, total
from tests.sources.conformance_scores import groups

KEY = bytes(range(16))
EVERY = total.COLUMNS | total.ONLY_DUCKDB
FAR = {"timestamp": (-(2**63), -(2**63) + 1, 2**63 - 1), "date": (-(2**31), 2**31 - 1)}
"""Moments and days outside Python's calendar, in the units of the column."""


def labels(items: Sequence[Any]) -> set[Any]:
    return {item for item in items if not isinstance(item, Padding)}


def column(name: str) -> tuple[pa.Array, set[Any]]:
    """The values at the ends of a type, and those of them that are labels."""
    kind, cells, _ = EVERY[name]
    near = total.table(kind, [*cells, None])["v"].combine_chunks()
    far = [] if name not in FAR else pa.array(FAR[name], pa.int64() if name == "timestamp" else pa.int32()).cast(kind)
    dropped = int if pa.types.is_timestamp(kind) else type(None)
    kept = {oracle.plain(cell) for cell in cells if not isinstance(cell, dropped) and cell == cell}  # no nan
    if pa.types.is_timestamp(kind):  # the first and the last day of the calendar are left to time zones
        kept = {cell for cell in kept if 1 < cell.year < 9999}
    return pa.concat_arrays([near, far]) if len(far) else near, kept


@pytest.mark.parametrize("contribution", [None, 1, 100])
@pytest.mark.parametrize("name", EVERY)
def test_items_and_users_of_every_type(name: str, contribution: int | None) -> None:
    values, kept = column(name)
    n = len(values)
    everyone = pa.table({"user": range(n), "v": values, "one": ["x"] * n})
    source = open_source(everyone)
    items = source.top_counts(Question(user="user", item=("v",), k=1, k_bar=n, contribution=contribution), KEY)
    assert labels(items.items) == kept
    users = source.top_counts(Question(user="v", item=("one",), k=1, k_bar=1, contribution=contribution), KEY)
    assert users.counts == (len(kept),)


@pytest.mark.long
def test_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    """Ibis calls them decimals of 38 digits; those of 39 digits are dropped, also where they meet a domain."""
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("create table t as select 1 as user, 5::hugeint as item")
        connection.execute(f"insert into t values (2, {2**127 - 1}), (3, {10**38 - 1}), (4, {-(2**127) + 1})")
    source: Any = open_source(f"duckdb:///{tmp_path / 't.duckdb'}", table="t")
    for contribution in (None, 1):
        asked = Question(k=1, k_bar=4, contribution=contribution)
        assert labels(source.top_counts(asked, KEY).items) == {Decimal(5), Decimal(10**38 - 1)}
        with source.reading(replace(asked, domain=[Decimal(5), Decimal(6)]), KEY) as reading:
            assert groups(reading.histogram) == {1: 1, 0: 1}


@pytest.mark.parametrize(("precision", "scale"), [(38, 6), (20, 6), (38, 38)])
def test_a_domain_of_decimals_that_a_row_could_overflow_is_refused(precision: int, scale: int) -> None:
    table = pa.table({"user": [1, 2], "item": pa.array([Decimal(10**38 - 1), Decimal(5)], pa.decimal128(38, 0))})
    domain = pa.table({"item": pa.array([Decimal(0)], pa.decimal128(precision, scale))})
    for rows in (table, table.slice(1)):
        with pytest.raises(QuestionError, match="the domain of 'item' is of type"):
            open_source(rows).check(Question(k=1, k_bar=2, domain=domain))


def test_a_domain_of_wider_decimals() -> None:
    source: Any = open_source(pa.table({"user": [1], "item": pa.array([Decimal("1.5")], pa.decimal128(4, 2))}))
    domain = pa.table({"item": pa.array([Decimal("1.5"), Decimal(10**9)], pa.decimal128(20, 6))})
    with source.reading(Question(k=1, k_bar=2, domain=domain), KEY) as reading:
        assert groups(reading.histogram) == {1: 1, 0: 1}


def test_a_misspelled_function_is_answered_with_those_there_are() -> None:
    table = pa.table({"user": [1], "item": ["a"], "prefx(item, 1)": ["b"]})
    source = open_source(table)
    with pytest.raises(
        QuestionError, match=r"no function 'lwer', and no column 'lwer\(item\)'; functions are: bucket, "
    ):
        source.top_counts(Question(k=1, k_bar=1, item=("lwer(item)",)))
    assert source.top_counts(Question(k=1, k_bar=1, item=("prefx(item, 1)",))).items == ("b",)
