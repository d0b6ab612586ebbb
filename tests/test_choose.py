"""Which mechanism answers: by the question alone (P12.1), and said exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crestline.choose import automatic, choose, describe
from crestline.errors import MechanismError
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain


@pytest.mark.parametrize(
    ("k", "contribution", "books", "known_domain", "wanted"),
    [
        (1, None, False, True, "Lipschitz"),
        (9, None, True, True, "Canonical"),
        (11, None, False, True, "Lipschitz"),
        (50, 5, True, False, "LimitedDomainGauss"),
        (50, 4, False, False, "LimitedDomainGauss"),
        (50, 3, False, False, "LimitedDomainLaplace"),
        (50, 1, True, False, "LimitedDomainGauss"),
        (50, None, True, False, "LimitedDomain"),
        (10, None, False, False, "CanonicalBottom"),
        (11, None, False, False, "RestrictedGumbel"),
    ],
)
def test_the_rules_of_auto(k: int, contribution: int | None, books: bool, known_domain: bool, wanted: str) -> None:
    assert automatic(k, contribution, books, known_domain).name == wanted


def test_sums_are_not_ranked_with_laplace_noise() -> None:
    assert automatic(50, 2, books=False, known_domain=False, scored=True).name == "LimitedDomainGauss"


@pytest.mark.parametrize("contribution", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "1e-6"), (1, "1e-8"), (2, "1e-7")])
def test_with_a_bound_auto_takes_the_noise_that_needs_the_smaller_lead(
    contribution: int, epsilon: str | int, delta: str
) -> None:
    def lead(name: str) -> float:
        question = {"k": 10, "k_bar": None, "epsilon": epsilon, "delta": delta, "contribution": contribution}
        return float(choose(name, **question).mechanism.margin())  # type: ignore[arg-type] # a table of calls

    best = min(lead("LimitedDomainGauss"), lead("LimitedDomainLaplace"))
    assert lead("auto") <= 1.2 * best


@pytest.mark.parametrize("contribution", [2, 8])
def test_with_a_bound_more_slots_cost_next_to_nothing(contribution: int) -> None:
    """So the usual number is large: the count that must be exceeded is that of the first item left out."""
    question = {"k": 10, "epsilon": 1, "delta": "1e-6", "contribution": contribution}
    usual, few = (choose("auto", k_bar=k_bar, **question) for k_bar in (None, 100))  # type: ignore[arg-type] # as above
    assert usual.k_bar == 1000
    assert float(usual.mechanism.margin()) == pytest.approx(float(few.mechanism.margin()), rel=0.05)


@pytest.mark.parametrize(("k_bar", "most", "seen"), [(None, 40, 40), (None, 5000, 1000), (None, 9, 1000), (60, 40, 60)])
def test_the_usual_number_of_slots_gives_way_to_the_most_there_are(k_bar: int | None, most: int, seen: int) -> None:
    """But not to fewer than k, and not where the question says how many: then somebody else must refuse."""
    question = {"k": 10, "epsilon": 1, "delta": "1e-6", "contribution": 5}
    chosen = choose("auto", k_bar=k_bar, most_slots=most, **question)  # type: ignore[arg-type] # a table of calls
    assert chosen.k_bar == chosen.mechanism.k_bar == seen


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


@pytest.mark.parametrize("name", ["FirstStable", "StableAnswers"])
def test_a_mechanism_for_queries_answers_no_top_k(name: str) -> None:
    with pytest.raises(MechanismError, match="not a top-k"):
        choose(name, k=5, k_bar=None, epsilon=1, delta="1e-6", contribution=None)
