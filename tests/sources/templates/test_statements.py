"""Statements are written once, hold no value of a question, and are kept for each asker apart."""

from __future__ import annotations

from typing import Any

import ibis
import pytest

from crestline.errors import ParameterError, QuestionError
from crestline.question import Question
from crestline.sources.databases import ibis_source
from crestline.sources.engine import statements
from crestline.sources.engine.bind_parameters import KEY
from crestline.sources.engine.cache_owner import use_cache_of
from crestline.sources.expression.contribution import hash_digits, key_values
from crestline.sources.expression.counting import Counting
from crestline.sources.table import TableSource

ROWS = [(1, "a", "DE"), (2, "a", "it's; drop table events --"), (3, "b", "DE"), (3, "b", "$1"), (4, "b", None)]


@pytest.fixture
def events() -> TableSource:
    engine = ibis.duckdb.connect()
    engine.con.execute('create table events ("user" integer, item text, country text)')
    engine.con.executemany("insert into events values (?, ?, ?)", ROWS)
    return ibis_source(engine.table("events"), 60.0)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of all statements that were written."""
    texts: list[str] = []
    original = statements.compile_statement

    def spy(*asked: Any, **options: Any) -> statements.Statement:
        made = original(*asked, **options)
        texts.append(made.text)
        return made

    monkeypatch.setattr(statements, "compile_statement", spy)
    return texts


def counted(source: TableSource, where: str, **options: Any) -> dict[Any, int]:
    found = source.top_counts(Question(k=1, k_bar=2, where=where, **options), bytes(range(32)))
    return dict(list(zip(found.items, found.counts, strict=True))[: found.filled])


def test_values_are_bound_and_never_written(events: TableSource, written: list[str]) -> None:
    hostile = "it's; drop table events --"
    quoted = hostile.replace("'", "''")
    assert counted(events, f"country = '{quoted}'") == {"a": 1}
    assert counted(events, "country = '$1'") == {"b": 1}
    assert counted(events, "country = 'DE'") == {"a": 1, "b": 1}
    assert len(written) == 1
    assert "drop" not in written[0]


def test_a_key_is_bound_too(events: TableSource, written: list[str]) -> None:
    asked = Question(k=1, k_bar=2, contribution=1)
    for number in range(4):
        events.top_counts(asked, bytes([number]) * 32)
    assert len(written) == 1
    for place, value in key_values(bytes(32)).items():
        assert place not in written[0]
        assert value not in written[0]
    with pytest.raises(ParameterError, match="fresh random key"):
        events.top_counts(asked, b"short")


def test_true_and_one_are_not_the_same(events: TableSource) -> None:
    assert counted(events, '"user" = 1') == {"a": 1}
    with pytest.raises(QuestionError, match="cannot be compared with true"):
        events.check(Question(k=1, k_bar=2, where='"user" = true'))


def test_a_statement_is_used_only_by_the_caller_it_was_written_for(events: TableSource, written: list[str]) -> None:
    for who in ("ada", "bob", "ada", "bob"):
        with use_cache_of(who):
            counted(events, "country = 'DE'")
    assert len(written) == 2


def test_a_place_that_is_left_is_noticed(events: TableSource) -> None:
    """An expression that hides a place inside a longer text would run with a key that never changes."""
    engine: Any = ibis.duckdb.connect()
    hidden = ibis.literal(f"{hash_digits(KEY)} and more").name("text").as_table()
    with pytest.raises(AssertionError, match="a place was left"):
        statements.compile_statement(engine, hidden, key_values(bytes(32)), numbered=True)


def test_many_texts_are_written_out(events: TableSource) -> None:
    listed = ", ".join(f"'c{number}'" for number in range(40))
    assert counted(events, f"country in ({listed}, 'DE')") == {"a": 1, "b": 1}


@pytest.mark.parametrize("asked", [{"domain": ["a", "b"]}, {"by": ("country",)}, {"coverage": True}])
def test_an_expression_is_used_only_by_the_caller_it_was_built_for(
    events: TableSource, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    built: list[Question] = []

    def spy(over: Any, question: Question, *others: Any) -> Any:
        built.append(question)
        return Counting(over, question, *others)

    monkeypatch.setattr("crestline.sources.table.Counting", spy)
    numbers = []
    for who in ("ada", "bob", "ada", "bob"):
        with use_cache_of(who):
            events.check(Question(k=1, k_bar=2, **asked))
        numbers.append(len(built))
    assert numbers[1] == 2 * numbers[0] > 0
    assert numbers[3] == numbers[1]


def grouped(source: TableSource, asked: Question, key: bytes) -> list[tuple[Any, Any, list[int]]]:
    with source.reading(asked, key) as reading:
        tables: Any = reading.histogram
        return [
            (
                table.groups[row],
                [table.name(row, slot) for slot in range(table.filled_slots[row])],
                table.array[row].tolist(),
            )
            for table in tables
            for row in range(len(table.groups))
        ]


@pytest.mark.long
def test_groups_are_the_same_by_statements_that_were_written_before(
    events: TableSource, written: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The groups and the item of user 3 are chosen by the key: it must be this release's own each time."""
    keys = [bytes([number]) * 32 for number in range(6)]
    questions = [
        Question(k=1, k_bar=2, by=("country",), groups_per_user=1, contribution=1, where=f"country <> '{name}'")
        for name in ("DE", "$1", "nowhere")
    ]
    for asked in questions:
        events.check(asked)
    kept = [grouped(events, asked, key) for asked in questions for key in keys]
    assert len(written) == 2  # one stores, the other fetches
    assert not any(value in text for text in written for value in ("nowhere", *map(hash_digits, keys)))
    monkeypatch.setattr(TableSource, "_keeps_groups", lambda self, question: False)
    assert kept == [grouped(events, asked, key) for asked in questions for key in keys]
    assert len({str(one) for one in kept[-len(keys) :]}) > 1
