"""P2.6: the analytic Gaussian mechanism against printed scalars, its own inverse and Google's accountant."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as google
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from crestline.errors import ParameterError
from crestline.guarantees import gaussian
from crestline.guarantees.rounding import precision

PRINTED = [  # TV-S: ε, δ, s², σ
    (1, "1e-6", 1, 4.22467888933),
    ("0.5", "1e-5", 8, 19.8890093057),
    ("0.1", "1e-6", 1, 36.3046904262),
    (3, "1e-6", 1, 1.54386141778),
]

sizes = st.integers(1, 2000).map(lambda parts: Fraction(parts, 400))
deltas = st.integers(2, 12).map(lambda power: Fraction(1, 10**power))


@pytest.mark.parametrize(("epsilon", "delta", "squared", "sigma"), PRINTED)
def test_the_printed_scalars(epsilon: str, delta: str, squared: int, sigma: float) -> None:
    assert float(gaussian.sigma_for(epsilon, delta, squared)) == pytest.approx(sigma, rel=5e-12)


def test_the_sensitivity_is_one_unless_given() -> None:
    assert gaussian.sigma_for(1, "1e-6") == gaussian.sigma_for(1, "1e-6", 1)


@pytest.mark.long
@given(sizes, deltas, sizes)
@settings(max_examples=40)
def test_the_noise_is_enough_and_a_little_less_is_not(epsilon: Fraction, delta: Fraction, squared: Fraction) -> None:
    sigma = gaussian.sigma_for(epsilon, delta, squared)
    assert gaussian.delta_of(epsilon, squared / sigma**2) <= delta
    assert gaussian.delta_of(epsilon, squared / (sigma * Fraction(999_999, 1_000_000)) ** 2) > delta


@pytest.mark.long
@given(sizes, deltas)
@settings(max_examples=40)
def test_there_and_back_never_gains(mu_squared: Fraction, delta: Fraction) -> None:
    epsilon = gaussian.epsilon_of(delta, mu_squared)
    assert gaussian.delta_of(epsilon, mu_squared) <= delta
    if epsilon:
        assert gaussian.largest_mu_squared(epsilon, delta) >= mu_squared * Fraction(999_999, 1_000_000)


@pytest.mark.long
@given(sizes, sizes, deltas, deltas)
@settings(max_examples=40)
def test_more_signal_or_less_delta_never_lowers_epsilon(a: Fraction, b: Fraction, d: Fraction, e: Fraction) -> None:
    assert gaussian.epsilon_of(max(d, e), min(a, b)) <= gaussian.epsilon_of(min(d, e), max(a, b))


@pytest.mark.long
@pytest.mark.parametrize("sigma", [0.8, 2.0, 10.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_google_agrees_within_its_discretisation(sigma: float, delta: float) -> None:
    theirs = google.from_gaussian_mechanism(sigma, value_discretization_interval=1e-4).get_epsilon_for_delta(delta)
    ours = float(gaussian.epsilon_of(delta, 1 / Fraction(str(sigma)) ** 2))
    assert ours == pytest.approx(theirs, abs=2e-4)


def test_no_signal_no_cost() -> None:
    assert gaussian.epsilon_of("1e-6", 0) == 0
    assert gaussian.delta_of(0, 0) == 0


@pytest.mark.parametrize("epsilon", [-2.0, -0.5, 0.0, 1.5])
def test_without_a_signal_only_a_negative_epsilon_is_exceeded(epsilon: float) -> None:
    """Two equal laws: one exceeds `e^ε` times the other by `1 - e^ε`, and a signal that vanishes ends there."""
    with precision():
        found = float(gaussian.delta_ball(arb(epsilon), arb(0)))
        nearly = float(gaussian.delta_ball(arb(epsilon), arb(1e-6)))
    assert found == pytest.approx(max(0.0, 1 - math.exp(epsilon)), rel=1e-12)
    assert nearly == pytest.approx(found, abs=1e-6)


def test_a_promise_of_zero_needs_infinite_noise() -> None:
    with pytest.raises(ParameterError):
        gaussian.sigma_for(0, "1e-6")


@pytest.mark.parametrize("delta", ["1e-3", "1e-9"])
def test_a_promise_that_is_met_exactly_fits(delta: str) -> None:
    squared = gaussian.largest_mu_squared(1, delta)
    assert gaussian.epsilon_of(gaussian.delta_of(1, squared), squared) == 1
    epsilon = gaussian.epsilon_of(delta, 1)
    assert gaussian.largest_mu_squared(epsilon, gaussian.delta_of(epsilon, 1)) == 1


def test_a_probability_is_at_most_one_and_not_below_nought() -> None:
    assert gaussian.delta_of(0, 10**8) == 1
    assert 0 < gaussian.delta_of(10**6, "1e-3") < Fraction(1, 10**1000)
