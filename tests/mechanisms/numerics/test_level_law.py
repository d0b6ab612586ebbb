"""Levels against one exponential threshold: closed forms, and levels that always or never pass."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammainc

from crestline.mechanisms.numerics.level_law import first_passing


@pytest.mark.parametrize("weight", [-30.0, -2.0, 0.0, 3.0, 12.0])
@pytest.mark.parametrize("share", [0.01, 0.25, 0.9, 3.0])
def test_one_level_is_an_incomplete_gamma_function(weight: float, share: float) -> None:
    """`∫ a e^(-a z) exp(-W e^(-z)) dz = a W^-a Γ(a) P(a, W)`."""
    passes, fails = first_passing(np.array([weight]), np.array([1.0]), share)
    wanted = math.gamma(1 + share) * math.exp(-share * weight) * gammainc(share, math.exp(weight))
    assert fails == pytest.approx(wanted, abs=1e-12)
    assert passes + fails == pytest.approx(1, abs=1e-12)


def test_levels_of_one_rate_share_what_one_level_passes() -> None:
    """Two levels fail together exactly where one with the sum of their weights does."""
    both = first_passing(np.log([3.0, 5.0]), np.array([2.0, 2.0]), 0.5)
    one = first_passing(np.log([8.0]), np.array([2.0]), 0.5)
    assert both[-1] == pytest.approx(one[-1], abs=1e-13)
    assert both[0] == pytest.approx(first_passing(np.log([3.0]), np.array([2.0]), 0.5)[0], abs=1e-13)


def test_levels_that_always_or_never_pass() -> None:
    rates = np.array([1.0, 0.75])
    assert first_passing(np.array([1e6, 5.0]), rates, 0.25) == pytest.approx([1, 0, 0], abs=1e-12)
    assert first_passing(np.array([-1e6, 1e6]), rates, 0.25) == pytest.approx([0, 1, 0], abs=1e-12)
    assert first_passing(np.array([-1e6, -1e6]), rates, 0.25) == pytest.approx([0, 0, 1], abs=1e-12)
