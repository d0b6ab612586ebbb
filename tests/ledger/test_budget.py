from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from crestline.errors import BudgetMismatch, ParameterError
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange, GaussianDP, LossInterval, PureDP
from crestline.ledger.budget import Budget
from crestline.ledger.budget_rules import PerItemRule, PureRule, ZcdpRule

EVERY_KIND = [
    Budget(epsilon=2, delta=1e-7),
    Budget(epsilon=2, delta=1e-7, slack=1e-7),
    Budget(epsilon="1/3", kind="pure"),
    Budget(epsilon=1, delta=2e-6, kind="homogeneous", items=100, questions=10),
]


def terms(budget: Budget) -> Any:
    return budget.terms


def test_the_default_is_a_concentrated_budget_that_converts_back_within_its_promise() -> None:
    budget = Budget(epsilon=2, delta=1e-7)
    kind = terms(budget)
    assert isinstance(kind, ZcdpRule)
    assert kind.slack == kind.delta == Fraction(1, 2 * 10**7)  # P10.5: delta_B + d is the promised delta
    assert zcdp_epsilon(kind.rho, kind.slack) <= 2
    assert zcdp_epsilon(kind.rho * Fraction(1001, 1000), kind.slack) > 2  # and nothing much is given away
    assert budget.guarantee().epsilon == 2
    assert budget.guarantee().delta == Fraction(1, 10**7)


def test_the_split_of_delta_is_a_choice() -> None:
    kind = terms(Budget(epsilon=2, delta=1e-7, slack="2e-8"))
    assert (kind.slack, kind.delta) == (Fraction(2, 10**8), Fraction(8, 10**8))


def test_a_pure_budget_adds_epsilon_up() -> None:
    budget = Budget(epsilon=1, kind="pure")
    assert isinstance(budget.terms, PureRule)
    amount = budget.measure(repeat_step(PureDP("0.1"), 3) + repeat_step(BoundedRange("0.2"), delta=Fraction(1, 100)))
    assert (amount.loss, amount.failure) == (Fraction(1, 2), Fraction(1, 100))


def test_a_pure_budget_cannot_pay_for_gaussian_noise() -> None:
    with pytest.raises(BudgetMismatch, match="zcdp"):
        Budget(epsilon=1, kind="pure").measure(repeat_step(GaussianDP(1)))


def test_a_concentrated_budget_pays_for_everything() -> None:
    cost = repeat_step(GaussianDP(1)) + repeat_step(BoundedRange(1), 8, delta=Fraction(1, 10**9))
    amount = Budget(epsilon=1, delta=1e-6).measure(cost)
    assert (amount.loss, amount.failure) == (Fraction(3, 2), Fraction(1, 10**9))


def test_the_homogeneous_form_finds_the_per_item_epsilon_of_p10_4() -> None:
    kind = terms(Budget(epsilon=1, delta=2e-6, slack=1e-6, kind="homogeneous", items=100, questions=10))
    assert isinstance(kind, PerItemRule)
    assert float(kind.item_epsilon) == pytest.approx(0.0441416, abs=2e-7)  # P10.4, B4, k = 100
    assert kind.question_delta == Fraction(1, 10**7)
    assert zcdp_epsilon(kind.items * kind.item_epsilon**2 / 8, kind.slack) <= 1


def test_what_exactly_fits_the_homogeneous_form_is_taken() -> None:
    """`l*·δ + slack <= delta` and `k*·ε <= epsilon` hold with equality."""
    exact: dict[str, Any] = {"slack": "1e-6", "kind": "homogeneous", "items": 2, "questions": 10}
    kind = terms(Budget(1, "2e-6", **exact, item_epsilon="0.5", question_delta="1e-7"))
    assert isinstance(kind, PerItemRule)
    assert kind.question_delta == Fraction(1, 10**7)
    for epsilon, delta in (("0.51", "1e-7"), ("0.5", "1.01e-7")):
        with pytest.raises(ParameterError):
            terms(Budget(1, "2e-6", **exact, item_epsilon=epsilon, question_delta=delta))


def test_few_items_are_better_off_with_plain_addition() -> None:
    assert terms(Budget(1, 2e-6, "homogeneous", items=2, questions=1)).item_epsilon == Fraction(1, 2)


def test_the_homogeneous_form_counts_items_and_questions() -> None:
    budget = Budget(1, 2e-6, "homogeneous", items=100, questions=10, item_epsilon="0.04", question_delta="1e-8")
    cost = repeat_step(BoundedRange("0.04"), 7, delta=Fraction(1, 10**8)) + repeat_step(BoundedRange("0.01"))
    amount = budget.measure(cost)  # P3.5 inside: one step more
    assert (amount.loss, amount.failure) == (8, 1)


@pytest.mark.parametrize(
    "cost",
    [
        repeat_step(BoundedRange("0.0401")),
        repeat_step(PureDP("0.04")),  # its zCDP cost is four times that of a bounded-range step
        repeat_step(LossInterval("0.04", "0.02")),
        repeat_step(GaussianDP("0.0001")),
        Cost(delta=Fraction(2, 10**8)),
    ],
)
def test_the_homogeneous_form_refuses_other_parameters(cost: Cost) -> None:
    budget = Budget(1, 2e-6, "homogeneous", items=100, questions=10, item_epsilon="0.04", question_delta="1e-8")
    with pytest.raises(BudgetMismatch, match=r"0\.04"):
        budget.measure(cost)


@pytest.mark.parametrize("budget", EVERY_KIND, ids=str)
def test_what_is_written_is_what_was_decided(budget: Budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget
    assert budget.has_same_terms(Budget.from_json(budget.to_json()))


def test_two_budgets_with_other_choices_are_not_the_same() -> None:
    assert not Budget(2, 1e-7).has_same_terms(Budget(2, 1e-7, slack=1e-8))
    assert not Budget(2, 1e-7).has_same_terms(Budget(2, 1e-7, "pure"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0, "delta": 1e-6},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1e-6, "slack": 1e-5},
        {"epsilon": 1, "delta": 1e-6, "slack": 0},
        {"epsilon": 1, "delta": 1e-6, "kind": "renyi"},
        {"epsilon": 1, "kind": "pure", "slack": 1e-6},
        {"epsilon": 1, "delta": 1e-6, "items": 10},
        {"epsilon": 1, "delta": 1e-6, "kind": "homogeneous", "items": 10},
        {"epsilon": 1, "delta": 1e-6, "kind": "homogeneous", "items": 9, "questions": 2, "item_epsilon": 1},
        {"epsilon": 1, "delta": 1e-6, "kind": "homogeneous", "items": 9, "questions": 2, "question_delta": 1e-6},
    ],
    ids=str,
)
def test_what_cannot_be_promised_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Budget(**wrong)


def test_a_given_epsilon_per_item_may_be_as_large_as_p10_4_allows() -> None:
    """B4, k = 100: 0.0441416; the addition of 100 such items would be far above."""
    shape: dict[str, Any] = {"slack": "1e-6", "kind": "homogeneous", "items": 100, "questions": 10}
    assert terms(Budget(1, "2e-6", **shape, item_epsilon="0.04414")).item_epsilon == Fraction(4414, 10**5)
    with pytest.raises(ParameterError, match="items times item_epsilon"):
        Budget(1, "2e-6", **shape, item_epsilon="0.04415")


def test_the_chosen_epsilon_is_rounded_down_and_hardly_less_than_allowed() -> None:
    for items in (1, 2, 30, 1000):
        kind = terms(Budget(1, "2e-6", "homogeneous", items=items, questions=7))
        chosen = kind.item_epsilon
        spent = min(items * chosen, zcdp_epsilon(items * chosen**2 / 8, kind.slack))
        assert Fraction(9999, 10000) < spent <= 1
        assert Fraction(9999, 10000) * 10**-6 < 7 * kind.question_delta <= Fraction(1, 10**6)


@pytest.mark.parametrize("kind", [{}, {"kind": "homogeneous", "items": 5, "questions": 2}])
def test_a_budget_that_needs_a_delta_says_so(kind: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="needs a delta larger than zero: give one, or use kind='pure'"):
        Budget(1, 0, **kind)
