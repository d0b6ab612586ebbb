"""Which mechanism answers: by the question alone (P12.1), and said exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest

from crestline.errors import MechanismError
from crestline.ledger.budget import Budget
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.prepare import describe_choice, prepare
from crestline.question import Limits, Question, QuestionFields

BOOKS = Budget(epsilon=10, delta="1e-5")


@pytest.mark.parametrize(
    ("k", "budget", "noise"),
    [(1, None, "exponential"), (5, None, "exponential"), (1, BOOKS, "gumbel"), (5, BOOKS, "gumbel")],
)
def test_a_public_list_with_a_ledger_takes_the_noise_that_adds_up_best(k: int, budget: Any, noise: str) -> None:
    asked = Question(k=k, epsilon=Fraction(1), delta=Fraction(1, 10**6), ordered=False)
    found: Any = prepare(asked, budget=budget, limits=Limits(public_list=True)).mechanism
    assert found.noise == noise


@pytest.mark.parametrize("contribution", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), (1, "1e-8"), (2, "1e-7")])
def test_with_a_bound_auto_takes_the_noise_that_needs_the_smaller_lead(
    contribution: int, epsilon: str | int, delta: str
) -> None:
    def lead(name: str) -> float:
        asked: QuestionFields = {"k": 10, "epsilon": epsilon, "delta": delta, "contribution": contribution}
        return float(prepare(Question.from_fields({**asked, "mechanism": name})).mechanism.margin())

    best = min(lead("LimitedDomainGauss"), lead("LimitedDomainLaplace"))
    assert lead("auto") <= best  # what thresholds over observed items need is a count, not a lead


@pytest.mark.parametrize("contribution", [2, 8])
def test_with_a_bound_more_slots_cost_next_to_nothing(contribution: int) -> None:
    """So the usual number is large: the count that must be exceeded is that of the first item left out."""
    asked: QuestionFields = {"k": 10, "epsilon": 1, "delta": "1e-6", "contribution": contribution, "passes": 1}
    usual, few = (prepare(Question.from_fields({**asked, "k_bar": k_bar})) for k_bar in (None, 100))
    assert usual.question.k_bar == 1000
    assert float(usual.mechanism.margin()) == pytest.approx(float(few.mechanism.margin()), rel=0.05)


@pytest.mark.parametrize(("k_bar", "most", "seen"), [(None, 40, 40), (None, 5000, 1000), (None, 9, 1000), (60, 40, 60)])
def test_the_usual_number_of_slots_gives_way_to_the_most_there_are(k_bar: int | None, most: int, seen: int) -> None:
    """But not to fewer than k, and not where the question says how many: then the source must refuse."""
    question = Question.from_fields(
        {"k": 10, "epsilon": 1, "delta": "1e-6", "contribution": 5, "k_bar": k_bar, "passes": 1}
    )
    prepared = prepare(question, limits=Limits(slots=most))
    assert prepared.question.k_bar == prepared.mechanism.k_bar == seen


def kinds() -> list[Any]:
    """The gate takes 12 of 48, with every pair of two parameters."""
    made = []
    for place, k in enumerate((1, 10, 30)):
        for bounded, counts, books, public in itertools.product((False, True), repeat=4):
            held = books == (bounded ^ counts ^ (place == 1)) and public == (bounded ^ (place == 2))
            marks = () if held else pytest.mark.full
            made.append(pytest.param(k, 3 if bounded else None, counts, books, public, marks=marks))
    return made


def test_the_gate_holds_every_pair_of_parameters() -> None:
    held = [kind.values for kind in kinds() if not kind.marks]
    assert len(held) == 12
    for i, j in itertools.combinations(range(5), 2):
        assert {(one[i], one[j]) for one in held} == {(kind.values[i], kind.values[j]) for kind in kinds()}


@pytest.mark.long
@pytest.mark.parametrize(("k", "contribution", "counts", "books", "public_list"), kinds())
def test_what_auto_makes_keeps_the_budget(
    k: int, contribution: int | None, counts: bool, books: bool, public_list: bool
) -> None:
    question = Question.from_fields(
        {"k": k, "epsilon": 1, "delta": "1e-6", "contribution": contribution, "counts": counts}
    )
    chosen = prepare(question, budget=BOOKS if books else None, limits=Limits(public_list=public_list))
    promise = chosen.promise
    assert promise.epsilon is not None
    assert promise.epsilon <= 1
    assert promise.delta <= Fraction(1, 10**6)
    assert chosen.choice.reason.startswith("chosen because")


def test_parameters_are_said_exactly() -> None:
    assert describe_choice(LimitedDomain(3, 9, "0.149051437438", "1e-7"), "why").parameters == {
        "k": "3",
        "k_bar": "9",
        "epsilon": "0.149051437438",
        "delta": "1e-7",
        "slack": "0",
    }


@pytest.mark.parametrize("name", ["FirstStable", "StableAnswers"])
def test_a_mechanism_for_queries_answers_no_top_k(name: str) -> None:
    with pytest.raises(MechanismError, match="not a top-k"):
        prepare(Question.from_fields({"k": 5, "epsilon": 1, "delta": "1e-6", "mechanism": name}))
