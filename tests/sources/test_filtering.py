"""Filters on typed and untyped columns: values are turned into the column's type, or refused before a row is read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import ibis
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from crestline.errors import QuestionError
from crestline.histogram.labels import Padding
from crestline.question import Question
from crestline.sources import open_source, where
from crestline.sources.filtering import Filter
from tests.sources.test_where import literal, trees, written

TABLE = pa.table(
    {
        "user": [1, 2],
        "text": ["a", "b"],
        "n": [1, 2],
        "x": [0.5, 1.5],
        "yes": [True, False],
        "day": pa.array([date(2026, 1, 1), date(2026, 1, 2)]),
        "at": pa.array([datetime(2026, 1, 1), datetime(2026, 1, 2)], pa.timestamp("us")),
        "zoned": pa.array([datetime(2026, 1, 1), datetime(2026, 1, 2)], pa.timestamp("us", tz="UTC")),
        "list": [[1], [2]],
    }
)


def question(text: str | None, item: str = "text") -> Question:
    return Question(user="user", item=(item,), k=1, k_bar=2, where=text)


@pytest.mark.parametrize(
    "text",
    [
        "text = 1", "text = true", "n = 'a'", "n = true", "x = 'a'", "yes = 1", "yes = 'true'", "day = 20260101",
        "day = '2026-13-01'", "day = 'today'", "day = '2026-01-01T00:00:00'", "at = 'now'", "list = 1", "list = 'a'",
        "at = '2026-01-01T00:00+02:00'", "n like '1%'", "text in ('a', 1)", "n between 1 and 'b'", "nope = 1", "text",
        "nope is null",
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(text: str) -> None:
    with pytest.raises(QuestionError):
        open_source(TABLE).check(question(text))


@pytest.mark.parametrize(
    "text",
    [
        "zoned < '2026-01-02'",
        "zoned < '2026-01-02T00:00:00+00:00'",
        "zoned <= '2026-01-01T01:00:00+01:00'",
        "at < '2026-01-02'",
    ],
)
def test_times_with_and_without_a_zone(text: str) -> None:
    assert open_source(TABLE).top_counts(question(text)).items == ("a", Padding(0))


def test_zoned_labels_are_utc() -> None:
    assert open_source(TABLE).top_counts(question(None, "zoned")).items[0] == datetime(2026, 1, 1, tzinfo=UTC)


def test_numbers_and_truth_in_files_without_types(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,text,n,yes\n1,a,9,true\n2,b,10,false\n3,c,ten,maybe\n4,d,,\n")
    source = open_source(path)

    def kept(text: str) -> set[object]:
        histogram = source.top_counts(Question(user="user", item=("text",), k=1, k_bar=4, where=text))
        return {item for item in histogram.items if not isinstance(item, Padding)}

    assert kept("n > 9") == {"b"}
    assert kept("n > '9'") == {"c"}  # text against text: by its bytes
    assert kept("not n = 9") == {"b"}  # what is no number is null, as in SQL
    assert kept("yes = true") == {"a"}
    assert kept("n in (9, 10.0)") == {"a", "b"}


def test_sums_in_files_without_types(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,text,n\n1,a,2.5\n2,a,100\n3,b,ten\n4,b,-1\n")
    histogram = open_source(path).top_counts(Question("user", ("text",), 1, 2, score="sum(n)", clip=5))
    assert (histogram.counts, histogram.step) == ((1_500_000, 0), 1_000_000)


@settings(max_examples=25)
@given(st.text(max_size=20).filter(lambda text: "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)))
def test_a_text_value_finds_itself_and_nothing_else(text: str) -> None:
    table = pa.table({"user": [1, 2], "item": [text, text + "'"]})
    histogram = open_source(table).top_counts(question(f"item = {literal(text)}", "item"))
    assert histogram.items == (text, Padding(0))


@settings(max_examples=60)
@given(trees)
def test_no_filter_compiles_to_more_than_comparisons_of_one_table(tree: where.Condition) -> None:
    names = {leaf.column for leaf in leaves(tree)}
    table = ibis.table(dict.fromkeys(names, "string"), name="events")
    text = written(tree)
    for dialect in ("duckdb", "postgres"):
        try:
            condition = Filter(table, dialect).condition(where.parse(text))
        except QuestionError:
            return
        statements = sqlglot.parse(ibis.to_sql(table.filter(condition), dialect=dialect), read=dialect)
        assert len(statements) == 1
        (statement,) = statements
        assert isinstance(statement, exp.Select)
        assert [found.name for found in statement.find_all(exp.Table)] == ["events"]
        assert not list(statement.find_all(exp.Subquery, exp.Union, exp.Command))
        called = {str(found.name).lower() for found in statement.find_all(exp.Anonymous)}
        assert called <= {"encode", "decode", "hex", "try", "convert_to", "convert_from"}


def leaves(tree: where.Condition) -> list[where.Compare | where.In | where.Between | where.Like | where.IsNull]:
    match tree:
        case where.Not(part):
            return leaves(part)
        case where.All(parts) | where.Any_(parts):
            return [leaf for part in parts for leaf in leaves(part)]
    return [tree]
