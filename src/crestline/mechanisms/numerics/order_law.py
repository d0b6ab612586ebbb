"""Exact law of the order of noisy keys: the probability that given slots come first, in a given order.

For Gumbel noise it is a product (P2.1, peeling); for any other law the keys are integrated out one after the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats

Orders = NDArray[np.int64]

_NEGLIGIBLE = 1e-18
_FARTHEST = 64.0  # every law is negligible there


def peeling_chances(scores: Floats, orders: Orders) -> Floats:
    """For keys `score + Gumbel`: probability of each row of slots to come first, in that order."""
    rows, k = orders.shape
    left = np.tile(scores, (rows, 1))
    logs = np.zeros(rows)
    for place in range(k):
        drawn = np.arange(rows), orders[:, place]
        top = left.max(axis=1)
        mass = np.log(np.exp(left - top[:, None]).sum(axis=1)) + top
        logs += left[drawn] - mass
        left[drawn] = -np.inf
    return np.exp(logs)


def order_chances(scores: Floats, law: Law, orders: Orders, scale: float | Floats = 1.0) -> Floats:
    """For keys `score + scale · noise`: probability of each row of slots to come first, in that order.

    `scale` is one number for all slots, or one for each. There is one integral for each position of the order, and the
    time is proportional to the spread of the scores in units of the noise: for small histograms.
    """
    below, above = noise_support(law)
    scales = np.broadcast_to(np.asarray(scale, dtype=np.float64), scores.shape)
    start, end = float((scores - below * scales).min()), float((scores + above * scales).max())
    grid = quadrature_between(start, end, scores.tolist(), piece=float(scales.min()))
    noise = (grid.points - scores[:, None]) / scales[:, None]
    density, cdf = law.density(noise) / scales[:, None], law.cdf(noise)
    rows, k = orders.shape
    earlier = np.ones((rows, len(grid.points)))  # the slots before this one come in order and lie above the point
    for place in range(k - 1):
        earlier = grid.integral_above(earlier * density[orders[:, place]])
    last = np.ones((rows, len(grid.points)))
    for slot in range(len(scores)):
        last *= np.where((orders == slot).any(axis=1)[:, None], 1.0, cdf[slot])
    return grid.integral(earlier * density[orders[:, k - 1]] * last)


def noise_support(law: Law) -> tuple[float, float]:
    """Whole distances below and above zero beyond which the noise has a negligible probability."""
    distance = np.arange(_FARTHEST)
    return _tail_end(law.cdf(-distance)), _tail_end(law.survival(distance))


def _tail_end(tail: Floats) -> float:
    """First whole number from which on a tail is negligible."""
    return float(np.count_nonzero(tail > _NEGLIGIBLE))
