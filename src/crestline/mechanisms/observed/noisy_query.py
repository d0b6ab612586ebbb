"""Noisy queries: whole numbers with Gaussian noise of a share of μ², rounded to a public grid (P18.7)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crestline.guarantees.rounding import ball, decimal_above, precision
from crestline.randomness.compare import round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws import GAUSSIAN
from crestline.randomness.scores import LinearScores
from crestline.randomness.unit_points import Floats

FINE = 64
"""A released number is a whole multiple of σ/64."""


@dataclass(frozen=True)
class NoisyQuery:
    """Released numbers: `steps` times σ/64. `sigma` is the standard deviation of their noise."""

    steps: NDArray[np.int64]
    sigma: Fraction

    @property
    def values(self) -> Floats:
        """The released numbers as doubles, for decisions made from them afterwards."""
        return np.multiply(self.steps, float(self.sigma) / FINE, dtype=np.float64)


def noisy_query(numbers: NDArray[np.int64], unit: int, mu_squared: Fraction, entropy: Entropy) -> NoisyQuery:
    """Release `number/unit + N(0, 1/mu_squared)` for each number; always draws one noise for each."""
    sigma = sigma_for(mu_squared)
    noisy = build_keys(
        LinearScores(numbers, Fraction(1, unit)), GAUSSIAN, entropy.uniforms(1, len(numbers)), scale=sigma
    )
    return NoisyQuery(round_to_grid(noisy, sigma / FINE)[0], sigma)


@lru_cache(maxsize=256)
def sigma_for(mu_squared: Fraction) -> Fraction:
    """A standard deviation with `1/σ² ≤ mu_squared`, rounded up."""
    with precision():
        return decimal_above(1 / ball(mu_squared).sqrt())
