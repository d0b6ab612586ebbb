"""Filters on typed and untyped columns: values are turned into the column's type, or refused before a row is read."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import ibis
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from crestline.errors import QuestionError
from crestline.histogram.label_order import Padding
from crestline.question import Question
from crestline.score import Sum
from crestline.sources import open_source
from crestline.sources.expression import where
from crestline.sources.expression.filter_conditions import Filter
from crestline.sources.source import SlotSource
from tests.sources.expression.test_where import literal, trees, written

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


def in_a_database(table: pa.Table, folder: Path) -> SlotSource:
    with duckdb.connect(folder / "t.duckdb") as connection:
        connection.register("arrow", table)
        connection.execute("create table t as select * from arrow")
    return open_source(f"duckdb:///{folder / 't.duckdb'}", table="t")


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


@pytest.mark.long
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
    histogram = open_source(path).top_counts(Question(item=("text",), k=1, k_bar=2, score=Sum("n", 5)))
    assert (histogram.counts, histogram.unit) == ((1_500_000, 0), 1_000_000)


NANOSECONDS = pa.array([0, 2**62], pa.int64()).cast(pa.timestamp("ns"))
FAILED_ONCE: dict[str, tuple[pa.Array, str, int]] = {
    # a column of two rows, a condition that once made engines fail on a row, how many rows meet it
    "whole numbers in a list with a fraction": (
        pa.array([1, 2**63 - 1], pa.int64()), "v in (0.00012345678901234567, 9223372036854775807)", 1,
    ),
    "decimals in a list with a fraction": (
        pa.array([Decimal(1), Decimal(2)], pa.decimal128(20, 6)),
        "v in (0.00012345678901234567, 9223372036854775807)", 0,
    ),
    "nanoseconds and a later year": (NANOSECONDS, "v < '2500-01-01'", 2),
    "nanoseconds and an earlier year": (NANOSECONDS, "v between '1000-01-01' and '1980-01-01'", 1),
    "decimals and a large whole number": (
        pa.array([Decimal(1), Decimal("0.5")], pa.decimal128(38, 30)), "v < 9000000000000000000", 2,
    ),
    "decimals of 38 digits": (
        pa.array([Decimal(10**38 - 1), Decimal(1)], pa.decimal128(38, 0)), "v > 0.5 and v <> 1e38", 2,
    ),
    "large whole numbers and a fraction": (pa.array([2**62, -(2**62)], pa.int64()), "v > 0.1234567890123456789", 1),
    "unsigned numbers and a negative one": (pa.array([0, 2**64 - 1], pa.uint64()), "v > -1 and v < 1e20", 2),
    "seconds beyond microseconds": (pa.array([0, 2**55], pa.int64()).cast(pa.timestamp("s")), "v < '2026-01-01'", 1),
    "milliseconds beyond microseconds": (
        pa.array([0, -(2**62)], pa.int64()).cast(pa.timestamp("ms")), "v in ('1970-01-01', '2500-01-01')", 1,
    ),
    "days outside the calendar": (pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()), "v < '9999-12-31'", 1),
}  # fmt: skip


@pytest.mark.parametrize("way", ["frame", "database"])
@pytest.mark.parametrize("case", FAILED_ONCE)
def test_whether_a_user_passes_one_condition_is_not_revealed_by_another(case: str, way: str, tmp_path: Path) -> None:
    column, condition, meets = FAILED_ONCE[case]
    table = pa.table({"user": [1, 2], "who": ["a", "a"], "v": column})
    source = open_source(table) if way == "frame" else in_a_database(table, tmp_path)
    for who, count in (("a", meets), ("nobody", 0)):
        asked = Question(user="user", item=("who",), k=1, k_bar=1, where=f"who = '{who}' and {condition}")
        source.check(asked)
        assert source.top_counts(asked).counts == (count,)


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
@pytest.mark.parametrize(
    ("condition", "count"),
    [("v in (5, 'a')", 2), ("v not in (5, 'a')", 0), ("v in ('b', true, 1e300)", 1), ("v < 1e300", 1), ("v > -1", 1)],
)
def test_numbers_and_texts_in_one_list_without_types(name: str, condition: str, count: int, tmp_path: Path) -> None:
    lines = {
        "t.csv": "user,who,v\n1,x,5\n2,x,a\n3,x,b\n4,x,nan\n",
        "t.jsonl": "".join(
            f'{{"user": "{i}", "who": "x", "v": "{v}"}}\n' for i, v in enumerate(["5", "a", "b", "nan"], 1)
        ),
    }
    (tmp_path / name).write_text(lines[name])
    source = open_source(tmp_path / name)
    for who, expected in (("x", count), ("nobody", 0)):  # beside a number, "b" is null, in `not in` too
        asked = Question(user="user", item=("who",), k=1, k_bar=1, where=f"who = '{who}' and {condition}")
        assert source.top_counts(asked).counts == (expected,)


def test_a_collation_neither_finds_nor_orders(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute("create table t (user int, item varchar collate nocase)")
        connection.execute("insert into t values (1, 'a'), (2, 'A'), (3, 'b')")
    source = open_source(f"duckdb:///{tmp_path / 't.duckdb'}", table="t")
    for condition, count in (
        ("item = 'a'", 1), ("item <> 'a'", 2), ("item in ('a', 'B')", 1), ("item not in ('a', 'B')", 2),
        ("item like 'a%'", 1), ("item < 'a'", 1),
    ):  # fmt: skip
        asked = Question(k=1, k_bar=3, where=condition)
        assert sum(source.top_counts(asked).counts) == count


@pytest.mark.long
@settings(max_examples=25)
@given(st.text(max_size=20).filter(lambda text: "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)))
def test_a_text_value_finds_itself_and_nothing_else(text: str) -> None:
    table = pa.table({"user": [1, 2], "item": [text, text + "'"]})
    histogram = open_source(table).top_counts(question(f"item = {literal(text)}", "item"))
    assert histogram.items == (text, Padding(0))


@pytest.mark.long
@settings(max_examples=60)
@given(trees)
def test_no_filter_compiles_to_more_than_comparisons_of_one_table(tree: where.Condition) -> None:
    names = {leaf.column for leaf in leaves(tree)}
    table = ibis.table(dict.fromkeys(names, "string"), name="events")
    text = written(tree)
    for dialect in ("duckdb", "postgres"):
        try:
            condition = Filter(table, dialect).condition(where.parse_filter(text))
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
        case where.And(parts) | where.Or(parts):
            return [leaf for part in parts for leaf in leaves(part)]
    return [tree]
