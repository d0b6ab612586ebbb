"""Files and globs: what is read, what is refused, and what a fingerprint sees."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crestline.errors import QuestionError, SourceError
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.question import Question, QuestionFields
from crestline.sources import open_source
from crestline.sources.files.files import FileSource
from crestline.sources.files.lines import LONGEST
from crestline.sources.table import TableSource

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.sample(of="way")]

QUESTION = Question(k=2, k_bar=3)
ROWS = [("u1", "b"), ("u1", "b"), ("u2", "b"), ("u2", "a"), ("u3", "c"), (None, "a"), ("u4", None)]


def parquet(path: Path, rows: Sequence[tuple[object, object]] = ROWS) -> Path:
    users, items = ([row[place] for row in rows] for place in (0, 1))
    pq.write_table(pa.table({"user": pa.array(users, pa.string()), "item": pa.array(items, pa.string())}), path)
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


@pytest.mark.long
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
        asked = Question(k=2, k_bar=3, **options)
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
    with pytest.raises(QuestionError, match="is a folder"):
        open_source(tmp_path / "d.parquet")


def test_files_of_a_glob_must_agree_and_are_not_quoted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("user,item\n")
    (tmp_path / "b.csv").write_text("item,user,secret\n")
    with pytest.raises(QuestionError, match="same columns") as refusal:
        open_source(str(tmp_path / "*.csv")).check(QUESTION)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("first", "says"),
    [
        ("HIV test kit,secret@example.org", "names no column 'item'"),
        ('user,"item', "names no column 'item'"),
        ("user,item,item", "names more than one column 'item'"),
        ("user,item\r,secret", "names no column 'item'"),
        ("", "names no column 'item'"),
    ],
)
def test_a_header_is_looked_at_for_what_is_asked_and_never_printed(tmp_path: Path, first: str, says: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(f"{first}\nsecret,secret\n".encode())
    with pytest.raises(QuestionError, match=says) as refusal:
        open_source(path).check(QUESTION)
    assert "secret" not in str(refusal.value)
    assert "HIV" not in str(refusal.value)


def test_columns_that_no_question_uses_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",user,Item,item,x,x\n0,u,no,a,1,2\n1,v,no,a,1,2\n")
    assert histogram(path) == {"a": 2}


def histogram(path: object, **options: Any) -> dict[Any, int]:
    """Every item with its count."""
    usual: dict[str, Any] = {"user": "user", "item": ("item",), "k": 1, "k_bar": 20}
    asked = Question.from_fields(cast(QuestionFields, usual | options))
    source = open_source(path)
    source.check(asked)
    found = source.top_counts(asked, bytes(16))
    return {item: count for item, count in zip(found.items, found.counts, strict=True) if count}


BROKEN = [
    b'm,"tea', b'm,"a"b', b"m,a\rb", b"m,d\r", b"m,\xff", b"m,\xe9t\xe9", b"m", b"m,n,o", b"", b"\x00", b'"m', b'"',
    b'm,"x\ny",z', b"m,\xed\xa0\x80", b"m," + b"x" * LONGEST, b"\xef\xbb\xbfm,n",
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("broken", BROKEN, ids=lambda line: repr(line[:12]))
@pytest.mark.parametrize(("place", "packed"), [(1, False), (2, True), (4, False)])
def test_a_broken_line_costs_the_others_nothing(tmp_path: Path, broken: bytes, place: int, packed: bool) -> None:
    rows = [b"user,item", b"u,b", b'v,"b"', b'"w",c']
    content = b"\n".join([*rows[:place], broken, *rows[place:]]) + b"\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    found = histogram(path)
    assert {item: found.get(item) for item in ("b", "c")} == {"b": 2, "c": 1}
    assert histogram(path, where="user <> 'm'").items() >= {"b": 2, "c": 1}.items()


def test_a_quoted_line_break_makes_two_lines_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('user,item\nu,"a\nb"\nv,c\n')
    assert histogram(path) == {"c": 1}


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"user,item\nu,caf\xe9\nv,a\rb\nw,d\r\n")
    assert histogram(path) == {"caf\ufffd": 1, "a\ufffdb": 1, "d": 1}


@pytest.mark.long
def test_what_is_read_does_not_depend_on_the_way(tmp_path: Path) -> None:
    rows = "".join(f'u{i},"item, {i % 7}"\n' for i in range(20_000))
    clean, broken, windows = (tmp_path / name for name in ("clean.csv", "broken.csv", "windows.csv"))
    clean.write_text("user,item\n" + rows)
    broken.write_text("user,item\n" + rows + 'm,"\n')
    windows.write_bytes(("user,item\n" + rows).replace("\n", "\r\n").encode())
    assert histogram(clean) == histogram(broken) == histogram(windows)


def test_a_glob_of_different_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"user,item\nu,a\n")
    (tmp_path / "b.csv").write_bytes(b"user,item\r\nv,a\r\n")
    (tmp_path / "c.csv").write_bytes(b"")
    assert histogram(str(tmp_path / "*.csv")) == {"a": 2}


@pytest.mark.long
@pytest.mark.parametrize(
    "first", ["", "{}\n", '{"hiv_status": 1}\n', '["user"]\n', "broken\n", '{"user": "u"}\n', "\xff\n"]
)
def test_the_columns_of_json_lines_are_those_of_the_question(tmp_path: Path, first: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(first.encode("latin-1"))
    assert histogram(path) == {}
    assert histogram(path, where="ward = 'x' and n > 3", score="sum(price)", clip=3) == {}
    path.write_bytes(first.encode("latin-1") + b'{"item": "a", "user": 1}\n{"user": 2, "item": "a"}')
    assert histogram(path) == {"a": 2}
    assert histogram(path, item=("itme",)) == {}


@pytest.mark.parametrize("name", ["a b", 'q"x', "order", "it's", "a.b", "$", "\\", "é", "select", "{}", "a;b", "A,b"])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_odd_names_of_columns(tmp_path: Path, name: str, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    if ending == "csv":
        quoted = '"' + name.replace('"', '""') + '"'
        path.write_text(f"user,{quoted},x\nu,a,\n")
    else:
        path.write_text(json.dumps({"user": "u", name: "a"}) + "\n")
    assert histogram(path, item=(name,)) == {"a": 1}


def test_names_that_differ_in_case_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,item,Item\nu,a,b\n")
    assert histogram(tmp_path / "t.csv", item=("Item",)) == {"b": 1}
    (tmp_path / "t.jsonl").write_text('{"user": 1, "item": "a", "Item": "b"}')
    with pytest.raises(QuestionError, match="case alone"):
        histogram(tmp_path / "t.jsonl", item=("item", "Item"))


@pytest.mark.long
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_long_lived_source_reads_what_is_there_now(tmp_path: Path, ending: str) -> None:
    def put(name: str, users: list[str]) -> None:
        path = tmp_path / f"{name}.{ending}"
        if ending == "parquet":
            parquet(tmp_path / "new", [(user, "a") for user in users])
            os.replace(tmp_path / "new", path)
        elif ending == "csv":
            path.write_text("user,item\n" + "".join(f"{user},a\n" for user in users))
        else:
            path.write_text("".join(json.dumps({"user": user, "item": "a"}) + "\n" for user in users))

    if ending == "parquet":
        put("one", [])
    else:
        (tmp_path / f"one.{ending}").write_text("")
    source = open_source(str(tmp_path / f"*.{ending}"))
    counts = [source.top_counts(QUESTION).counts[0]]
    for name, users in [("one", ["u"]), ("two", ["v", "w"]), ("one", ["x", "y", "z"])]:
        put(name, users)
        source.check(QUESTION)
        counts.append(source.top_counts(QUESTION).counts[0])
    assert counts == [0, 1, 3, 5]


def test_a_file_put_in_the_place_of_another_is_seen(tmp_path: Path) -> None:
    path, other = tmp_path / "t.csv", tmp_path / "other.csv"
    path.write_text("user,item\nu,a\nv,b\n")
    other.write_text('user,item\nu,"\nv,b\n')
    assert path.stat().st_size == other.stat().st_size
    source = open_source(path)
    assert source.top_counts(QUESTION).counts == (1, 1, 0)
    os.utime(other, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
    os.replace(other, path)
    assert source.top_counts(QUESTION).items[0] == "b"


@pytest.mark.parametrize("way", ["fast"], indirect=True)
def test_a_file_that_changes_while_it_is_read_is_read_again_from_a_copy(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user,item\nu,a\nv,b\n")
    source = open_source(path)
    assert isinstance(source, FileSource)
    seen: list[Any] = []

    def action(table: TableSource) -> Histogram:
        if not seen:
            path.write_text('user,item\nx,"\nu,a\nv,a\n')
        seen.append(table)
        return table.top_counts(QUESTION)

    assert source._run_on_table(QUESTION, action).counts[0] == 2
    assert len(seen) == 2


def test_a_damaged_end_is_an_error_without_the_words_of_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n" + os.urandom(1 << 16).hex().encode())[:-9])
    with pytest.raises(SourceError, match="to its end"):
        open_source(path).top_counts(QUESTION)


def test_a_file_as_a_public_list(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,item\nu,a\nv,b\n")
    (tmp_path / "all.csv").write_text("item,price\na,1\nb,2\nc,3\n")
    (tmp_path / "all.jsonl").write_text('{"item": "a"}\n{"item": "c"}\n')
    parquet(tmp_path / "all.parquet", [("u", "a"), ("u", "b")])
    source = open_source(tmp_path / "t.csv")
    assert isinstance(source, FileSource)
    sizes = []
    for name in ("all.csv", "all.jsonl", "all.parquet"):
        source.check(replace(QUESTION, domain=str(tmp_path / name)))
        with source.reading(replace(QUESTION, domain=str(tmp_path / name))) as reading:
            assert isinstance(reading.histogram, Histogram)
            sizes.append(reading.histogram.domain_size)
    assert sizes == [3, 2, 2]


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
