"""Gaussian noise with unit variance (P4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from flint import arb

from crestline.randomness.unit_points import Floats, Points

_HEIGHT = float(1 / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Gaussian:
    """Normal law with mean zero and variance one."""

    name: str = "gaussian"

    def quantile(self, points: Points) -> Floats:
        from scipy.special import ndtri_exp  # imported here, since SciPy is slow to load and few releases need it

        tail: Floats = ndtri_exp(np.minimum(points.log_u, points.log_v))
        return np.copysign(tail, points.log_u - points.log_v)  # below the median where U < 1 - U

    def ball(self, arrival: arb) -> arb:
        root = arb(2).sqrt()
        if arrival > 1:  # both formulas hold everywhere; each gives the smaller ball on its side
            return -root * (2 * (-arrival).exp()).erfcinv()
        return root * (-2 * (-arrival).expm1()).erfcinv()

    def cdf(self, x: Floats) -> Floats:
        from scipy.special import ndtr

        result: Floats = ndtr(x)
        return result

    def survival(self, x: Floats) -> Floats:
        return self.cdf(-np.asarray(x))

    def density(self, x: Floats) -> Floats:
        return np.exp(-np.square(x) / 2) * _HEIGHT


GAUSSIAN = Gaussian()
