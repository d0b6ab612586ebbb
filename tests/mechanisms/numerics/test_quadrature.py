"""Integrals against antiderivatives."""

from __future__ import annotations

import numpy as np
import pytest

from crestline.mechanisms.numerics.quadrature import quadrature_between


def test_an_integral_across_a_kink_is_exact_when_the_kink_is_named() -> None:
    grid = quadrature_between(-3.0, 5.0, [0.0, 9.0], piece=1.0)
    kinked = np.exp(-np.abs(grid.points))
    assert abs(grid.integral(kinked) - (2 - np.exp(-3) - np.exp(-5))) < 1e-14
    blind = quadrature_between(-3.0, 5.0, [], piece=0.7)
    assert abs(blind.integral(np.exp(-np.abs(blind.points))) - (2 - np.exp(-3) - np.exp(-5))) > 1e-6


def test_the_integral_from_each_point_upwards() -> None:
    grid = quadrature_between(0.0, 7.0, [2.5], piece=0.9)
    assert (np.diff(grid.points) > 0).all()
    above = grid.integral_above(np.stack([np.exp(-grid.points), np.cos(grid.points)]))
    assert np.abs(above[0] - (np.exp(-grid.points) - np.exp(-7))).max() < 1e-14
    assert np.abs(above[1] - (np.sin(7) - np.sin(grid.points))).max() < 1e-14
    assert (grid.integral_above(np.exp(-grid.points)) == above[0]).all()  # one row, and a table of tables
    assert (grid.integral_above(np.exp(-grid.points)[None, None, :]) == above[0]).all()


def test_pieces_are_no_longer_than_asked_and_end_at_kinks() -> None:
    """Three pieces up to the kink and five beyond it; kinks outside, or at the ends, cut nothing."""
    grid = quadrature_between(0.0, 7.0, [2.5, 0.0, 7.0, -1.0, 9.0], piece=0.9)
    nodes = len(quadrature_between(0.0, 1.0, [], piece=1.0).points)
    assert len(grid.points) == 8 * nodes
    pieces = grid.points.reshape(8, nodes)
    edges = [*np.linspace(0, 2.5, 4)[:-1], *np.linspace(2.5, 7, 6)]
    for piece, low, high in zip(pieces, edges[:-1], edges[1:], strict=True):
        assert low < piece[0] < piece[-1] < high
        assert piece.mean() == pytest.approx((low + high) / 2)
    assert grid.weights.sum() == pytest.approx(7)
    assert len(quadrature_between(0.0, 0.3, [], piece=1.0).points) == nodes
    assert len(quadrature_between(0.0, 3.0, [], piece=0.5).points) == 6 * nodes
