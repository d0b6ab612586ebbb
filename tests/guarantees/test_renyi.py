"""Rényi curves of single steps against brute force over all allowed pairs, and the best order against a dense grid."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from crestline.guarantees import renyi
from crestline.guarantees.rounding import precision

ORDERS = [1.01, 1.5, 2.0, 7.0, 60.0]


def at(curve: renyi.Curve, order: float) -> float:
    with precision():
        return float(curve(arb(order)).mid())


def two_point(order: float, above: float, below: float) -> float:
    """`ln E_Q[R^a]`, from the two probabilities that give R the mean one."""
    high = (1 - math.exp(-below)) / (math.exp(above) - math.exp(-below))
    return math.log(high * math.exp(order * above) + (1 - high) * math.exp(-order * below))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("epsilon", ["0.01", "0.3", "2"])
def test_bounded_range_is_the_worst_t(epsilon: str, order: float) -> None:
    """B5: ratios e^t and e^(t-ε), every t from 0 to ε."""
    size = float(epsilon)
    worst = max(two_point(order, t, size - t) for t in np.linspace(0, size, 2001)[1:-1].tolist())
    found = at(renyi.bounded_range(Fraction(epsilon)), order)
    assert worst * (1 - 1e-9) <= found <= worst * (1 + 1e-5) + 1e-12


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("below", "above"), [("0.1", "0.4"), ("0.4", "0.1"), ("0.3", "0.3")])
def test_a_loss_interval_is_the_worse_of_its_orientations(below: str, above: str, order: float) -> None:
    ends = float(below), float(above)
    worst = max(two_point(order, *ends), two_point(order, *ends[::-1]))
    assert at(renyi.loss_interval_curve(Fraction(below), Fraction(above)), order) == pytest.approx(worst, rel=1e-9)


@pytest.mark.parametrize("order", ORDERS)
def test_the_gaussian_curve_is_its_integral(order: float) -> None:
    """N(μ, 1) against N(0, 1): the ratio is e^(μx - μ²/2)."""
    mu = 0.2
    x = np.linspace(-12, 30, 100_001)
    density = np.exp(-(x**2) / 2 + order * (mu * x - mu**2 / 2)) / math.sqrt(2 * math.pi)
    direct = math.log(float(np.trapezoid(density, x)))
    assert at(renyi.gaussian(Fraction("0.04")), order) == pytest.approx(direct, rel=1e-9)


@pytest.mark.parametrize("times", [1, 20, 3000])
@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-30"])
def test_the_order_is_nearly_the_best_and_the_bound_is_that_of_the_note(times: int, delta: str) -> None:
    """P10.2 for sums of curves, on a dense grid of orders: never below it, and above it by little."""
    curves = (
        (renyi.gaussian(Fraction("0.01")), times),
        (renyi.loss_interval_curve(Fraction("0.1"), Fraction("0.2")), 2),
    )
    found = float(renyi.epsilon(curves, Fraction(delta)))

    def bound(order: float) -> float:
        divergence = (times * order * (order - 1) * 0.01 / 2 + 2 * two_point(order, 0.2, 0.1)) / (order - 1)
        return divergence - math.log(order * float(delta)) / (order - 1) + math.log(1 - 1 / order)

    orders = 1 + np.exp(np.linspace(-6, 8, 4001))
    best = max(0.0, min(bound(order) for order in orders.tolist() if 0.2 * order < 600))
    assert best * (1 - 1e-5) - 1e-9 <= found <= best * (1 + 1e-9) + 1e-12


def test_nothing_costs_nothing() -> None:
    assert renyi.epsilon((), Fraction(1, 10)) == 0
    assert renyi.epsilon(((renyi.gaussian(Fraction(1)), 0),), Fraction(1, 10)) == 0


def test_golden_section_finds_a_minimum_in_or_at_the_end_of_its_range() -> None:
    for place in (-3.0, 0.25, 9.0):
        assert renyi._golden_section(lambda x, place=place: (x - place) ** 2, -3.0, 9.0) == pytest.approx(
            place, abs=1e-6
        )


@pytest.mark.parametrize("value", [0.0, math.nan])
def test_where_nothing_decides_orders_get_smaller(value: float) -> None:
    assert renyi._golden_section(lambda x: value, -3.0, 9.0) == pytest.approx(-3.0, abs=1e-6)


def test_a_bound_below_nought_is_nought() -> None:
    assert renyi.epsilon(((renyi.gaussian(Fraction(1, 10**7)), 1),), Fraction(1, 2)) == 0
