"""Integrals of functions that are smooth between known points: Gauss-Legendre, piece by piece.

In pieces of about one unit of the narrowest noise, twenty points give about fifteen digits for every law used here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from crestline.randomness.unit_points import Floats

_POINTS = 20  # nodes of each piece: already exact to the last bits


@dataclass(frozen=True)
class Quadrature:
    """Points in ascending order, and the weight of each."""

    points: Floats
    weights: Floats

    def integral(self, values: Floats) -> Floats:
        """Integral over all points, which are the last axis of `values`."""
        result: Floats = values @ self.weights
        return result

    def integral_above(self, values: Floats) -> Floats:
        """Integral from each point upwards."""
        shape = values.shape
        pieces = (values * self.weights).reshape(*shape[:-1], len(self.points) // _POINTS, _POINTS)
        sums = pieces.sum(axis=-1)
        later = np.cumsum(sums[..., ::-1], axis=-1)[..., ::-1] - sums
        result: Floats = (pieces @ _upward_matrix() + later[..., None]).reshape(shape)
        return result


def quadrature_between(low: float, high: float, kinks: Iterable[float], piece: float) -> Quadrature:
    """Quadrature from `low` to `high`, cut at the kinks and into pieces no longer than `piece`."""
    corners = sorted({low, high, *(kink for kink in kinks if low < kink < high)})
    cuts: list[float] = []
    for start, end in pairwise(corners):
        many = int(np.ceil((end - start) / piece))
        cuts += np.linspace(start, end, many + 1)[:-1].tolist()
    edges = np.array([*cuts, high])
    place, weight = _gauss_legendre()
    half = np.diff(edges)[:, None] / 2
    return Quadrature((edges[:-1, None] + half + half * place).ravel(), (half * weight).ravel())


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1], cached because computing them takes longer than most integrals."""
    place, weight = np.polynomial.legendre.leggauss(_POINTS)
    return place, weight


@lru_cache(maxsize=1)
def _upward_matrix() -> Floats:
    """`matrix[j, i]`: contribution of the weighted value at point j to the integral from point i to the piece's end.

    Values are expanded in Legendre polynomials, of which `∫_x^1 P_n = (P_{n-1}(x) - P_{n+1}(x))/(2n + 1)`.
    """
    place, _ = _gauss_legendre()
    polynomials = np.polynomial.legendre.legvander(place, _POINTS)
    degrees = np.arange(1, _POINTS)
    upper = np.empty((_POINTS, _POINTS))
    upper[0] = (1.0 - place) / 2
    upper[1:] = (polynomials[:, degrees - 1] - polynomials[:, degrees + 1]).T / 2
    result: Floats = polynomials[:, :_POINTS] @ upper
    return result
