"""P10.5: a filter says yes exactly as long as the sums stay within the budget."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import BudgetMismatch, ParameterError
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import steps
from crestline.guarantees.filter import Amount, Filter, PureFilter, ZeroConcentratedFilter, fits, remaining
from crestline.guarantees.guarantee import BoundedRange, GaussianDP

sizes = st.fractions(min_value=Fraction(1, 100), max_value=Fraction(1))


@given(st.lists(st.tuples(sizes, st.integers(0, 5)), max_size=12), st.sampled_from(["pure", "zcdp"]))
def test_the_sums_never_pass_the_budget(wishes: list[tuple[Fraction, int]], kind: str) -> None:
    budget: Filter = PureFilter(2, "1e-6") if kind == "pure" else ZeroConcentratedFilter("0.1", "1e-6", "1e-6")
    spent = Amount()
    for size, times in wishes:
        cost = steps(BoundedRange(size), times, delta=Fraction(1, 4 * 10**6))
        if fits(budget, spent, cost):
            spent += budget.charge(cost)
        else:
            assert not (spent + budget.charge(cost)).within(budget.budget)
        assert spent.within(budget.budget)
        left = remaining(budget, spent)
        assert left.main >= 0
        assert left.delta >= 0
        assert spent + left == budget.budget


def test_the_last_digit_can_be_spent() -> None:
    budget = PureFilter("0.3")
    assert fits(budget, Amount(Fraction("0.2")), steps(BoundedRange("0.1")))
    assert not fits(budget, Amount(Fraction("0.2")), steps(BoundedRange("0.1000000001")))


@given(st.fractions(min_value=Fraction(1, 50), max_value=Fraction(8)), st.integers(2, 12))
def test_a_budget_keeps_its_promise(epsilon: Fraction, power: int) -> None:
    budget = ZeroConcentratedFilter.for_budget(epsilon, Fraction(1, 10**power))
    promise = budget.guarantee()
    assert promise.epsilon <= epsilon
    assert promise.epsilon == zcdp_epsilon(budget.rho, budget.slack)
    assert promise.delta == Fraction(1, 10**power)


def test_the_pure_filter_keeps_its_promise() -> None:
    promise = PureFilter("0.3", "1e-9").guarantee()
    assert (promise.epsilon, promise.delta) == (Fraction("0.3"), Fraction(1, 10**9))


def test_gaussian_noise_cannot_be_charged_to_a_pure_budget() -> None:
    with pytest.raises(BudgetMismatch, match="zCDP"):
        PureFilter(1).charge(steps(GaussianDP("0.1")))


def test_a_slack_beyond_delta_is_refused() -> None:
    with pytest.raises(ParameterError, match="slack"):
        ZeroConcentratedFilter.for_budget(1, "1e-6", slack="1e-5")


def test_currencies_have_names() -> None:
    assert (PureFilter(1).currency, ZeroConcentratedFilter(1, 0, "1e-6").currency) == ("epsilon", "rho")
