"""Gumbel noise: `F(x) = exp(-exp(-x))`. The exponential mechanism returns the item with the largest key (P2.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points


@dataclass(frozen=True)
class Gumbel:
    """Standard Gumbel law."""

    name: str = "gumbel"

    def quantile(self, points: Points) -> Floats:
        return points.gumbel

    def ball(self, arrival: arb) -> arb:
        return -arrival.log()

    def cdf(self, x: Floats) -> Floats:
        return np.exp(-np.exp(-x))

    def survival(self, x: Floats) -> Floats:
        return -np.expm1(-np.exp(-x))

    def density(self, x: Floats) -> Floats:
        return np.exp(-x - np.exp(-x))


GUMBEL = Gumbel()
