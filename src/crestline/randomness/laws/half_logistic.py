"""Half-logistic noise: `F(x) = tanh(x/2)` for x ≥ 0 (P8.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points


@dataclass(frozen=True)
class HalfLogistic:
    """Law of the absolute value of logistic noise."""

    name: str = "half-logistic"

    def quantile(self, points: Points) -> Floats:
        return np.log1p(np.exp(points.log_u)) - points.log_v

    def ball(self, arrival: arb) -> arb:
        return (1 + (-arrival).exp()).log() - (-(-arrival).expm1()).log()

    def cdf(self, x: Floats) -> Floats:
        return np.tanh(np.maximum(x, 0.0) / 2)

    def survival(self, x: Floats) -> Floats:
        return 2 * np.exp(-np.logaddexp(0.0, np.maximum(x, 0.0)))

    def density(self, x: Floats) -> Floats:
        # F' = (1 - F²)/2, and 1 - F² = (1 - F)(2 - (1 - F)), which does not cancel in the tail.
        above = self.survival(x)
        return np.where(x < 0, 0.0, above * (2 - above) / 2)


HALF_LOGISTIC = HalfLogistic()
