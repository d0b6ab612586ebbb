"""A fitted batch fits, and a little more would not."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.price.made import posed

from crestline.errors import BudgetExhausted, BudgetMismatch, ParameterError
from crestline.ledger.balance_rules import Balance
from crestline.ledger.budget import Budget
from crestline.price.batch import BatchQuestion, price_batch
from crestline.price.fit_budget import epsilon_of_answer, fit_batch
from crestline.price.price import Payers, PayingAccount


def payers(*budgets: Budget) -> Payers:
    return [PayingAccount(f"account {number}", Balance.open_account(budget)) for number, budget in enumerate(budgets)]


@pytest.mark.long
@pytest.mark.parametrize(
    "budget",
    [
        Budget(2, "1e-6"),
        Budget(2, "1e-6", kind="pure"),
        Budget(2, "1e-6", kind="homogeneous", items=6, questions=2),
    ],
    ids=["zcdp", "pure", "homogeneous"],
)
def test_a_fitted_batch_fits_and_a_little_more_does_not(budget: Budget) -> None:
    def paid_by(_: BatchQuestion) -> Payers:
        return payers(budget)

    made = fit_batch([posed(2), posed(4)], paid_by)
    assert made.fits
    assert made.item_epsilon is not None
    assert made.lines[0].question.question.epsilon == epsilon_of_answer(
        2, made.item_epsilon, made.lines[0].question.question.delta or Fraction(1)
    )
    more = [
        posed(asked.k, epsilon_of_answer(asked.k, made.item_epsilon * Fraction(101, 100), asked.delta), asked.delta)
        for asked in (line.question.question for line in made.lines)
        if asked.delta is not None
    ]
    try:
        assert not price_batch(more, paid_by).fits
    except BudgetMismatch:
        assert budget.kind == "homogeneous"


def test_given_deltas_are_kept_and_given_epsilons_are_not() -> None:
    made = fit_batch([posed(1, Fraction(50), Fraction(1, 10**9)), posed(1)], lambda analyst: payers(Budget(1, "1e-6")))
    first, second = (line.question.question for line in made.lines)
    assert first.delta == Fraction(1, 10**9)
    assert second.delta == Fraction(25, 10**8)
    assert first.epsilon is not None
    assert first.epsilon < 1


@pytest.mark.long
def test_the_poorest_account_decides() -> None:
    rich, poor = Budget(2, "1e-6"), Budget("0.1", "1e-6")
    both = fit_batch([posed(2)], lambda analyst: payers(rich, poor))
    alone = fit_batch([posed(2)], lambda analyst: payers(poor))
    assert both.item_epsilon == alone.item_epsilon


def test_what_never_fits_is_refused() -> None:
    with pytest.raises(BudgetExhausted, match="smaller deltas"):
        fit_batch([posed(1, delta=Fraction(1, 100))], lambda analyst: payers(Budget(1, "1e-6")))
    budget = Budget(2, "1e-6", kind="homogeneous", items=3, questions=2)
    with pytest.raises(BudgetExhausted, match="fewer"):
        fit_batch([posed(4)], lambda analyst: payers(budget))
    with pytest.raises(BudgetExhausted, match="larger delta"):
        fit_batch([posed(1)], lambda analyst: payers(Budget(1, 0, kind="pure")))
    with pytest.raises(ParameterError, match="at least one"):
        fit_batch([], lambda analyst: payers(Budget(1, "1e-6")))


def test_the_total_of_k_items() -> None:
    assert epsilon_of_answer(2, Fraction(1, 10), Fraction(1, 10**6)) == Fraction("0.2")  # plain addition is smaller
    assert epsilon_of_answer(100, Fraction(1, 10), Fraction(2, 10**6)) == Fraction("2.419")  # P10.3's table, B4
