"""RestrictedNormal against its vector, its law, its neighbours, and its price."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from tests.mechanisms.conformance import VECTORS, assert_law, follows_its_law, notices, stays_within

from crestline.errors import ParameterError
from crestline.guarantees.guarantee import ZCDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.numerics.sensitivity import order_sensitivity_squared
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

LAPLACE = LaplaceTest(1, "0.05")
GIVEN = VECTORS["TV-5.5"]["params"]
HISTOGRAM = Histogram.from_counts(GIVEN["h"], 3)


def test_the_law_is_the_vector() -> None:
    assert_law(RestrictedNormal(2, 3, 2, LAPLACE).law(HISTOGRAM), VECTORS["TV-5.5"]["probabilities"])


@pytest.mark.statistics
def test_the_sampler_follows_the_law_and_the_test_has_power() -> None:
    mechanism = RestrictedNormal(2, 3, 2, LAPLACE)
    follows_its_law(mechanism, HISTOGRAM)
    notices(mechanism, RestrictedNormal(2, 3, "2.2", LAPLACE), HISTOGRAM)
    notices(mechanism, RestrictedNormal(2, 3, "1.8", LAPLACE), HISTOGRAM)


def test_one_bit_at_first_gives_the_same_selections() -> None:
    mechanism = RestrictedNormal(2, 3, 2, LAPLACE)
    reference = mechanism.release_many(HISTOGRAM, 60, replay("bits"))
    for bits in (1, 7):
        assert mechanism.release_many(HISTOGRAM, 60, replay("bits", first_bits=bits)) == reference


@pytest.mark.long
@pytest.mark.parametrize("contribution", [None, 1, 2])
def test_neighbours_stay_within_the_promise(contribution: int | None) -> None:
    test = ExponentialTest("0.4", "0.3", "0.1")
    mechanism = RestrictedNormal(2, 3, "1.5", test, contribution, slack="0.02")
    stays_within(mechanism, lambda counts: Histogram.from_counts(counts, 3), contribution=contribution)


def test_the_price_is_that_of_the_order_alone() -> None:
    """P2.7: only differences are compared, so a common shift is free; the largest c (1 - c/n) over what may move."""
    assert RestrictedNormal(2, 100, 2, LAPLACE).cost().steps[0].step.rho == Fraction(100, 4) / 8  # n/(8σ²)
    assert order_sensitivity_squared(100, 8) == 8 * Fraction(92, 100)
    assert order_sensitivity_squared(3, 2) == Fraction(2, 3)
    assert order_sensitivity_squared(1, None) == 0
    assert RestrictedNormal(2, 100, 2, LAPLACE, 8).cost().rho < Fraction(8, 8) + LAPLACE.cost().rho  # P10.1: Δ/(2σ²)


@pytest.mark.parametrize(("slots", "contribution"), list(product([1, 2, 3, 5, 8], [1, 2, 3, 7, None])))
def test_the_sensitivity_is_the_largest_of_all_moves(slots: int, contribution: int | None) -> None:
    most = slots if contribution is None else min(slots, contribution)
    moves = (Fraction(c) - Fraction(c * c, slots) for c in range(most + 1))  # Σe² - (Σe)²/n
    assert order_sensitivity_squared(slots, contribution) == max(moves)


def test_without_slack_the_promise_is_concentrated() -> None:
    assert isinstance(RestrictedNormal(1, 2, 1, LAPLACE).guarantee(), ZCDP)


def test_an_empty_histogram_is_a_stop() -> None:
    mechanism = RestrictedNormal(2, 3, 1, LAPLACE)
    assert mechanism.release(Histogram.from_counts({}, 3), replay(0)) == Selection((), True)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RestrictedNormal(1, 2, 0, LAPLACE), "sigma must be larger than zero"),
        (lambda: RestrictedNormal(3, 2, 1, LAPLACE), "k_bar must be at least k"),
        (lambda: RestrictedNormal(1, 2, 1, LAPLACE, 0), "contribution must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
