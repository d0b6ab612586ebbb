"""Laplace noise: `F(x) = exp(x)/2` below zero and `1 - exp(-x)/2` above (P8.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import LN2, Floats, Points


@dataclass(frozen=True)
class Laplace:
    """Laplace law with scale one."""

    name: str = "laplace"

    def quantile(self, points: Points) -> Floats:
        # ln 2U below the median and -ln 2(1 - U) above it: both have the sign of U - 1/2.
        return np.minimum(points.log_u + LN2, 0.0) + np.maximum(-points.log_v - LN2, 0.0)

    def ball(self, arrival: arb) -> arb:
        two = arb(2).log()
        return (two - arrival).min(0) + (-(-(-arrival).expm1()).log() - two).max(0)

    def cdf(self, x: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(np.signbit(x), tail, 1.0 - tail)

    def survival(self, x: Floats) -> Floats:
        return self.cdf(-np.asarray(x))

    def density(self, x: Floats) -> Floats:
        return 0.5 * np.exp(-np.abs(x))


LAPLACE = Laplace()
