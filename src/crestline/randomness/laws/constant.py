"""Constant zero: the law of a fixed threshold that noisy keys are compared with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points


@dataclass(frozen=True)
class Constant:
    """Law without noise. Two such keys must not be compared: equal ones would never separate."""

    name: str = "constant"

    def quantile(self, points: Points) -> Floats:
        return np.zeros_like(points.log_u)

    def ball(self, arrival: arb) -> arb:
        return arb(0)

    def cdf(self, x: Floats) -> Floats:
        return np.where(np.asarray(x) < 0, 0.0, 1.0)

    def survival(self, x: Floats) -> Floats:
        return np.where(np.asarray(x) < 0, 1.0, 0.0)

    def density(self, x: Floats) -> Floats:
        """Infinite at zero, where all the mass is."""
        return np.where(np.asarray(x) == 0, np.inf, 0.0)


CONSTANT = Constant()
