"""A file without a line is asked like any table: refusals and all."""

from __future__ import annotations

from pathlib import Path

import pytest

from crestline.errors import QuestionError
from crestline.mechanisms.selection import Selection
from crestline.question import Question
from crestline.sources import open_source
from crestline.sources.empty import EmptySource


@pytest.fixture
def source(tmp_path: Path) -> EmptySource:
    path = tmp_path / "t.jsonl"
    path.write_text("")
    opened = open_source(path)
    assert isinstance(opened, EmptySource)
    return opened


def test_a_score_and_a_filter(source: EmptySource) -> None:
    asked = Question("user", ("item",), 1, 2, where="n > 3", score="sum(price)", clip=7)
    source.check(asked)
    assert source.top_counts(asked).counts == (0, 0)


def test_a_bad_filter_is_refused_all_the_same(source: EmptySource) -> None:
    with pytest.raises(QuestionError, match="may not contain"):
        source.check(Question("user", ("item",), 1, 2, where="length(item) > 3"))


def test_a_known_domain(source: EmptySource) -> None:
    asked = Question("user", ("item",), 1, 2)
    with source.reading(asked, domain=["b", "a"]) as reading:
        assert reading.histogram.domain_size == 2
        assert reading.named(Selection(((0, 1), (0, 0)), False)).items == ("b", "a")


def test_its_version_follows_the_file(source: EmptySource) -> None:
    before = source.version()
    Path(source.name).write_text("{}")
    assert source.version() != before
