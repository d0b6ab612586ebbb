"""Fuzzing of everything that parses: it understands, or it refuses with an error of ours; never anything else."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import crestline as cl
from crestline.audit.import_target import load
from crestline.cli.main import run
from crestline.errors import CrestlineError, MechanismError, ParameterError, QuestionError
from crestline.exact_numbers import decimal_text, exact_number
from crestline.ledger.budget import Budget
from crestline.question import Question
from crestline.sources.expression import where

ANYTHING = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(),
    some.floats(),
    some.text(max_size=12),
    some.binary(max_size=4),
    some.lists(some.integers(), max_size=2),
)
JSON = some.recursive(
    some.none() | some.booleans() | some.integers(-5, 5) | some.text(max_size=6),
    lambda parts: some.lists(parts, max_size=3) | some.dictionaries(some.text(max_size=8), parts, max_size=4),
    max_leaves=12,
)
TOKENS = r"""user item day a 'x' 3 -1 1e3 = <> < >= and or not in like is null ( ) , " ; -- /* */"""
WORDS = some.sampled_from(TOKENS.split())


@given(ANYTHING)
def test_a_number_is_exact_or_refused(value: Any) -> None:
    with suppress(ParameterError):
        number = exact_number(value, "epsilon")
        assert isinstance(number, Fraction)
        if isinstance(value, int | float):
            assert float(number) == pytest.approx(float(value))
        decimal_text(number)


@given(some.fractions())
def test_numbers_are_read_as_they_are_written(number: Fraction) -> None:
    assert exact_number(str(number), "epsilon") == number


@given(some.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_are_read_as_they_are_written(number: Any) -> None:
    assert exact_number(str(number), "epsilon") == Fraction(number) == exact_number(number, "epsilon")


@given(some.one_of(some.text(max_size=40), some.lists(WORDS, max_size=12).map(" ".join)))
@settings(max_examples=300)
def test_a_filter_is_understood_or_refused(text: str) -> None:
    with suppress(QuestionError):
        where.parse_filter(text)


@given(user=ANYTHING, item=ANYTHING, k=ANYTHING, k_bar=ANYTHING, contribution=ANYTHING)
def test_a_question_is_a_question_or_refused(user: Any, item: Any, k: Any, k_bar: Any, contribution: Any) -> None:
    with suppress(CrestlineError):
        made = Question(user=user, item=(item,), k=k, k_bar=k_bar, contribution=contribution)
        assert made.k_bar is not None
        assert 1 <= made.k <= made.k_bar


@given(epsilon=ANYTHING, delta=ANYTHING)
def test_a_budget_is_a_budget_or_refused(epsilon: Any, delta: Any) -> None:
    with suppress(CrestlineError):
        made = Budget(epsilon=epsilon, delta=delta)
        assert made.epsilon >= 0
        assert 0 <= made.delta <= 1


@given(counts=some.dictionaries(some.text(max_size=4), ANYTHING, max_size=5), k_bar=ANYTHING)
def test_a_histogram_is_ranked_or_refused(counts: Any, k_bar: Any) -> None:
    with suppress(CrestlineError):
        made = cl.Histogram.from_counts(counts, k_bar)
        assert list(made.counts) == sorted(made.counts, reverse=True)


@given(JSON)
def test_a_stored_answer_is_read_or_refused(value: Any) -> None:
    with suppress(ParameterError):
        cl.Answer.from_dict(value)


ANSWER = cl.top_k(
    cl.Histogram.from_counts({"a": 90, "b": 3}, 2),
    k=1,
    k_bar=2,
    epsilon=1,
    delta="1e-6",
    mechanism="LimitedDomain",
    entropy=cl.entropy.replay("fuzz"),
).to_dict()


@given(field=some.sampled_from(sorted(ANSWER)), value=JSON)
def test_an_answer_that_was_edited_is_read_or_refused(field: str, value: Any) -> None:
    edited = {**ANSWER, field: value}
    with suppress(ParameterError):
        json.dumps(cl.Answer.from_dict(edited).to_dict())


@given(some.text(max_size=30).filter(lambda text: text.isprintable()))
def test_what_is_audited_is_found_or_refused(text: str) -> None:
    with pytest.raises(MechanismError):
        load(text, Path("nowhere"))


@given(
    some.lists(
        some.one_of(
            some.sampled_from(
                [
                    "--user",
                    "--item",
                    "-k",
                    "--epsilon",
                    "--delta",
                    "--k-bar",
                    "--where",
                    "--format",
                    "json",
                    "1",
                    "x",
                    "-1",
                ]
            ),
            some.text(max_size=6),
        ),
        max_size=9,
    )
)
@settings(max_examples=20)
def test_the_command_line_ends_with_a_code_it_knows(words: list[str]) -> None:
    """Never 70, which is an internal error. The source does not exist, so that nothing is ever read."""
    for command in ("top", "plan", "mechanisms"):
        assert run([command, "no-such-file.parquet", *words] if command == "top" else [command, *words]) in (0, 2, 4)
