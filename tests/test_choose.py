"""Which mechanism answers: by the question alone (P12.1), and said exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crestline.choose import _shortest, automatic, choose, describe
from crestline.errors import MechanismError
from crestline.mechanisms.limited_domain import LimitedDomain


@pytest.mark.parametrize(
    ("k", "contribution", "books", "known_domain", "wanted"),
    [
        (1, None, False, True, "Lipschitz"),
        (9, None, True, True, "Canonical"),
        (11, None, False, True, "Lipschitz"),
        (50, 5, True, False, "LimitedDomainGauss"),
        (50, None, True, False, "LimitedDomain"),
        (10, None, False, False, "CanonicalBottom"),
        (11, None, False, False, "RestrictedGumbel"),
    ],
)
def test_the_rules_of_auto(k: int, contribution: int | None, books: bool, known_domain: bool, wanted: str) -> None:
    assert automatic(k, contribution, books, known_domain).name == wanted


@pytest.mark.parametrize("k", [1, 10, 30])
@pytest.mark.parametrize("contribution", [None, 3])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("books", [False, True])
@pytest.mark.parametrize("known_domain", [False, True])
def test_what_auto_makes_keeps_the_budget(
    k: int, contribution: int | None, counts: bool, books: bool, known_domain: bool
) -> None:
    question = {"k": k, "k_bar": None, "epsilon": 1, "delta": "1e-6", "contribution": contribution}
    chosen = choose("auto", **question, counts=counts, books=books, known_domain=known_domain)  # type: ignore[arg-type] # a table of calls
    promise = chosen.mechanism.guarantee()
    assert promise.epsilon <= 1
    assert promise.delta <= Fraction(1, 10**6)
    assert chosen.choice.reason.startswith("chosen because")


def test_parameters_are_said_exactly() -> None:
    assert describe(LimitedDomain(3, 9, "0.149051437438", "1e-7"), "why").parameters == {
        "k": "3",
        "k_bar": "9",
        "epsilon": "0.149051437438",
        "delta": "1e-7",
        "slack": "0",
    }
    assert _shortest(Fraction(865708256752521, 10**14)) == "8.65708256752521"
    assert _shortest(Fraction(1, 3)) == "1/3"


@pytest.mark.parametrize("name", ["FirstStable", "StableAnswers"])
def test_a_mechanism_for_queries_answers_no_top_k(name: str) -> None:
    with pytest.raises(MechanismError, match="not a top-k"):
        choose(name, k=5, k_bar=None, epsilon=1, delta="1e-6", contribution=None)
