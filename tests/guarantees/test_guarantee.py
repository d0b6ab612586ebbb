"""Promises as values: exact numbers, costs of single steps (P10.1), and words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from crestline.errors import ParameterError
from crestline.guarantees.cost import Cost, RepeatedStep, repeat_step
from crestline.guarantees.guarantee import (
    ZCDP,
    Adjacency,
    ApproxDP,
    BoundedRange,
    GaussianDP,
    Guarantee,
    LossInterval,
    PureDP,
)

VALUES = [  # value, ε, δ, ρ, words
    (PureDP("0.2"), "0.2", 0, "0.02", "0.2-DP"),
    (BoundedRange(0.2), "0.2", 0, "0.005", "0.2-bounded range"),
    (LossInterval("0.09", "0.3"), "0.3", 0, "0.0190125", "0.3-DP (loss in [-0.09, 0.3])"),
    (LossInterval("0.1", "0.1"), "0.1", 0, "0.005", "0.1-DP (loss in [-0.1, 0.1])"),
    (GaussianDP("0.02"), None, 0, "0.01", "Gaussian privacy, mu² = 0.02"),
    (ZCDP("0.01"), None, 0, "0.01", "0.01-zCDP"),
    (ZCDP("0.01", "1e-6"), None, "1e-6", "0.01", "0.01-zCDP outside probability 1e-06"),
    (ApproxDP(1, "1e-6"), 1, "1e-6", None, "(1, 1e-06)-DP"),
]


@pytest.mark.parametrize(("value", "epsilon", "delta", "rho", "words"), VALUES, ids=lambda part: str(part)[:30])
def test_what_a_promise_says(value: ApproxDP, epsilon: str | None, delta: str, rho: str | None, words: str) -> None:
    assert isinstance(value, Guarantee)
    assert value.adjacency is Adjacency.ADD_REMOVE
    assert value.epsilon == (None if epsilon is None else Fraction(epsilon))
    assert value.delta == Fraction(delta)
    assert value.rho == (None if rho is None else Fraction(rho))
    assert str(value) == words


def test_promises_are_values() -> None:
    assert PureDP(0.1) == PureDP("1/10")
    assert ZCDP("0.01") == ZCDP("0.01", 0) != ZCDP("0.01", "1e-6")
    assert hash(BoundedRange("0.5")) == hash(BoundedRange(Fraction(1, 2)))
    with pytest.raises(AttributeError):
        PureDP(1).epsilon = Fraction(2)  # type: ignore[misc] # frozen: that is the test
    with pytest.raises(ParameterError):
        ApproxDP(1, "1.5")


def test_costs_add_up() -> None:
    cost = repeat_step(BoundedRange("0.1"), 10, delta=Fraction(1, 10**6)) + repeat_step(PureDP("0.3"))
    assert (cost.epsilon, cost.rho) == (Fraction("1.3"), Fraction("0.0575"))
    assert (cost.number_of_steps, cost.delta) == (11, Fraction(1, 10**6))
    assert cost.steps == (RepeatedStep(BoundedRange("0.1"), 10), RepeatedStep(PureDP("0.3")))


def test_gaussian_noise_leaves_no_pure_cost_unless_it_never_runs() -> None:
    assert repeat_step(GaussianDP("0.1")).epsilon is None
    assert Cost((RepeatedStep(GaussianDP("0.1"), 0), RepeatedStep(PureDP("0.3")))).epsilon == Fraction("0.3")


def test_nothing_costs_nothing() -> None:
    assert repeat_step(PureDP("0.3"), 0) == Cost()
    assert (Cost().epsilon, Cost().rho, Cost().number_of_steps, Cost().delta) == (0, 0, 0, 0)
