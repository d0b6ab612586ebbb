"""A question as one sentence, in the owner's words or in the names of its columns."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline as cl
from crestline.errors import ParameterError
from crestline.label_text import printable_text
from crestline.question import Question
from crestline.question_fields import FIELDS
from crestline.words import NO_WORDS, Words

SHOP = Words.from_mapping({"user": "customers", "sku": ["product", "products"], "verb": "bought by", "city": "city"})


@pytest.mark.parametrize(
    ("fields", "with_words", "without"),
    [
        (
            {"k": 10, "item": "sku", "period": "2026-10"},
            "The 10 products bought by the most customers in October 2026",
            "The 10 values of 'sku' with the most users in October 2026",
        ),
        ({"k": 1, "item": "sku"}, "The product bought by the most customers", "The value of 'sku' with the most users"),
        (
            {"k": 3, "item": ["sku", "brand"], "where": "country = 'DE'"},
            "The 3 combinations of product and 'brand' bought by the most customers, where country = 'DE'",
            "The 3 combinations of 'sku' and 'brand' with the most users, where country = 'DE'",
        ),
        (
            {"k": 3, "item": "sku", "by": "city", "groups_per_user": 2, "floor": 20, "last": 3, "contribution": 1},
            "The 3 products bought by the most customers in the last 3 periods, for every city, counting at most 1 "
            "product of each customer and group, with each customer in at most 2 cities, without products of fewer "
            "than 20 customers",
            "The 3 values of 'sku' with the most users in the last 3 periods, for every value of 'city', counting at "
            "most 1 value of 'sku' of each user and group, with each user in at most 2 values of 'city', without "
            "values of 'sku' of fewer than 20 users",
        ),
        (
            {"k": 900, "item": "sku", "score": "sum(price)", "clip": 5000, "since": "2026-W05", "until": "2026-W06"},
            "The 900 products with the largest sum of 'price' (at most 5,000 from each customer) from week 5 of 2026 "
            "to week 6 of 2026",
            "The 900 values of 'sku' with the largest sum of 'price' (at most 5,000 from each user) from week 5 of "
            "2026 to week 6 of 2026",
        ),
    ],
)
def test_a_question_in_words(fields: Any, with_words: str, without: str) -> None:
    question = Question.from_fields(fields)
    assert question.words(SHOP) == with_words
    assert question.words() == without


@pytest.mark.parametrize(
    ("written", "forms"),
    [
        ("customers", ("customer", "customers")),
        ("product", ("product", "products")),
        ("cities", ("city", "cities")),
        ("city", ("city", "cities")),
        ("day", ("day", "days")),
        ("boxes", ("box", "boxes")),
        ("class", ("class", "classes")),
        ("houses", ("house", "houses")),
        ("campus", ("campus", "campuses")),
        (["person", "people"], ("person", "people")),
    ],
)
def test_singular_and_plural(written: object, forms: tuple[str, str]) -> None:
    assert Words.from_mapping({"sku": written}).nouns["sku"] == forms


@pytest.mark.parametrize(
    "wrong", [{"sku": ""}, {"sku": 3}, {"sku": ["a", "b", "c"]}, {"sku": "x\ny"}, {"verb": "a" * 61}, "customers"]
)
def test_words_that_are_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="words"):
        Words.from_mapping(wrong)


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
columns = st.one_of(st.sampled_from(["sku", "city"]), names)
periods: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    [{}, {"period": "2026-10"}, {"since": "2026"}, {"last": 2, "open": True}, {"last": 1}]
)
scores: st.SearchStrategy[dict[str, object]] = st.sampled_from(
    [{}, {"score": "sum(price)", "clip": 7}, {"score": 'sum("a ""b")', "clip": 10**6}]
)
number = st.integers(1, 3000)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Any question, with every field of the table."""
    by = draw(st.lists(columns, max_size=2, unique=True))
    items = draw(st.lists(columns.filter(lambda name: name not in (*by, "user")), min_size=1, max_size=2, unique=True))
    many = draw(number)
    fields: dict[str, object] = {
        "k": many,
        "item": items,
        "by": [name for name in by if name != "user"],
        "k_bar": draw(st.one_of(st.none(), st.just(many + 5))),
        "where": draw(st.one_of(st.none(), names)),
        "contribution": draw(st.one_of(st.none(), number)),
        "epsilon": draw(st.one_of(st.none(), number)),
        "delta": draw(st.sampled_from([None, "1e-9"])),
        "mechanism": draw(st.sampled_from(["auto", "Sieve"])),
        "counts": draw(st.booleans()),
        "ordered": draw(st.booleans()),
        "domain": draw(st.sampled_from([None, ["private label"]])),
        "passes": draw(st.sampled_from([None, 1])),
    }
    fields |= draw(periods)
    fields |= draw(scores)
    if fields["by"]:
        fields |= {"groups_per_user": draw(number), "floor": draw(number), "groups": ["private label"]}
    else:
        fields |= {"coverage": draw(st.booleans())}
    assert fields.keys() - {"user"} <= FIELDS.keys()
    return Question.from_fields(fields)  # type: ignore[arg-type] # the keys are those of the table


@pytest.mark.long
@given(questions(), st.sampled_from([NO_WORDS, SHOP]))
def test_every_question_is_one_grammatical_sentence(question: Question, words: Words) -> None:
    text = question.words(words)
    plain = re.sub(r"where .*?(, counting|, with each|, without|$)", r"\1", re.sub(r"'(?:[^']|'')*'", "'x'", text))
    assert text == question.words(words) == Question.from_json(question.to_json()).words(words), "deterministic"
    assert text == printable_text(text), "one line"
    assert "private label" not in text
    assert text.startswith("The ")
    assert not text.endswith((".", " ", ","))
    assert "  " not in plain
    assert plain.count("(") == plain.count(")")
    one, many = words.value_of(question.item), words.value_of(question.item, number=2)
    assert text.startswith(f"The {one} " if question.k == 1 else f"The {question.k:,} {many} ")
    assert (f"most {words.users}" in text) == (question.score is None)
    for singular in (
        f"{words.user} users",
        f"each {words.users}",
        "1 values",
        "1 products",
        "1 cities",
        "every values",
    ):
        assert singular not in re.sub(r"[\d,]+1 ", "", plain)


def test_a_data_set_speaks_in_its_words(tmp_path: Path) -> None:
    file = tmp_path / "sales.csv"
    file.write_text("customer,sku\n" + "".join(f"c{user},apple\n" for user in range(3000)))
    budget = cl.Budget(epsilon=2, delta="1e-7")
    vocabulary = {"user": "customers", "sku": "product", "verb": "bought by"}
    sales = cl.connect(file).dataset(
        "sales", user="customer", budget=budget, title="Sales", description="One row for each sale.", words=vocabulary
    )
    answer = sales.top(k=1, item="sku", epsilon=1, delta="1e-8")
    assert (sales.title, sales.description) == ("Sales", "One row for each sale.")
    assert answer.heading == "The product bought by the most customers"
    assert cl.Answer.from_dict(answer.to_dict()).heading == answer.heading
    assert "the product bought by the most customers, in " in " ".join(answer.explain().split())
    with pytest.raises(ParameterError, match="title must be a text"):
        cl.connect(file).dataset("sales", user="customer", budget=budget, title="")
