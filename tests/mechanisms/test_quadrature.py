"""Integrals against antiderivatives."""

from __future__ import annotations

import numpy as np

from crestline.mechanisms.quadrature import between


def test_an_integral_across_a_kink_is_exact_when_the_kink_is_named() -> None:
    grid = between(-3.0, 5.0, [0.0, 9.0], piece=1.0)
    kinked = np.exp(-np.abs(grid.points))
    assert abs(grid.integral(kinked) - (2 - np.exp(-3) - np.exp(-5))) < 1e-14
    blind = between(-3.0, 5.0, [], piece=0.7)
    assert abs(blind.integral(np.exp(-np.abs(blind.points))) - (2 - np.exp(-3) - np.exp(-5))) > 1e-6


def test_the_integral_from_each_point_upwards() -> None:
    grid = between(0.0, 7.0, [2.5], piece=0.9)
    assert (np.diff(grid.points) > 0).all()
    above = grid.above(np.stack([np.exp(-grid.points), np.cos(grid.points)]))
    assert np.abs(above[0] - (np.exp(-grid.points) - np.exp(-7))).max() < 1e-14
    assert np.abs(above[1] - (np.sin(7) - np.sin(grid.points))).max() < 1e-14
