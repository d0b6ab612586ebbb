"""A table without a column is asked like any table: refusals and all."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from crestline.errors import QuestionError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import Selection
from crestline.question import Question
from crestline.score import Sum
from crestline.sources import open_source
from crestline.sources.empty_source import EmptySource


@pytest.fixture
def source() -> EmptySource:
    opened = open_source(pd.DataFrame([]))
    assert isinstance(opened, EmptySource)
    return opened


def test_a_score_and_a_filter(source: EmptySource) -> None:
    asked = Question(k=1, k_bar=2, where="n > 3", score=Sum.parse("sum(price)", 7))
    source.check(asked)
    assert source.top_counts(asked).counts == (0, 0)


def test_a_bad_filter_is_refused_all_the_same(source: EmptySource) -> None:
    with pytest.raises(QuestionError, match="may not contain"):
        source.check(Question(k=1, k_bar=2, where="length(item) > 3"))


def test_a_public_list(source: EmptySource) -> None:
    asked = Question(k=1, k_bar=2)
    with source.reading(replace(asked, domain=["b", "a"])) as reading:
        assert isinstance(reading.histogram, Histogram)
        assert reading.histogram.domain_size == 2
        assert reading.label_items(Selection(((0, 1), (0, 0)), False)).items == ("b", "a")


@pytest.mark.parametrize("frame", [pd.DataFrame(), pl.DataFrame([]), pa.table({})])
def test_every_library(frame: object) -> None:
    source = open_source(frame)
    source.check(Question(k=1, k_bar=2, contribution=1))
    assert source.top_counts(Question(k=1, k_bar=2, contribution=1), bytes(16)).counts == (
        0,
        0,
    )
    assert source.version() is None
