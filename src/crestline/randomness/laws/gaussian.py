"""Gaussian noise with unit variance (P4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb

from crestline.randomness.points import LN2, Floats, Points

_HEIGHT = float(1 / np.sqrt(2 * np.pi))


@dataclass(frozen=True)
class Gaussian:
    name: str = "gaussian"

    def quantile(self, points: Points) -> Floats:
        from scipy.special import ndtri_exp  # imported here: SciPy is slow to load and few releases need it

        lower = np.asarray(points.log_u)
        upper = np.asarray(points.log_v)
        low = lower < -LN2
        tail: Floats = ndtri_exp(np.where(low, lower, upper))
        return np.where(low, tail, -tail)

    def ball(self, arrival: Any) -> Any:
        two = arb(2).log()  # mutate: both ways are right everywhere, each is sharper on its side
        root = arb(2).sqrt()
        if arrival > two:  # U < 1/2
            return -root * (2 * (-arrival).exp()).erfcinv()
        if arrival < two:
            return root * (-2 * (-arrival).expm1()).erfcinv()
        return arb.nan()  # not yet known on which side: more bits are needed

    def cdf(self, x: Floats) -> Floats:
        from scipy.special import ndtr

        result: Floats = ndtr(x)
        return result

    def survival(self, x: Floats) -> Floats:
        return self.cdf(-np.asarray(x))

    def density(self, x: Floats) -> Floats:
        return np.exp(-np.square(x) / 2) * _HEIGHT


GAUSSIAN = Gaussian()
