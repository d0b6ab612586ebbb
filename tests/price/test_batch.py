"""Batches of questions: their prices add up, and are those that `top` will pay."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.price.made import posed

import crestline as cl
from crestline.errors import BudgetMismatch, ParameterError
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.price.batch import parse_question, price_batch
from crestline.price.price import Payers, PayingAccount


def payers(*budgets: Budget) -> Payers:
    return [PayingAccount(f"account {number}", Balance.open_account(budget)) for number, budget in enumerate(budgets)]


TWO = [posed(2, Fraction(1, 2), Fraction(1, 10**8)), posed(4, Fraction(1, 4), Fraction(1, 10**8))]


def test_prices_add_up() -> None:
    made = price_batch(TWO, lambda analyst: payers(Budget(2, "1e-6")))
    (together,) = made.charges
    assert together.most.loss == sum(line.price.most.loss for line in made.lines)
    assert together.least.loss == sum(line.price.least.loss for line in made.lines)
    assert made.fits
    assert made.number_certain == 2


def test_what_does_not_fit_is_counted() -> None:
    budget = Budget(2, "1e-6", kind="homogeneous", items=5, questions=4, item_epsilon="0.25")
    made = price_batch([TWO[1]] * 2, lambda analyst: payers(budget))
    assert not made.fits
    assert made.number_certain == 1


def test_what_is_not_given_is_a_share_of_the_budget() -> None:
    budget = Budget(2, "1e-6")
    asked = price_batch([posed(2)], lambda analyst: payers(budget)).lines[0]
    charge = asked.price.charges[0]
    assert Fraction(95, 1000) * budget.limit.loss < charge.most.loss <= budget.limit.loss / 10
    assert charge.most.failure <= budget.delta / 500


@pytest.mark.long
def test_a_question_is_priced_with_the_mechanism_that_top_takes() -> None:
    budget = Budget(2, "1e-6")
    data = cl.connect(cl.Histogram.from_counts({"a": 50}, k_bar=200)).dataset("x", user="u", budget=budget)
    for given in (
        {"passes": 1},
        {"contribution": 3, "passes": 1},
        {"mechanism": "LimitedDomainLaplace", "contribution": 2},
    ):
        question: dict[str, Any] = {"k": 2, "epsilon": "0.3", "delta": "1e-8", **given}
        asked = parse_question(question)
        (line,) = price_batch([asked], lambda analyst: payers(budget)).lines
        price = data.price(item="i", **question)
        assert (line.price.most, line.price.mechanism) == (price.most, price.mechanism)


def test_an_error_names_the_question() -> None:
    budget = Budget(2, "1e-6", kind="homogeneous", items=50, questions=4)
    with pytest.raises(BudgetMismatch, match=r"^question 2: this budget pays for"):
        price_batch([posed(1, Fraction(1, 100), Fraction(1, 10**8)), posed(1, Fraction(2))], lambda a: payers(budget))


def test_arguments_are_read() -> None:
    given = {"k": "5", "epsilon": "0.5", "delta": 1e-9, "item": "sku", "k_bar": "", "analyst": None, "counts": "yes"}
    asked = parse_question(given)
    assert asked == posed(5, Fraction(1, 2), Fraction(1, 10**9), counts=True, item=("sku",))
    assert asked.arguments["item"] == "sku"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"item": "sku"}, "every question needs k"),
        (
            {"k": 2, "eps": 1},
            "eps: no such argument of top; known: analyst, by, clip, contribution, counts, coverage, delta",
        ),
        ({"k": 2.5}, "k must be a whole number of at least 1"),
        ({"k": 2, "epsilon": 0}, "epsilon must be larger than zero"),
        ({"k": 2, "mechanism": {}}, "given by its name"),
        ({"k": 2, "counts": "maybe"}, "counts must be true or false"),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse_question(given)
