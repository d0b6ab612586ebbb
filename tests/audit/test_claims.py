"""What a guarantee allows, against closed forms and against each other."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import crestline as cl
from crestline.audit.claims import (
    ApproximateClaim,
    BoundedRangeClaim,
    Claim,
    GaussianClaim,
    TabulatedCeiling,
    ZcdpClaim,
    claim,
    strength_of_event,
)
from crestline.audit.testers.exact import hockey_stick_divergence
from crestline.errors import MechanismError
from crestline.guarantees.guarantee import GaussianDP, LossInterval

COIN = {"heads": 0.7, "tails": 0.3}
BENT = {"heads": 0.4, "tails": 0.6}
THREE = {"a": 0.5, "b": 0.3, "c": 0.2}
OTHER = {"a": 0.2, "b": 0.35, "c": 0.45}


def at(made: Claim, chance: float, parameter: float) -> float:
    return float(made.largest_allowed_chance(np.array([chance]), parameter)[0])


def test_every_guarantee_becomes_its_claim() -> None:
    assert claim(cl.PureDP("0.5")) == ApproximateClaim(0.5)
    assert claim(cl.ApproxDP(1, "1e-6")) == ApproximateClaim(1.0, 1e-6)
    assert claim(cl.BoundedRange(2)) == BoundedRangeClaim(2.0)
    assert claim(cl.ZCDP("0.1", "0.01")) == ZcdpClaim(0.1, 0.01)
    assert claim(GaussianDP(Fraction(1, 4))) == GaussianClaim(0.5)
    assert claim(LossInterval(1, 2)) == BoundedRangeClaim(3.0, cap=2.0)
    assert claim(SimpleNamespace(epsilon=2, delta=None)) == ApproximateClaim(2.0)
    with pytest.raises(MechanismError, match="PureDP"):
        claim("one")


def test_pure_privacy_bounds_an_event_and_its_complement() -> None:
    assert at(ApproximateClaim(1.0), 0.1, 1.0) == pytest.approx(0.1 * math.e)
    assert at(ApproximateClaim(1.0), 0.9, 1.0) == pytest.approx(1 - 0.1 / math.e)
    assert at(ApproximateClaim(1.0, 0.05), 0.0, 1.0) == pytest.approx(0.05)
    assert strength_of_event(ApproximateClaim(1.0), 0.3, 0.1) == pytest.approx(math.log(3))
    assert strength_of_event(ApproximateClaim(1.0, 0.1), 0.3, 0.1) == pytest.approx(math.log(2))
    assert strength_of_event(ApproximateClaim(1.0), 0.1, 0.0) == math.inf
    assert strength_of_event(ApproximateClaim(1.0), 0.1, 0.2) == 0.0


def test_what_two_laws_need_is_where_the_hockey_stick_meets_delta() -> None:
    for delta in (0.0, 0.01, 0.1):
        needed = ApproximateClaim(0.0, delta).needed_parameter(THREE, OTHER)
        assert (
            max(hockey_stick_divergence(THREE, OTHER, needed), hockey_stick_divergence(OTHER, THREE, needed))
            <= delta + 1e-8
        )
        assert (
            max(
                hockey_stick_divergence(THREE, OTHER, needed - 1e-3),
                hockey_stick_divergence(OTHER, THREE, needed - 1e-3),
            )
            > delta
        )


def test_least_is_a_short_cut_not_another_answer() -> None:
    needed = ApproximateClaim(0.0).needed_parameter(COIN, BENT)
    assert ApproximateClaim(0.0).needed_parameter(COIN, BENT, needed - 0.1) == pytest.approx(needed)
    assert ApproximateClaim(0.0).needed_parameter(COIN, BENT, needed + 0.1) == needed + 0.1


def test_a_range_is_the_distance_of_the_log_ratios() -> None:
    wanted = math.log(0.7 / 0.4) - math.log(0.3 / 0.6)
    assert BoundedRangeClaim(1.0).needed_parameter(COIN, BENT) == pytest.approx(wanted, abs=1e-7)
    assert strength_of_event(BoundedRangeClaim(1.0), 0.7, 0.4) == pytest.approx(wanted)
    assert (
        BoundedRangeClaim(1.0).needed_parameter({"a": 1.0}, {"b": 1.0}) > 40
    )  # as much as the rounding of laws lets one say


def test_a_loss_interval_is_a_range_with_a_cap() -> None:
    made = claim(LossInterval(1, 1))
    assert at(made, 0.1, made.claimed_parameter) == pytest.approx(0.1 * math.e)  # the cap binds here: ε = 1
    assert made.needed_parameter({"a": 0.9, "b": 0.1}, {"a": 0.1, "b": 0.9}) == pytest.approx(2 * math.log(9), abs=1e-6)


def test_concentrated_privacy_of_a_law_is_its_renyi_curve() -> None:
    """Two normal-like laws: a Gaussian shifted by one on a fine grid has ρ = 1/2."""
    grid = np.arange(-9.0, 9.0, 0.05)
    first = np.exp(-(grid**2) / 2)
    second = np.exp(-((grid - 1) ** 2) / 2)
    one, other = (dict(enumerate((law / law.sum()).tolist())) for law in (first, second))
    assert ZcdpClaim(0.5).needed_parameter(one, other) == pytest.approx(0.5, abs=0.01)


def test_concentrated_privacy_of_an_event() -> None:
    """For a fair coin against a bent one the largest D_a/a is computed directly."""
    orders = np.linspace(1.001, 60, 200_000)
    p, q = 0.7, 0.4
    curves = [
        np.log(x**orders * y ** (1 - orders) + (1 - x) ** orders * (1 - y) ** (1 - orders)) / (orders - 1) / orders
        for x, y in ((p, q), (q, p))
    ]
    wanted = float(np.max(curves))
    assert strength_of_event(ZcdpClaim(0.1), p, q) == pytest.approx(wanted, rel=1e-3)
    assert ZcdpClaim(0.1).needed_parameter(COIN, BENT) == pytest.approx(wanted, rel=1e-3)
    assert at(ZcdpClaim(wanted), q, wanted) == pytest.approx(p, rel=1e-3)


def test_outside_an_event_of_probability_delta_more_is_allowed() -> None:
    assert at(ZcdpClaim(0.1, 0.05), 0.0, 0.1) >= 0.05
    assert at(ZcdpClaim(0.1, 0.05), 0.3, 0.1) > at(ZcdpClaim(0.1), 0.3, 0.1)
    assert ZcdpClaim(0.1, 0.05).needed_parameter(COIN, BENT) < ZcdpClaim(0.1).needed_parameter(COIN, BENT)


def test_gaussian_privacy_is_a_shift_of_normal_quantiles() -> None:
    assert at(GaussianClaim(1.0), 0.5, 1.0) == pytest.approx(0.841344746)
    assert strength_of_event(GaussianClaim(1.0), 0.841344746, 0.5) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "made",
    [
        ApproximateClaim(1.0),
        ApproximateClaim(0.5, 0.01),
        BoundedRangeClaim(1.0),
        ZcdpClaim(0.2),
        ZcdpClaim(0.2, 0.01),
        GaussianClaim(1.0),
    ],
)
def test_ceilings_are_concave_and_grow(made: Claim) -> None:
    """Both are used: events of largest ratio suffice because of the first, confidence bounds because of the second."""
    chances = np.linspace(0.001, 0.999, 200)
    ceiling = made.largest_allowed_chance(chances, made.claimed_parameter)
    assert np.all(ceiling >= chances)
    assert np.all(np.diff(ceiling) >= -1e-9)
    assert np.all(np.diff(ceiling, 2) <= 1e-7)
    assert np.all(made.largest_allowed_chance(chances, made.claimed_parameter * 1.5) >= ceiling - 1e-12)


def test_the_table_is_the_ceiling() -> None:
    chances = np.array([1e-5, 0.01, 0.2, 0.7, 0.99])
    for made in (ApproximateClaim(1.0, 0.01), ZcdpClaim(0.2)):
        table = TabulatedCeiling(made)
        assert table.largest_allowed_chance(chances) == pytest.approx(
            made.largest_allowed_chance(chances, made.claimed_parameter), rel=2e-3, abs=1e-6
        )
    assert TabulatedCeiling(ApproximateClaim(1.0)).slope(np.array([0.1]))[0] == pytest.approx(math.e, rel=1e-3)
