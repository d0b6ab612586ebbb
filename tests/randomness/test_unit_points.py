"""Points near either end keep their digits in every coordinate."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from crestline.randomness.unit_points import GumbelPoints, Points

TINY = [1.3 * 2.0**-53, 2.0**-60, 1e-30, 1e-300]


@pytest.mark.parametrize("tiny", TINY)
def test_the_smaller_of_u_and_its_complement_decides(tiny: float) -> None:
    """`1 - tiny` has lost the digits of `tiny`: they come from the other coordinate."""
    near_one = Points(np.array([1.0 - 2.0**-53]), np.array([tiny]))
    assert near_one.log_u[0] == pytest.approx(math.log1p(-tiny), rel=1e-12, abs=0)
    assert near_one.gumbel[0] == pytest.approx(-math.log(-math.log1p(-tiny)), rel=1e-12, abs=0)
    near_nought = Points(np.array([tiny]), np.array([1.0 - 2.0**-53]))
    assert near_nought.log_v[0] == pytest.approx(math.log1p(-tiny), rel=1e-12, abs=0)
    assert near_nought.log_u[0] == pytest.approx(math.log(tiny), rel=1e-12, abs=0)


@pytest.mark.parametrize("gumbel", [-6.0, -1.0, 0.0, 0.3665, 5.0, 39.9, 79.0, 708.0, 744.0, 1e4])
def test_a_gumbel_value_gives_both_logarithms(gumbel: float) -> None:
    """`U = exp(-exp(-g))`, for any g, against 2000 digits."""
    point = GumbelPoints(np.array([gumbel]))
    with mpmath.workdps(5000):
        arrival = mpmath.exp(-mpmath.mpf(gumbel))
        log_v = mpmath.log(-mpmath.expm1(-arrival))
        assert point.log_u[0] == pytest.approx(float(-arrival), rel=1e-12, abs=0)
        assert point.log_v[0] == pytest.approx(float(log_v), rel=1e-12, abs=0)


def test_open_ends_have_the_logarithms_of_nought_and_one() -> None:
    ends = GumbelPoints(np.array([-np.inf, np.inf]))
    assert ends.log_u.tolist() == [-np.inf, 0.0]
    assert ends.log_v.tolist() == [0.0, -np.inf]
