"""The split of a budget: close to the best on a grid, guided by an estimate that is close to the accountant."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.guarantee import BoundedRange, GaussianDP
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.split import split as splits
from crestline.mechanisms.framework.split.expected_items import RankedCounts, expected_items, power_law_counts
from crestline.mechanisms.framework.split.split import (
    EXPONENT,
    FAILURES,
    TESTS,
    THRESHOLDS,
    Split,
    _grid_neighbours,
    _scale_until,
    best_split,
    largest_mu,
)
from crestline.randomness.laws.gumbel import GUMBEL

EPSILON, DELTA = Fraction(2, 5), Fraction(1, 4586)


def scale(split: Split, k: int = 50) -> float:
    room = largest_mu(float(EPSILON), float(split.slack(DELTA)), split.exponential_test(EPSILON, DELTA))
    return math.sqrt(k) / (2 * room)


def test_shares_add_up() -> None:
    split = Split(Fraction(3, 10), Fraction(4, 5), Fraction(1, 4))
    test = split.exponential_test(Fraction(1), Fraction(1, 1000))
    assert (test.epsilon1, test.epsilon2) == (Fraction(24, 100), Fraction(6, 100))
    assert test.delta + split.slack(Fraction(1, 1000)) == Fraction(1, 1000)


@pytest.mark.parametrize(
    "split", [Split(Fraction(7, 20), Fraction(3, 4), Fraction(1, 4)), Split(*[Fraction(1, 2)] * 3)]
)
def test_the_room_is_about_what_the_accountant_leaves(split: Split) -> None:
    """Fifty bounded-range steps of 2μ/√k beside the test: the certified optimum is within two percent of the total."""
    test, slack = split.exponential_test(EPSILON, DELTA), split.slack(DELTA)
    mu = largest_mu(float(EPSILON), float(slack), test)
    charged = total_epsilon(repeat_step(BoundedRange(Fraction(2 * mu / math.sqrt(50))), 50) + test.cost(), slack)
    assert float(charged) == pytest.approx(float(EPSILON), rel=0.02)
    gaussian = total_epsilon(repeat_step(GaussianDP(Fraction(mu) ** 2)) + test.cost(), slack)
    assert float(gaussian) == pytest.approx(float(EPSILON), rel=0.01)


def test_no_room_is_no_room() -> None:
    """A test that costs all of ε leaves nothing at a small slack."""
    greedy = Split(Fraction(999, 1000), Fraction(1, 2), Fraction(1, 2)).exponential_test(EPSILON, DELTA)
    modest = Split(Fraction(1, 10), Fraction(1, 2), Fraction(1, 2)).exponential_test(EPSILON, DELTA)
    assert 0 <= largest_mu(0.4, 1e-9, greedy) < 0.01 * largest_mu(0.4, 1e-9, modest)
    whole = ExponentialTest("0.5", "0.3", "1e-6")  # more than there is
    assert 0 <= largest_mu(0.4, 1e-9, whole) < 1e-6


def reference(k: int, k_bar: int, start: Split) -> RankedCounts:
    """The head that `best_split` says it looks at: half of k named at the split it starts from."""
    shape, users = power_law_counts(k_bar, EXPONENT), 1.0
    test = start.exponential_test(EPSILON, DELTA)
    while expected_items(shape.scaled_by(users), k, GUMBEL, scale(start, k), test) < k / 2:
        users *= 1.01
    return shape.scaled_by(users)


@pytest.mark.long
def test_climbing_finds_the_best_of_the_grid() -> None:
    """Every other point of the whole grid, against where the climb ends."""
    found = best_split(50, 500, EPSILON, DELTA, GUMBEL, scale)
    head = reference(50, 500, Split(Fraction(7, 20), Fraction(3, 4), Fraction(1, 4)))

    def named(split: Split) -> float:
        return expected_items(head, 50, GUMBEL, scale(split), split.exponential_test(EPSILON, DELTA))

    best = max(
        named(Split(share, first, failure))
        for share in TESTS[::2]
        for first in THRESHOLDS[1::2]
        for failure in FAILURES[::2]
    )
    assert named(found) >= 0.999 * best
    assert named(Split(Fraction(1, 10), Fraction(1, 2), Fraction(1, 2))) < 0.9 * best  # the split matters


def test_nothing_left_for_the_choice_is_not_chosen() -> None:
    """Where the noise would be infinite nothing is named, and the climb goes elsewhere."""

    def only_small_tests(split: Split) -> float:
        return 20.0 if split.test < Fraction(1, 2) else math.inf

    assert best_split(5, 50, EPSILON, DELTA, GUMBEL, only_small_tests).test < Fraction(1, 2)


def test_every_share_leaves_something_for_every_part() -> None:
    """A share of nought or one would leave a part without ε or δ; the climb goes from one share to the next."""
    for shares in (TESTS, THRESHOLDS, FAILURES):
        assert all(0 < share < 1 for share in shares)
        assert all(low < high for low, high in pairwise(shares))
    corner = Split(TESTS[-1], THRESHOLDS[-1], FAILURES[-1]).exponential_test(EPSILON, DELTA)
    assert min(corner.epsilon1, corner.epsilon2, corner.delta) > 0


def two_point_delta(mu: float, epsilon: float, above: float, below: float) -> float:
    """δ(ε) of a Gaussian loss and a loss of `above` or `-below`, by the density of the sum on the first data set."""
    high = math.expm1(-below) / math.expm1(-(above + below))
    losses = np.linspace(-40 * mu, 40 * mu, 200_001)
    density = norm.pdf(losses, mu**2 / 2, mu)
    shares = [(high, above), (1 - high, -below)]
    return sum(
        share * float(np.trapezoid(density * np.maximum(0.0, -np.expm1(epsilon - losses - moved)), losses))
        for share, moved in shares
    )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize(("above", "below"), [(0.05, 0.02), (0.08, 0.07)])
def test_the_room_is_the_root_of_the_curve(epsilon: float, above: float, below: float) -> None:
    """At the μ that is returned the worse of both orientations has δ(ε) equal to the slack, by another integral."""
    test = ExponentialTest(str(above - below), str(below), "1e-6")
    mu = largest_mu(epsilon, 1e-5, test)
    worst = max(two_point_delta(mu, epsilon, above, below), two_point_delta(mu, epsilon, below, above))
    assert worst == pytest.approx(1e-5, rel=1e-4)


def test_the_climb_looks_one_step_around() -> None:
    assert list(_grid_neighbours((0, 1, 2), (2, 2, 3))) == [(0, 1, 2), (1, 1, 2), (0, 0, 2), (0, 1, 1)]
    assert len(list(_grid_neighbours((1, 1, 1), (3, 3, 3)))) == 7


@pytest.mark.parametrize("users", [1.5, 40.0, 3e6])
def test_the_reference_has_just_enough_users(users: float) -> None:
    """Within one part in a hundred of the fewest users that do, from above."""
    shape = power_law_counts(5, 0.6)
    found = _scale_until(shape, lambda head: head.counts[0] >= users).counts[0]
    assert users <= found <= 1.01 * users


@pytest.mark.parametrize("users", [1.2, 1.5, 1.9, 2.3, 2.7, 30.0, 900.0, 2e4, 3e6, 1e8, 7e9])
def test_the_reference_is_close_to_what_is_enough(users: float) -> None:
    """Twelve halvings of a bracket that is no wider than one, or than half of the way, in logarithms."""
    found = _scale_until(power_law_counts(5, 0.6), lambda head: head.counts[0] >= users).counts[0]
    assert 0 <= math.log(found / users) <= max(1.0, math.log(users) / 2) / 2**12


def test_half_of_the_items_are_named_on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    heads: list[RankedCounts] = []

    def noted(shape: RankedCounts, enough: Callable[[RankedCounts], bool]) -> RankedCounts:
        heads.append(_scale_until(shape, enough))
        return heads[-1]

    monkeypatch.setattr(splits, "_scale_until", noted)
    best_split(50, 500, EPSILON, DELTA, GUMBEL, scale)
    start = Split(Fraction(7, 20), Fraction(3, 4), Fraction(1, 4))
    (head,) = heads
    found = expected_items(head, 50, GUMBEL, scale(start), start.exponential_test(EPSILON, DELTA))
    assert found == pytest.approx(25, rel=0.01)


def test_a_share_that_leaves_nothing_is_worse_than_any_other() -> None:
    """Also where less than one item is named otherwise."""

    def up_to_the_start(split: Split) -> float:
        return 20.0 if split.test <= Fraction(7, 20) else math.inf

    assert best_split(1, 10, EPSILON, DELTA, GUMBEL, up_to_the_start).test <= Fraction(7, 20)
