"""A table that is asked again and again: what is built once, and what must be built anew."""

from __future__ import annotations

import pandas
import pytest

from crestline.errors import QuestionError
from crestline.histogram.label_order import Padding
from crestline.question import Question
from crestline.sources.expression import where
from crestline.sources.expression.filter_conditions import Filter
from crestline.sources.open import open_source

VISITS = pandas.DataFrame({"user": [1, 1, 2, 2, 3, 3], "item": list("abacad"), "year": [1, 2, 2, 2, 2, 2]})


def asked(**options: object) -> Question:
    return Question.from_fields({"user": "user", "item": ("item",), "k": 1, "k_bar": 3, **options})  # type: ignore[typeddict-item] # options


def test_a_question_is_built_once_however_often_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[where.Condition] = []
    build = Filter.condition
    monkeypatch.setattr(Filter, "condition", lambda self, tree: built.append(tree) or build(self, tree))
    source, question = open_source(VISITS), asked(where="year = 2")
    source.check(question)
    first, second = (source.top_counts(question, bytes([number]) * 32) for number in (1, 2))
    assert first.items[0] == second.items[0] == "a"
    assert built == [where.parse_filter("year = 2")]
    source.check(asked(where="year = 1"))
    assert built == [where.parse_filter("year = 2"), where.parse_filter("year = 1")]


def test_the_rows_are_read_every_time() -> None:
    """What is kept is the question, never its answer."""
    import ibis

    engine = ibis.duckdb.connect()
    engine.raw_sql(
        "CREATE TABLE visits AS SELECT * FROM (VALUES (1, 'a'), (2, 'a'), (3, 'b')) AS rows (\"user\", item)"
    )
    source = open_source(engine.table("visits"))
    assert source.top_counts(asked()).items[0] == "a"
    engine.raw_sql("DELETE FROM visits WHERE item = 'a'")
    assert source.top_counts(asked()).items[0] == "b"
    engine.raw_sql("DELETE FROM visits")
    assert isinstance(source.top_counts(asked()).items[0], Padding)


@pytest.mark.long
def test_a_new_key_chooses_anew_what_a_user_contributes() -> None:
    source, question = open_source(VISITS), asked(contribution=1)
    source.check(question)
    kept = {tuple(source.top_counts(question, bytes([number]) * 32).items) for number in range(20)}
    assert len(kept) > 3


def test_what_was_refused_is_refused_again() -> None:
    source = open_source(VISITS)
    for _ in range(2):
        with pytest.raises(QuestionError, match="colour"):
            source.check(asked(item=("colour",)))
