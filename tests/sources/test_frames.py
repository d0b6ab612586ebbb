"""Tables in memory: the many types of pandas, Polars and Arrow come back as a few plain ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.question import Question
from crestline.sources import open_source
from tests.sources.oracle import typed

WIDE = Decimal(10**37)
NOON = datetime(2026, 1, 31, 12)


def pandas(item: Any) -> pd.DataFrame:
    return pd.DataFrame({"user": [1, 2], "item": item})


def polars(item: Any) -> pl.DataFrame:
    return pl.DataFrame({"user": [1, 2], "item": item})


def arrow(item: Any) -> pa.Table:
    return pa.table({"user": [1, 2], "item": item})


TABLES: dict[str, tuple[Any, list[Any]]] = {
    "nanoseconds": (pandas(pd.Series([NOON, NOON]).astype("datetime64[ns]")), [NOON]),
    "a zone": (pandas(pd.Series([NOON, NOON]).dt.tz_localize("Etc/GMT-2")), [NOON.replace(hour=10, tzinfo=UTC)]),
    "seconds": (arrow(pa.array([NOON, NOON], pa.timestamp("s"))), [NOON]),
    "nullable numbers": (pandas(pd.array([1, None], dtype="Int64")), [1]),
    "identifiers": (pandas([uuid.UUID(int=1)] * 2), [str(uuid.UUID(int=1))]),
    "categories": (polars(pl.Series(["b", "a"], dtype=pl.Categorical)), ["a", "b"]),
    "a set order": (polars(pl.Series(["b", "a"], dtype=pl.Enum(["b", "a"]))), ["a", "b"]),
    "a dictionary": (arrow(pa.array(["b", "a"]).dictionary_encode()), ["a", "b"]),
    "large text": (arrow(pa.array(["b", "a"], pa.large_string())), ["a", "b"]),
    "unsigned": (arrow(pa.array([2**64 - 1, 0], pa.uint64())), [0, 2**64 - 1]),
    "wide decimals": (arrow(pa.array([WIDE, Decimal(1)], pa.decimal128(38, 0))), [Decimal(1), WIDE]),
    "short floats": (arrow(pa.array([1.5, -0.0], pa.float32())), [0.0, 1.5]),
}


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("contribution", [None, 1])
def test_labels_are_plain(name: str, contribution: int | None) -> None:
    table, labels = TABLES[name]
    question = Question("user", ("item",), 1, len(labels), contribution=contribution)
    histogram = open_source(table).top_counts(question, bytes(16))
    assert [*map(typed, histogram.items)] == [*map(typed, labels)]


@pytest.mark.parametrize("item", [[[1], [2]], [time(1), time(2)], [{"a": 1}, {"a": 2}]])
def test_what_has_no_plain_value_is_refused(item: Any) -> None:
    with pytest.raises(QuestionError, match="column 'item' is of type"):
        open_source(arrow(item)).check(Question("user", ("item",), 1, 1))


@pytest.mark.parametrize("contribution", [None, 2])
def test_text_that_is_no_text_is_no_error(contribution: int | None) -> None:
    broken = pa.array([b"\xff\xfe", b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
    source = open_source(pa.table({"user": [1, 2, 3], "item": broken}))
    histogram = source.top_counts(Question("user", ("item",), 1, 2, contribution=contribution), bytes(32))
    assert (histogram.items, histogram.counts) == (("\\xff\\xfe", "a"), (2, 1))
