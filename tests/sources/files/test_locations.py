"""Ways in: folders, lists, the home folder, database files, and what a DuckDB of one's own holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as cl
from crestline.errors import QuestionError
from crestline.question import Question
from crestline.sources import open_source

QUESTION = Question(k=2, k_bar=3)


def parquet(path: Path, *rows: tuple[int, str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    users, items = zip(*rows, strict=True)
    pq.write_table(pa.table({"user": users, "item": items}), path)
    return path


def counted(source: object, **options: Any) -> dict[Any, int]:
    opened: Any = open_source(source, **options)
    opened.check(QUESTION)
    histogram = opened.top_counts(QUESTION)
    return {item: count for item, count in zip(histogram.items, histogram.counts, strict=True) if count}


def test_a_folder_is_one_table_without_what_other_programs_left_there(tmp_path: Path) -> None:
    parquet(tmp_path / "sales [1]" / "part-0.parquet", (1, "a"), (2, "a"))
    parquet(tmp_path / "sales [1]" / "deeper" / "part-1.parquet", (2, "b"))
    parquet(tmp_path / "sales [1]" / "_temporary" / "part-2.parquet", (3, "c"))
    (tmp_path / "sales [1]" / "_SUCCESS").touch()
    assert counted(tmp_path / "sales [1]") == counted(f"{tmp_path}/sales [1]/") == {"a": 2, "b": 1}


def test_a_folder_of_csv_is_read_too_and_what_is_no_one_table_says_what_to_write(tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / f"{number}.csv").write_text(f"user,item\n{number},a\n")
    assert counted(tmp_path) == {"a": 2}
    parquet(tmp_path / "t.parquet", (1, "a"))
    with pytest.raises(QuestionError, match=r"files of several kinds in it; write .*\*\.csv"):
        open_source(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        QuestionError, match=r"no Parquet, CSV or JSON lines below it: their names must end in \.parquet"
    ):
        open_source(tmp_path / "empty")
    with pytest.raises(QuestionError, match=r"there is no file or folder .*none$"):
        open_source(tmp_path / "none")


def test_a_list_of_paths_and_globs_is_one_table_and_a_file_counts_once(tmp_path: Path) -> None:
    first, second = parquet(tmp_path / "a.parquet", (1, "x")), parquet(tmp_path / "b.parquet", (2, "x"), (2, "y"))
    assert counted([first, str(second)]) == counted([tmp_path / "*.parquet", first]) == {"x": 2, "y": 1}
    answer = cl.top_k([first, second], user="user", item="item", k=1, epsilon=1, delta="1e-8")
    assert answer.source == f"{first}, {second}"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "empty"),
        (["a.parquet", "b.csv"], "all Parquet, or all CSV"),
        (["a.csv", "b.jsonl"], "all Parquet, or all CSV"),
        (["a.parquet", "s3://lake/b.parquet"], "not both"),
        ([1, 2], "not list"),
    ],
)
def test_a_list_that_is_no_table_is_refused(given: list[Any], told: str) -> None:
    with pytest.raises(QuestionError, match=told):
        open_source(given)


def test_a_list_sees_a_file_that_was_replaced(tmp_path: Path) -> None:
    source: Any = open_source([parquet(tmp_path / "a.parquet", (1, "x")), parquet(tmp_path / "b.parquet", (2, "x"))])
    version = source.version()
    parquet(tmp_path / "b.parquet", (2, "y"), (3, "y"))
    assert source.top_counts(QUESTION).items[0] == "y"
    assert source.version() != version


@pytest.mark.long
def test_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    parquet(tmp_path / "data" / "t.parquet", (1, "x"))
    with duckdb.connect(tmp_path / "shop.duckdb") as shop:
        shop.execute("create table sales as select 1 as \"user\", 'z' as item")
    assert counted("~/data/t.parquet") == counted("~/data") == counted("~/data/*.parquet") == {"x": 1}
    assert counted("~/shop.duckdb", table="sales") == {"z": 1}


def test_a_database_file_needs_a_table_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "my shop%20.duckdb"
    with duckdb.connect(path) as shop:
        shop.execute("create table sales as select 1 as \"user\", 'z' as item")
    assert counted(path, table="sales") == {"z": 1}
    with pytest.raises(QuestionError, match="needs `table`"):
        open_source(path)
    with pytest.raises(QuestionError, match="there is no DuckDB database"):
        open_source(tmp_path / "other.duckdb", table="sales")
    data = cl.connect(path).dataset("sales", user="user", budget=cl.Budget(epsilon=1, delta="1e-6"))
    assert data.top(k=1, item="item").source == "sales"


def test_a_connection_and_a_relation_of_duckdb(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("create view sales as select i % 3 as \"user\", 'n' || i % 2 as item from range(6) as r(i)")
        assert counted(connection, table="sales") == {"n0": 3, "n1": 3}
        assert counted(connection.sql("from sales where item = 'n1'")) == {"n1": 3}
        assert connection.execute("select 1").fetchall() == [(1,)]  # it stays open
        with pytest.raises(QuestionError, match="needs `table`"):
            open_source(connection)
        with pytest.raises(QuestionError, match="a relation is one table"):
            open_source(connection.table("sales"), table="sales")
        with pytest.raises(QuestionError, match="must not fail on a row") as refusal:
            open_source(connection.sql('select cast(item as int) as item, 1 as "user" from sales'))
        assert "n0" not in str(refusal.value)


def test_a_latin_1_file_is_read_and_what_is_no_utf_8_is_replaced(tmp_path: Path) -> None:
    """Refusing it would tell that such a letter is in a row; the page says how to convert the file."""
    (tmp_path / "t.csv").write_bytes("user,item\n1,café\n2,tea\n".encode("latin-1"))
    assert counted(tmp_path / "t.csv") == {"caf\N{REPLACEMENT CHARACTER}": 1, "tea": 1}
