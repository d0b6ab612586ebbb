"""Exact law of the list of the k largest noisy scores above a threshold, for a few observed items (P17.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from crestline.errors import ParameterError
from crestline.histogram.observed_items import ObservedItems
from crestline.mechanisms.numerics.order_law import noise_support
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import ordered_choices
from crestline.randomness.laws.law import Law

_MOST_OUTCOMES = 20_000


def threshold_law(items: ObservedItems, k: int, law: Law, scale: float, threshold: float) -> Mapping[Selection, float]:
    """Probability of every list. In a list shorter than k all other items are below the threshold."""
    many = items.size
    most = min(k, many)
    if sum(math.perm(many, length) for length in range(most + 1)) > _MOST_OUTCOMES:
        raise ParameterError("the law has too many outcomes: it is for few observed items only")
    scores = np.array([items.score_of(rank) for rank in range(many)]) / items.unit
    below = law.cdf((threshold - scores) / scale)
    result = {Selection((), True): float(np.prod(below))}
    if not most:
        return result
    _, above = noise_support(law)
    top = max(threshold, float(scores.max())) + above * scale
    grid = quadrature_between(threshold, top, scores.tolist(), piece=scale)
    noise = (grid.points - scores[:, None]) / scale
    density, cdf = law.density(noise) / scale, law.cdf(noise)
    for length in range(1, most + 1):
        for order in ordered_choices(range(many), length):
            rest = [rank for rank in range(many) if rank not in order]
            earlier = np.ones(len(grid.points))
            for rank in order[:-1]:
                earlier = grid.integral_above(earlier * density[rank])
            # The full list ends above all others; a shorter one ends above the threshold, and the others below it.
            others = np.prod(cdf[rest], axis=0) if length == k else np.prod(below[rest])
            chance = float(grid.integral(earlier * density[order[-1]] * others))
            result[Selection(items.names(order), length < k)] = chance
    return result
