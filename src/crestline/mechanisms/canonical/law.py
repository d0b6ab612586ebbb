"""Exact law of the canonical mechanism on short public lists: every k-subset with its own score (P8.2)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from crestline.errors import ParameterError
from crestline.histogram.count_levels import Indices
from crestline.mechanisms.numerics.order_law import order_chances, peeling_chances
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats

_MOST_SUBSETS = 5_000  # more would take too long to list


def subset_chances(counts: Indices, k: int, gamma: float, rate: float, law: Law) -> Iterator[tuple[list[int], float]]:
    """Each k-subset of the ranks and the probability that its key is the largest."""
    if math.comb(len(counts), k) > _MOST_SUBSETS:
        raise ParameterError("the law has too many outcomes: it is for small histograms only")
    subsets = [list(ranks) for ranks in combinations(range(len(counts)), k)]
    scores = np.array([-rate * _subset_loss(counts, ranks, gamma) for ranks in subsets])
    scores -= scores.max()
    yield from zip(subsets, _chances_to_be_largest(scores, law).tolist(), strict=True)


def _subset_loss(counts: Indices, ranks: list[int], gamma: float) -> float:
    """LOSS of P8.2; counts are relative to the smallest, which shifts every loss equally."""
    inside = int(counts[ranks].min() - counts.min())
    outside = int(np.delete(counts, ranks).max() - counts.min())
    return (1 - gamma) * max(outside, inside) - gamma * inside


def _chances_to_be_largest(scores: Floats, law: Law) -> Floats:
    """Probability of each key to be the largest; equal scores share one computation."""
    different, place = np.unique(scores, return_inverse=True)
    first = np.searchsorted(np.sort(scores), different)
    order = np.argsort(scores, kind="stable")[first][:, None]
    chances = peeling_chances(scores, order) if law.name == GUMBEL.name else order_chances(scores, law, order)
    return chances[place]
