"""Files and globs: what is read, what is refused, and what a fingerprint sees."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.errors import QuestionError
from crestline.histogram.labels import Padding
from crestline.question import Question
from crestline.sources import open_source

QUESTION = Question(user="user", item=("item",), k=2, k_bar=3)
ROWS = [("u1", "b"), ("u1", "b"), ("u2", "b"), ("u2", "a"), ("u3", "c"), (None, "a"), ("u4", None)]


def parquet(path: Path, rows: list[tuple[object, object]] = ROWS) -> Path:
    pq.write_table(pa.table({"user": [u for u, _ in rows], "item": [i for _, i in rows]}), path)
    return path


def test_parquet_counts_distinct_users_and_drops_nulls(tmp_path: Path) -> None:
    histogram = open_source(parquet(tmp_path / "t.parquet")).top_counts(QUESTION)
    assert histogram.items == ("b", "a", "c")
    assert histogram.counts == (2, 1, 1)
    assert histogram.next_count == 0


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_takes_its_columns_from_the_header_and_reads_text(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "t.csv"
    lines = ["user,item", "1,007", "2,007", '3,"x"', ",x", "4,", "5"]
    path.write_text("\n".join(lines).replace(",", delimiter) + "\n")
    histogram = open_source(path).top_counts(QUESTION)
    assert histogram.items == ("007", "x", Padding(0))
    assert histogram.counts == (2, 1, 0)


def test_json_lines_read_every_value_as_text(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"user": 1, "item": "x"}\n{"user": 2, "item": 5}\n{"user": 3, "item": 5}\nbroken\n{"user": 1}\n')
    histogram = open_source(path).top_counts(QUESTION)
    assert histogram.items[:2] == ("5", "x")
    assert histogram.counts == (2, 1, 0)


def test_one_odd_row_neither_fails_nor_changes_the_other_labels(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    usual = "user,item\n" + "".join(f"{i},{i % 7}\n" for i in range(30_000))
    path.write_text(usual)
    before = open_source(path).top_counts(QUESTION)
    path.write_text(usual + 'x,not a number\ny,"open quote\n')
    assert open_source(path).top_counts(QUESTION).items == before.items


def test_gzip(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n1,a\n"))
    assert open_source(path).top_counts(QUESTION).items[0] == "a"


def test_a_glob_is_one_table(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet", [("u1", "x"), ("u2", "x")])
    parquet(tmp_path / "b.parquet", [("u2", "x"), ("u3", "y")])
    histogram = open_source(str(tmp_path / "*.parquet")).top_counts(QUESTION)
    assert histogram.counts == (2, 1, 0)


def test_a_name_with_pattern_letters_is_a_name(tmp_path: Path) -> None:
    parquet(tmp_path / "a[1].parquet")
    parquet(tmp_path / "a1.parquet", [("u1", "wrong")])
    assert open_source(tmp_path / "a[1].parquet").top_counts(QUESTION).items[0] == "b"
    (tmp_path / "t?.csv").write_text("user,item\n1,a\n")
    assert open_source(tmp_path / "t?.csv").top_counts(QUESTION).items[0] == "a"


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.parquet"])
def test_an_empty_file_is_a_legal_empty_histogram(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "t.parquet":
        pq.write_table(pa.table({"user": pa.array([], pa.string()), "item": pa.array([], pa.string())}), path)
    else:
        path.write_text("")
    source = open_source(path)
    for options in ({}, {"where": "item <> 'a' and item is not null"}, {"contribution": 2}):
        asked = Question(user="user", item=("item",), k=2, k_bar=3, **options)
        source.check(asked)
        assert source.top_counts(asked, bytes(16)).counts == (0, 0, 0)


def test_a_header_alone_is_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,item\n")
    assert open_source(path).top_counts(QUESTION).items == (Padding(0), Padding(1), Padding(2))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("missing.parquet", None, "there is no file"),
        ("none-*.parquet", None, "no file matches"),
        ("t.xlsx", b"x", "must end in"),
        ("damaged.parquet", b"not parquet, and a secret", "cannot be read"),
        ("list.json", b"[1]\n", "one JSON object"),
        ("twice.csv", b"user,user\n", "each once"),
    ],
)
def test_refusals_say_what_to_do_and_quote_no_content(
    tmp_path: Path, name: str, content: bytes | None, says: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(QuestionError, match=says) as refusal:
        open_source(path)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None or "secret" not in str(refusal.value.__context__)


def test_a_directory_is_answered_with_a_glob(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").mkdir()
    with pytest.raises(QuestionError, match="give a glob"):
        open_source(tmp_path / "d.parquet")


def test_files_of_a_glob_must_agree(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item\n")
    (tmp_path / "b.csv").write_text("item,user\n")
    with pytest.raises(QuestionError, match="same columns"):
        open_source(str(tmp_path / "*.csv"))


def test_a_missing_column_is_answered_with_the_columns_there_are(tmp_path: Path) -> None:
    source = open_source(parquet(tmp_path / "t.parquet"))
    with pytest.raises(QuestionError, match=r"no column 'venue'; the columns are: item, user"):
        source.check(Question(user="user", item=("venue",), k=1, k_bar=1))


def test_far_files_must_be_parquet() -> None:
    with pytest.raises(QuestionError, match="only Parquet"):
        open_source("https://example.org/t.csv")


def test_the_fingerprint_follows_the_file(tmp_path: Path) -> None:
    path = parquet(tmp_path / "t.parquet")
    source = open_source(path)
    before = source.version()
    assert before == source.version() == open_source(path).version()
    os.utime(path, ns=(1, 1))
    assert source.version() != before


def test_the_fingerprint_of_a_glob_sees_a_new_file(tmp_path: Path) -> None:
    parquet(tmp_path / "a.parquet")
    source = open_source(str(tmp_path / "*.parquet"))
    before = source.version()
    parquet(tmp_path / "b.parquet")
    assert source.version() != before
