"""P10.2: the conversion from zCDP, held against the printed scalars, a fine grid and Google's accountant."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from dp_accounting.rdp import rdp_privacy_accountant as google
from hypothesis import given
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.guarantees.conversion import largest_rho, zcdp_epsilon

PRINTED = {  # TV-S, d = 1e-6
    "0.0001": 0.0537271206349,
    "0.001": 0.18289537719,
    "0.01": 0.62169265456,
    "0.1": 2.14193892839,
    "1": 7.76621662531,
}

rhos = st.fractions(min_value=Fraction(1, 10**7), max_value=Fraction(10))
deltas = st.integers(min_value=1, max_value=14).map(lambda power: Fraction(1, 10**power))


def bound(rho: float, delta: float, order: float) -> float:
    return order * rho + math.log(1 / (order * delta)) / (order - 1) + math.log(1 - 1 / order)


@pytest.mark.parametrize(("rho", "epsilon"), PRINTED.items())
def test_the_printed_scalars(rho: str, epsilon: float) -> None:
    assert float(zcdp_epsilon(rho, "1e-6")) == pytest.approx(epsilon, rel=5e-12)


@pytest.mark.long
@given(rhos, deltas)
def test_no_order_does_better_and_the_best_is_met(rho: Fraction, delta: Fraction) -> None:
    found = float(zcdp_epsilon(rho, delta))
    orders = [1 + math.exp(step / 8) for step in range(-80, 250)]
    best = max(0.0, min(bound(float(rho), float(delta), order) for order in orders))
    between_orders = 0.01 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    assert best - between_orders - 1e-9 <= found <= best + 1e-9


@pytest.mark.long
@given(rhos, rhos, deltas, deltas)
def test_more_rho_or_less_delta_never_lowers_epsilon(a: Fraction, b: Fraction, d: Fraction, e: Fraction) -> None:
    assert zcdp_epsilon(min(a, b), max(d, e)) <= zcdp_epsilon(max(a, b), min(d, e))


@pytest.mark.long
@given(rhos, deltas)
def test_there_and_back_never_gains(rho: Fraction, delta: Fraction) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    back = largest_rho(epsilon, delta)
    assert zcdp_epsilon(back, delta) <= epsilon
    if epsilon > 0:
        assert back >= rho * Fraction(999_999, 1_000_000)


@pytest.mark.long
@given(st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(20)), deltas)
def test_the_largest_rho_fits_and_the_next_does_not(epsilon: Fraction, delta: Fraction) -> None:
    rho = largest_rho(epsilon, delta)
    assert zcdp_epsilon(rho, delta) <= epsilon < zcdp_epsilon(rho * Fraction(1_000_001, 1_000_000), delta)


@pytest.mark.parametrize("rho", [0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
def test_google_agrees_within_its_grid_of_orders(rho: float, delta: float) -> None:
    orders = [1 + math.exp(step / 200) for step in range(-1000, 2200)]
    theirs, _ = google.compute_epsilon(orders, [order * rho for order in orders], delta)
    ours = float(zcdp_epsilon(rho, delta))
    assert ours <= theirs * (1 + 1e-9)
    assert ours == pytest.approx(theirs, rel=1e-5)


def test_nothing_spent_costs_nothing() -> None:
    assert zcdp_epsilon(0, "1e-6") == 0


def test_no_slack_no_conversion() -> None:
    with pytest.raises(ParameterError):
        zcdp_epsilon("0.1", 0)


def test_a_budget_that_is_met_exactly_fits() -> None:
    assert largest_rho(zcdp_epsilon(1, "1e-6"), "1e-6") == 1


def test_an_epsilon_is_never_below_nought() -> None:
    assert zcdp_epsilon("1e-7", "0.5") == 0


def test_nothing_spent_costs_nothing_however_small_the_delta() -> None:
    assert zcdp_epsilon(0, "1e-400") == 0
