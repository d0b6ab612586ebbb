"""Exponential noise: `F(x) = 1 - exp(-x)` for x ≥ 0. Permute-and-flip returns the item with the largest key (P8.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points


@dataclass(frozen=True)
class Exponential:
    """Exponential law with rate one."""

    name: str = "exponential"

    def quantile(self, points: Points) -> Floats:
        return -points.log_v

    def ball(self, arrival: arb) -> arb:
        return -(-(-arrival).expm1()).log()

    def cdf(self, x: Floats) -> Floats:
        return -np.expm1(-np.maximum(x, 0.0))

    def survival(self, x: Floats) -> Floats:
        return np.exp(-np.maximum(x, 0.0))

    def density(self, x: Floats) -> Floats:
        return np.where(x < 0, 0.0, self.survival(x))


EXPONENTIAL = Exponential()
