"""Tails of sums of noises, in balls: a ball holds the true chance wherever it is computed and however roughly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from flint import arb

from crestline.guarantees.rounding import precision
from crestline.mechanisms.numerics.tails import gaussian_union


@pytest.mark.parametrize("bits", [30, 53, 200])
@pytest.mark.parametrize("t", [0, 1, 5, 15, 30, 60])
def test_a_ball_holds_the_chance_even_where_the_integral_ends_too_early(t: int, bits: int) -> None:
    """One Gaussian above t plus another: P(N(0, 2) > t) = erfc(t/2)/2. For a large t all of it lies beyond the ends."""
    with precision(bits):
        found = gaussian_union(1, Fraction(t))
    with precision(400):
        exact = (arb(t) / 2).erfc() / 2
        assert found.lower() <= exact <= found.upper()


def test_a_ball_is_sharp_where_the_chance_is_not_tiny() -> None:
    with precision(200):
        found = gaussian_union(1, Fraction(5))
        assert found.rad() < arb(10) ** -15
