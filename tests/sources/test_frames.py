"""Tables in memory: the many types of pandas, Polars and Arrow come back as a few plain ones."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.question import Question, QuestionFields
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
    question = Question(k=1, k_bar=len(labels), contribution=contribution)
    histogram = open_source(table).top_counts(question, bytes(16))
    assert [*map(typed, histogram.items)] == [*map(typed, labels)]


@pytest.mark.parametrize("item", [[[1], [2]], [time(1), time(2)], [{"a": 1}, {"a": 2}]])
def test_what_has_no_plain_value_is_refused(item: Any) -> None:
    with pytest.raises(QuestionError, match="column 'item' is of type"):
        open_source(arrow(item)).check(Question(k=1, k_bar=1))


@pytest.mark.parametrize("contribution", [None, 2])
def test_text_that_is_no_text_is_no_error(contribution: int | None) -> None:
    broken = pa.array([b"\xff\xfe", b"\xff\xfe", b"a"], pa.binary()).view(pa.string())
    source = open_source(pa.table({"user": [1, 2, 3], "item": broken}))
    histogram = source.top_counts(Question(k=1, k_bar=2, contribution=contribution), bytes(32))
    assert (histogram.items, histogram.counts) == (("\ufffd\ufffd", "a"), (2, 1))


class Wordless:
    def __str__(self) -> str:
        raise RuntimeError("secret")


def objects(*values: Any, **options: Any) -> pd.DataFrame:
    item = pd.Series([*values, "a", "a"], dtype=object).astype(options.get("kind", object))
    return pd.DataFrame({"user": range(len(values) + 2), "item": item})


@pytest.mark.parametrize(
    "value",
    ["half \ud83d", b"\xff", 7, 10**5000, Wordless(), {"x": [1]}, float("nan"), pd.NaT, time(1)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("kind", [object, "category"])
def test_no_object_makes_a_frame_unreadable(value: Any, kind: Any) -> None:
    if kind == "category" and isinstance(value, dict | str):
        pytest.skip("pandas itself makes no such categories")
    histogram = open_source(objects(value, kind=kind)).top_counts(Question(k=1, k_bar=2))
    assert (histogram.items[0], histogram.counts[0]) == ("a", 2)


def test_half_a_letter_is_replaced_and_whole_ones_stay() -> None:
    histogram = open_source(objects("half \ud83d", "whole 😀")).top_counts(Question(k=1, k_bar=3))
    assert histogram.items == ("a", "half \ufffd", "whole 😀")
    python = pd.DataFrame({"user": [1], "item": pd.array(["\ud800"], dtype=pd.StringDtype("python"))})
    assert open_source(python).top_counts(Question(k=1, k_bar=1)).items == ("\ufffd",)


EMPTY: dict[str, Any] = {
    "pandas": pd.DataFrame({"user": [], "item": []}),
    "pandas columns": pd.DataFrame(columns=["user", "item"]),
    "polars": pl.DataFrame({"user": [], "item": []}),
    "polars lazy": pl.LazyFrame({"user": [], "item": []}),
    "arrow": pa.table({"user": pa.nulls(0), "item": pa.nulls(0)}),
    "arrow nulls": pa.table({"user": pa.nulls(2), "item": pa.nulls(2)}),
    "arrow batch": pa.record_batch({"user": pa.nulls(0), "item": pa.nulls(0)}),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("options", [{}, {"contribution": 1}, {"where": "item is not null"}])
def test_a_frame_without_rows_is_legal(name: str, options: dict[str, Any]) -> None:
    asked = Question.from_fields(cast(QuestionFields, {"user": "user", "item": "item", "k": 1, "k_bar": 1} | options))
    source = open_source(EMPTY[name])
    source.check(asked)
    assert source.top_counts(asked, bytes(16)).counts == (0,)


def test_types_that_no_engine_knows_are_refused_in_our_words() -> None:
    odd = pa.table({"user": [1], "item": pa.array([Decimal(1)], pa.decimal256(76, 0))})
    with pytest.raises(QuestionError):
        open_source(odd).check(Question(k=1, k_bar=1))
