"""Numbers of users of the named items, with Gaussian noise of a share of μ² (P23.3, P23.6).

A user who has j of c named items moves the vector of their numbers of users by j²/c along (1, …, 1) and by j - j²/c
across it, in squared length: never by much in both. So noise of variance `v2 = b c` along and `v1 = φ(b) c` across, in
units of `1/mu_squared`, spends no more than noise of variance c in every direction, and a count has less of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from crestline.guarantees.rounding import ball, decimal_above, precision
from crestline.mechanisms.observed.noisy_query import FINE, sigma_for
from crestline.randomness.compare import round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import SharedKey, build_keys
from crestline.randomness.laws import GAUSSIAN
from crestline.randomness.scores import LinearScores, Scores, SumScores
from crestline.randomness.unit_points import Floats

_STRETCHES = (2, 3, 4, 6)


@dataclass(frozen=True)
class NoisyUsers:
    """Released numbers of users.

    Attributes:
        values: One number for each named item.
        own: Variance of the noise that each number has alone.
        shared: Variance of the noise that all of them have together.
    """

    values: Floats
    own: float
    shared: float


def add_noise_to_users(
    users: Sequence[int], mu_squared: Fraction, entropy: Entropy, *, several: bool = False
) -> NoisyUsers:
    """Release the numbers of users of the named items as one Gaussian step of `mu_squared`.

    Over several periods its noise is the same in every direction (P23.3).
    """
    many = len(users)
    if not many:
        return NoisyUsers(np.zeros(0), 0.0, 0.0)
    scores: Scores = LinearScores(np.array(users, dtype=np.int64), Fraction(1))
    if several or many == 1:
        sigma, shared = sigma_for(mu_squared / many), Fraction(0)
    else:
        sigma, shared = _elliptic_sigmas(many, mu_squared)
        nothing = LinearScores(np.zeros(1, dtype=np.int64), Fraction(1))
        common = build_keys(nothing, GAUSSIAN, entropy.uniforms(1, 1), scale=shared)
        scores = SumScores(scores, SharedKey(common))
    noisy = build_keys(scores, GAUSSIAN, entropy.uniforms(1, many), scale=sigma)
    steps = round_to_grid(noisy, sigma / FINE)[0]
    return NoisyUsers(np.multiply(steps, float(sigma) / FINE, dtype=np.float64), float(sigma**2), float(shared**2))


def across(stretch: float) -> float:
    """`φ(b) = b/2 (1 - sqrt(1 - 1/b))`, the variance across (1, …, 1) for a variance b along it (P23.6)."""
    return stretch / 2 * (1 - math.sqrt(1 - 1 / stretch))


def best_stretch(many: int) -> int:
    """The b with the least noise of one of `many` counts, at least two, so that their order has little of it."""
    return min(_STRETCHES, key=lambda stretch: across(stretch) * (many - 1) + stretch)


def _elliptic_sigmas(many: int, mu_squared: Fraction) -> tuple[Fraction, Fraction]:
    """σ of the noise of each number and of the noise that all share, rounded up."""
    stretch = best_stretch(many)
    with precision():
        narrow = ball(Fraction(stretch, 2)) * (1 - (1 - 1 / arb(stretch)).sqrt())
        own = decimal_above((many * narrow / ball(mu_squared)).sqrt())
        return own, decimal_above(((stretch - narrow) / ball(mu_squared)).sqrt())
