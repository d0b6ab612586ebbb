"""Logistic noise: `F(x) = 1/(1 + exp(-x))`. With a fixed threshold it is a two-point exponential mechanism (P7.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points


@dataclass(frozen=True)
class Logistic:
    """Standard logistic law."""

    name: str = "logistic"

    def quantile(self, points: Points) -> Floats:
        return points.log_u - points.log_v

    def ball(self, arrival: arb) -> arb:
        return -arrival - (-(-arrival).expm1()).log()

    def cdf(self, x: Floats) -> Floats:
        return np.exp(-np.logaddexp(0.0, -np.asarray(x)))

    def survival(self, x: Floats) -> Floats:
        return np.exp(-np.logaddexp(0.0, np.asarray(x)))

    def density(self, x: Floats) -> Floats:
        return self.cdf(x) * self.survival(x)


LOGISTIC = Logistic()
