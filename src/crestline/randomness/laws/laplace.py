"""Laplace noise: `F(x) = exp(x)/2` below zero and `1 - exp(-x)/2` above (P8.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from crestline.randomness.points import LN2, Floats, Points


@dataclass(frozen=True)
class Laplace:
    name: str = "laplace"

    def quantile(self, points: Points) -> Floats:
        return np.where(points.log_u < -LN2, points.log_u + LN2, -points.log_v - LN2)

    def ball(self, arrival: Any) -> Any:
        two = arb(2).log()
        if arrival > two:  # U < 1/2
            return two - arrival
        if arrival < two:
            return -(-(-arrival).expm1()).log() - two
        return arb.nan()  # not yet known on which side: more bits are needed

    def cdf(self, x: Floats) -> Floats:
        tail = 0.5 * np.exp(-np.abs(x))
        return np.where(x < 0, tail, 1.0 - tail)

    def survival(self, x: Floats) -> Floats:
        return self.cdf(-np.asarray(x))

    def density(self, x: Floats) -> Floats:
        return 0.5 * np.exp(-np.abs(x))


LAPLACE = Laplace()
