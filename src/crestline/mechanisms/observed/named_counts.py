"""Counts of the items that a threshold named, and their intervals, from released numbers alone (P23.1, P23.2, P23.7).

A noisy score is a sum of weights, so it is divided by the mean weight of a pair, which follows from the released number
of users by number of items. A named item's noisy score is too large on average, because it exceeded a bar: intervals
are those of its law given that it did. All of it is post-processing, so doubles may be used freely.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.count_bounds import CountBounds
from crestline.histogram.relation import CELLS
from crestline.mechanisms.observed.choose_bound import MIDDLES, SieveSetting, weights_by_cell
from crestline.mechanisms.observed.noisy_query import NoisyQuery
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law
from crestline.randomness.unit_points import Floats

_TAIL = 0.025  # on either side of an interval
_WIDTHS = {GAUSSIAN.name: 1.96, LAPLACE.name: math.log(20)}  # scales that hold 95% of the noise
# A cell of the look counts from this number of σ on, if it is beside another that counts (P23.7).
_STANDS = 2.0
_ASSUMED_CELL, _ASSUMED_ERROR = 2, 0.5  # where no cell counts: three or four items of a user, and this relative error
_ERROR_SCALE = 1.3  # the noise of cells that do not count is a part of the error as well
_LEAST_ERROR = 0.01  # relative error of a mean weight that the look does not show
# Squared variation of the weight of an item with h users: that of the weight of a pair, times 20/(h + 40).
_SPREAD, _SPREAD_USERS = 20.0, 40.0
_REACH, _WIDE = 6.0, 2.5  # an upper end is searched this number of σ above the noisy score, and of relative errors
_HALVINGS = 40


@dataclass(frozen=True)
class MeanWeight:
    """Mean weight of a pair of a user and a named item.

    Attributes:
        value: The mean weight.
        error: Its relative standard error, which all counts share.
        variation: Coefficient of variation of the weight between pairs.
    """

    value: float
    error: float
    variation: float

    def spread(self, users: Floats) -> Floats:
        """Relative standard deviation of the mean weight between items with these numbers of users."""
        return self.variation * np.sqrt(_SPREAD / (np.maximum(users, 0.0) + _SPREAD_USERS))


FULL_WEIGHT = MeanWeight(1.0, 0.0, 0.0)
"""Mean weight where each user gives an item all or nothing: noisy scores are numbers of users."""


def mean_weight(users: NoisyQuery, setting: SieveSetting) -> MeanWeight:
    """Mean weight of a pair, cap included, from the released number of users by number of items (P23.7)."""
    cells, sigma = _cells_that_stand(users.values, float(users.sigma))
    weights, shares = weights_by_cell(setting)
    pairs = cells * MIDDLES
    total = float(pairs.sum())
    mean = float(pairs @ (weights * shares)) / total
    square = float(pairs @ (weights**2 * shares)) / total
    last = min(int(np.flatnonzero(cells)[-1]) + 1, CELLS - 1)
    moved = ((weights * shares - mean) * MIDDLES / total)[: last + 1]
    error = _ERROR_SCALE * sigma * math.sqrt(float(moved @ moved)) / mean
    return MeanWeight(mean, math.hypot(error, _LEAST_ERROR), math.sqrt(max(0.0, square - mean**2)) / mean)


def _cells_that_stand(values: Floats, sigma: float) -> tuple[Floats, float]:
    """The largest cell and its neighbours without a gap, as long as they stand out; all others are zero. And σ."""
    stands = values > _STANDS * sigma
    if not stands.any():
        return np.eye(CELLS)[_ASSUMED_CELL], _ASSUMED_ERROR
    first = last = int(np.argmax(np.where(stands, values, -np.inf)))
    while first > 0 and stands[first - 1]:
        first -= 1
    while last < CELLS - 1 and stands[last + 1]:
        last += 1
    cells = np.zeros(CELLS)
    cells[first : last + 1] = values[first : last + 1]
    return cells, sigma


def count_named(
    scores: Floats, scale: float, bar: Floats | float, weight: MeanWeight, *, law: Law = GAUSSIAN, least: int = 1
) -> tuple[list[int], list[CountBounds]]:
    """Number of users of each named item, and its interval.

    Args:
        scores: Released noisy scores, in users who weigh one each.
        scale: Scale of their noise.
        bar: What each of them had to exceed: the threshold, or the largest noisy score that was left out.
        weight: Mean weight of a pair.
        law: Law of the noise.
        least: Number of users that each named item certainly has.
    """
    counts = np.maximum(scores / weight.value, least)
    top = (scores + _REACH * scale) / weight.value
    top = top * (1 + _WIDE * np.hypot(weight.spread(counts), weight.error))
    below = _conditional_law(scores, scale, bar, weight, law)
    low = np.maximum(_largest_above(below, 1 - _TAIL, top), least)
    high = np.maximum(_largest_above(below, _TAIL, top), counts)
    width = _WIDTHS[law.name]
    error = width * np.hypot(scale / weight.value, weight.spread(counts) * counts)
    ends = zip(np.floor(low).tolist(), np.ceil(high).tolist(), np.rint(1000 * error).tolist(), strict=True)
    bounds = [CountBounds(Fraction(first), Fraction(last), Fraction(int(off), 1000)) for first, last, off in ends]
    return np.rint(counts).astype(np.int64).tolist(), bounds


def _conditional_law(
    scores: Floats, scale: float, bar: Floats | float, weight: MeanWeight, law: Law
) -> Callable[[Floats], Floats]:
    """Probability that a noisy score is at most the released one, given that it exceeds the bar, by number of users."""

    def chance(users: Floats) -> Floats:
        mean = weight.value * users
        deviation = np.hypot(scale, mean * np.hypot(weight.spread(users), weight.error))
        return -np.expm1(_log_tail(law, (scores - mean) / deviation) - _log_tail(law, (bar - mean) / deviation))

    return chance


def _log_tail(law: Law, distance: Floats) -> Floats:
    """Logarithm of the probability that a noise exceeds each distance, in units of its scale."""
    if law is GAUSSIAN:
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr(-distance))
    return np.where(
        distance > 0, -np.abs(distance) - math.log(2), np.log1p(-np.exp(-np.abs(distance)) / 2)
    )  # Laplace noise


def _largest_above(chance: Callable[[Floats], Floats], level: float, top: Floats) -> Floats:
    """For each item the largest number of users, up to `top`, at which its falling probability exceeds the level."""
    low, high = np.zeros_like(top), top
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        exceeds = chance(middle) > level
        low, high = np.where(exceeds, middle, low), np.where(exceeds, high, middle)
    return low
