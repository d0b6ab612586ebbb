"""The split of a budget: close to the best on a grid, guided by an estimate that is close to the accountant."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.cost import steps
from crestline.guarantees.guarantee import BoundedRange, GaussianDP
from crestline.mechanisms.expected_items import Head, expected_items, power_law
from crestline.mechanisms.splits import EXPONENT, FAILURES, TESTS, THRESHOLDS, Split, best_split, gaussian_room
from crestline.randomness.laws.gumbel import GUMBEL

EPSILON, DELTA = Fraction(2, 5), Fraction(1, 4586)


def scale(split: Split, k: int = 50) -> float:
    room = gaussian_room(float(EPSILON), float(split.slack(DELTA)), split.exponential_test(EPSILON, DELTA))
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
    mu = gaussian_room(float(EPSILON), float(slack), test)
    charged = total_epsilon(steps(BoundedRange(Fraction(2 * mu / math.sqrt(50))), 50) + test.cost(), slack)
    assert float(charged) == pytest.approx(float(EPSILON), rel=0.02)
    gaussian = total_epsilon(steps(GaussianDP(Fraction(mu) ** 2)) + test.cost(), slack)
    assert float(gaussian) == pytest.approx(float(EPSILON), rel=0.01)


def test_no_room_is_no_room() -> None:
    """A test that costs all of ε leaves nothing at a small slack."""
    greedy = Split(Fraction(999, 1000), Fraction(1, 2), Fraction(1, 2)).exponential_test(EPSILON, DELTA)
    modest = Split(Fraction(1, 10), Fraction(1, 2), Fraction(1, 2)).exponential_test(EPSILON, DELTA)
    assert gaussian_room(0.4, 1e-9, greedy) < 0.01 * gaussian_room(0.4, 1e-9, modest)


def reference(k: int, k_bar: int, start: Split) -> Head:
    """The head that `best_split` says it looks at: half of k named at the split it starts from."""
    shape, users = power_law(k_bar, EXPONENT), 1.0
    test = start.exponential_test(EPSILON, DELTA)
    while expected_items(shape.times(users), k, GUMBEL, scale(start, k), test) < k / 2:
        users *= 1.01
    return shape.times(users)


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
