"""Scores: how they are written, and that one user moves one item by at most `step`."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import CrestlineError, QuestionError
from crestline.question import Question, QuestionFields
from crestline.score import Sum
from crestline.sources import open_source
from tests.sources import total


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("sum(price)", "price"),
        (" SUM ( unit price ) ", "unit price"),
        ('sum("a ""b"" (c)")', 'a "b" (c)'),
    ],
)
def test_how_a_score_is_written(text: str, column: str) -> None:
    assert Sum.parse(text, 1) == Sum(column, 1)


@pytest.mark.parametrize(
    "text", ["", "price", "max(price)", "sum()", "sum(a)+sum(b)", "sum(f(a))", "sum(a); drop", 'sum("a)']
)
def test_other_scores_are_refused(text: str) -> None:
    with pytest.raises(QuestionError, match="sum\\(column\\)"):
        Sum.parse(text, 1)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"score": "sum(v)"}, "needs clip"),
        ({"clip": 3}, "clip goes with score"),
        ({"score": "sum(v)", "clip": 0}, "clip"),
        ({"score": "sum(v)", "clip": 1.5}, "clip"),
        ({"score": "sum(v)", "clip": 2**63}, "clip must be at most 9223372036854775807"),
        ({"score": "sum(v)", "clip": 10**400}, "clip must be at most"),
        ({"score": "sum(item)", "clip": 3}, "adds up numbers"),
        ({"score": "sum(nope)", "clip": 3}, "no column 'nope'"),
    ],
)
def test_scores_that_cannot_be_asked(options: dict[str, object], says: str) -> None:
    source = open_source(pa.table({"user": [1], "item": ["a"], "v": [1]}))
    with pytest.raises(CrestlineError, match=says):
        source.check(
            Question.from_fields(cast(QuestionFields, {"user": "user", "item": "item", "k": 1, "k_bar": 1} | options))
        )


NUMERIC = {
    name: column
    for name, column in (total.COLUMNS | total.ONLY_DUCKDB).items()
    if not (pa.types.is_temporal(column[0]) or name in ("text", "boolean"))
}


@pytest.mark.parametrize("clip", [1, 100, 1000, 10**6, 10**6 + 1, 10**12, 2**63 - 1])
@pytest.mark.parametrize("name", NUMERIC)
def test_no_value_makes_a_score_fail(name: str, clip: int) -> None:
    kind, cells, _ = NUMERIC[name]
    table = pa.table({"user": range(len(cells)), "item": range(len(cells)), "v": pa.array(cells, kind)})
    asked = Question(k=1, k_bar=len(cells), score=Sum.parse("sum(v)", clip))
    histogram = open_source(table).top_counts(asked)
    found = dict(zip(histogram.items, histogram.counts, strict=True))
    for item, cell in enumerate(cells):
        worth = 0 if cell < 0 or cell != cell else min(cell, clip)  # what is no number counts as nothing
        share = Fraction(worth) * histogram.unit / clip
        assert 0 <= found.get(item, 0) <= histogram.unit
        assert abs(found.get(item, 0) - share) <= (0 if pa.types.is_integer(kind) and clip <= 10**6 else 1)


def test_a_score_of_whole_numbers_of_128_bits(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("create table t as select 1 as user, 'a' as item, 5::hugeint as v")
        connection.execute(f"insert into t values (2, 'a', {2**127 - 1}), (3, 'b', {10**38 - 1})")
    source = open_source(f"duckdb:///{tmp_path / 't.duckdb'}", table="t")
    histogram = source.top_counts(Question(k=1, k_bar=2, score=Sum.parse("sum(v)", 10)))
    assert dict(zip(histogram.items, histogram.counts, strict=True)) == {"a": 500_000, "b": 1_000_000}


def test_the_sum_of_many_rows_of_one_user_is_clipped() -> None:
    n = 100_000
    table = pa.table({"user": pa.repeat(1, n), "item": pa.repeat("a", n), "v": pa.repeat(2**63 - 1, n)})
    histogram = open_source(table).top_counts(Question(k=1, k_bar=1, score=Sum.parse("sum(v)", 2**63 - 1)))
    assert (histogram.counts, histogram.unit) == ((10**6,), 10**6)


floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


@pytest.mark.long
@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), floats), max_size=12), st.integers(1, 10**9))
def test_one_user_moves_one_item_by_at_most_step(rows: list[tuple[int, str, float]], clip: int) -> None:
    asked = Question(k=1, k_bar=2, score=Sum.parse("sum(v)", clip))

    def scores(kept: list[tuple[int, str, float]]) -> dict[str, int]:
        columns = [list(column) for column in zip(*kept, strict=True)] or [[], [], []]
        kinds = (pa.int64(), pa.string(), pa.float64())
        arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
        histogram = open_source(pa.table(arrays, names=["user", "item", "v"])).top_counts(asked)
        assert histogram.unit == 10**6
        return dict(zip(histogram.items, histogram.counts, strict=True))

    everyone, without = scores(rows), scores([row for row in rows if row[0] != 0])
    for item in "ab":
        assert 0 <= everyone.get(item, 0) - without.get(item, 0) <= 10**6
        exact = sum(min(clip, sum(clipped(v, clip) for u, i, v in rows if (u, i) == (user, item))) for user in range(4))
        assert abs(everyone.get(item, 0) - exact / clip * 10**6) <= 1.001 * len(rows) + 1e-6 * 10**6


def clipped(value: float, clip: int) -> float:
    return 0.0 if math.isnan(value) else min(max(value, 0.0), clip)
