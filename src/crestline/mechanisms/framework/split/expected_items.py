"""Expected number of items that a framework mechanism names: a fast, smooth estimate for choosing its parameters.

Lower a level through the noisy counts. An item is chosen once the level is below its key; the release stops when an
item is chosen that will fail its test. Given the threshold's noise all items are independent, so the probability that
none of those chosen before fails is a product. Only the end is approximate: k items are assumed to be chosen at the
level where k are expected. Against simulation the estimate is accurate to one or two percent.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats

# Resolution of the estimate, which only guides the division of a budget.
_EDGES = 65  # edges of groups
_LEVELS = 32
_SPACING = 1.5  # levels are closer where little is chosen
_GRID = 512  # points at which levels are searched
_NODES = 16
_PARTS = 8  # parts of a table, each of which fits the cache
_REACH = 12.0  # scales of noise above the largest and below the smallest count; the rest is negligible
_SURELY = 1.0 - float(np.finfo(np.float64).eps)  # largest probability whose complement has a logarithm


@dataclass(frozen=True)
class RankedCounts:
    """Largest counts of a data set in descending order, in groups of similar ones; and the first count left out."""

    counts: Floats
    sizes: Floats
    next_count: float

    def scaled_by(self, factor: float) -> RankedCounts:
        return RankedCounts(self.counts * factor, self.sizes, self.next_count * factor)


@lru_cache(maxsize=64)
def power_law_counts(k_bar: int, exponent: float) -> RankedCounts:
    """`rank^-exponent` for the first `k_bar` ranks, in groups of neighbouring ranks."""
    edges = np.unique(np.geomspace(1, k_bar + 1, _EDGES).round())
    middles = np.sqrt(edges[:-1] * (edges[1:] - 1))
    return RankedCounts(middles**-exponent, np.diff(edges), (k_bar + 1.0) ** -exponent)


def expected_items(head: RankedCounts, k: int, noise: Law, scale: float, test: ExponentialTest) -> float:
    """Approximate number of k items that are named when counts get noise of this law and scale, and then the test."""
    passing, weight = _pass_chances(head, test)
    chosen = _chance_above(head, _falling_levels(head, k, noise, scale), noise, scale)
    parts = [_survival_and_named(head, passing, some) for some in np.split(chosen, _PARTS)]
    clean, named = (np.concatenate(part) for part in zip(*parts, strict=True))
    steps = (named[1:] + named[:-1]) / 2 * (clean[:-1] - clean[1:])
    mean = steps.sum(axis=0) + named[-1] * clean[-1]  # above the first level hardly anything is chosen
    return float(mean @ weight)


def _survival_and_named(head: RankedCounts, passing: Floats, chosen: Floats) -> tuple[Floats, Floats]:
    """Probability at some levels that no failing item is chosen yet, and the expected number named in that case."""
    fails = np.minimum((1.0 - passing) * chosen[:, :, None], _SURELY)  # (level, group, threshold noise)
    sizes = head.sizes[:, None]
    clean = np.exp((sizes * np.log1p(-fails)).sum(axis=1))
    return clean, (sizes * passing * chosen[:, :, None] / (1.0 - fails)).sum(axis=1)


def _pass_chances(head: RankedCounts, test: ExponentialTest) -> tuple[Floats, Floats]:
    """Probability of each group to pass, given quantiles of the threshold's noise, and their weights (P5.6)."""
    place, weight = _gauss_legendre()
    noise = -np.log1p(-(place + 1) / 2) / float(test.epsilon1)
    over = head.counts - head.next_count - 1.0 - float(test.threshold_height)
    return EXPONENTIAL.cdf(float(test.epsilon2) * (over[:, None] + noise)), weight / 2


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes in (-1, 1) and their weights."""
    place, weight = np.polynomial.legendre.leggauss(_NODES)
    return place, weight


def _chance_above(head: RankedCounts, levels: Floats, noise: Law, scale: float) -> Floats:
    """Probability that the key of an item exceeds each level: (level, group)."""
    with np.errstate(over="ignore"):  # far below a count: certainly above
        return noise.survival((levels[:, None] - head.counts) / scale)


def _falling_levels(head: RankedCounts, k: int, noise: Law, scale: float) -> Floats:
    """Descending levels, from where hardly anything is chosen to where k items are expected to be."""
    grid = np.linspace(head.counts.max() + _REACH * scale, head.counts.min() - _REACH * scale, _GRID)
    above = np.concatenate([_chance_above(head, some, noise, scale) @ head.sizes for some in np.split(grid, _PARTS)])
    wanted = np.linspace(0.0, 1.0, _LEVELS) ** _SPACING * min(k, 0.999 * float(above.max()))
    wanted[0] = min(0.01, wanted[1] / 2)  # where the first level lies
    return np.interp(wanted, above, grid)
