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
from crestline.mechanisms.observed.count_step import NoisyUsers
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


@dataclass(frozen=True)
class NoisyScores:
    """Released noisy scores of named items.

    Attributes:
        values: The scores, in users who weigh one each.
        scale: Scale of their noise.
        bar: What each of them had to exceed: the threshold, or the largest noisy score that was left out.
        law: Law of the noise.
    """

    values: Floats
    scale: float
    bar: Floats | float
    law: Law = GAUSSIAN

    def __len__(self) -> int:
        return len(self.values)


def count_named(scores: NoisyScores, weight: MeanWeight, *, least: int = 1) -> tuple[list[int], list[CountBounds]]:
    """Number of users of each named item, and its interval.

    Args:
        scores: Released noisy scores.
        weight: Mean weight of a pair.
        least: Number of users that each named item certainly has.
    """
    counts = np.maximum(scores.values / weight.value, least)
    top = (scores.values + _REACH * scores.scale) / weight.value
    top = top * (1 + _WIDE * np.hypot(weight.spread(counts), weight.error))
    below = _conditional_law(scores, weight)
    low = np.maximum(_largest_above(below, 1 - _TAIL, top), least)
    high = np.maximum(_largest_above(below, _TAIL, top), counts)
    width = _WIDTHS[scores.law.name]
    error = width * np.hypot(scores.scale / weight.value, weight.spread(counts) * counts)
    ends = zip(np.floor(low).tolist(), np.ceil(high).tolist(), error.tolist(), strict=True)
    return np.rint(counts).astype(np.int64).tolist(), [_bounds(*one) for one in ends]


def combine_counts(
    scores: NoisyScores, weight: MeanWeight | None, counted: NoisyUsers, *, least: int = 1
) -> tuple[Floats, list[CountBounds]]:
    """Number of users of each named item, from its noisy score and from a noisy count, and its interval.

    Where scores are ranked by counts, few of those that stay are near the bar, and they are not corrected for it.

    Args:
        scores: Released noisy scores.
        weight: Mean weight of a pair; None where it is not known: then scores tell nothing about users.
        counted: Released numbers of users of the same items.
        least: Number of users that each named item certainly has.
    """
    values, variance = counted.values, np.full(len(scores), counted.own + counted.shared)
    own = np.full(len(scores), counted.own)
    if weight is not None and len(scores):
        free, noise, off = _with_counted_mean(scores, weight, counted)
        alone = noise**2 + (weight.spread(free) * free) ** 2
        share = variance / (alone + off * free**2 + variance)  # of the noisy score: the larger, the less noise it has
        values = share * free + (1 - share) * values
        own = share**2 * alone + (1 - share) ** 2 * counted.own
        variance = (1 - share) * variance
    values, width = np.maximum(values, least), _WIDTHS[GAUSSIAN.name]
    half, error = width * np.sqrt(variance), width * np.sqrt(own)
    low, high = np.maximum(np.floor(values - half), least), np.ceil(values + half)
    return values, [_bounds(*one) for one in zip(low.tolist(), high.tolist(), error.tolist(), strict=True)]


def _with_counted_mean(scores: NoisyScores, weight: MeanWeight, counted: NoisyUsers) -> tuple[Floats, float, float]:
    """Counts from the scores and their noise, by a mean weight that the noisy counts correct; its squared error then.

    The means of both tell how far the mean weight is off, as well as their own noise lets them.
    """
    free, noise = scores.values / weight.value, scores.scale / weight.value
    many, mean = len(free), float(free.mean())
    spread = float(((weight.spread(free) * free) ** 2).mean())
    ratio = (counted.shared + (counted.own + noise**2 + spread) / many) / mean**2
    gain = weight.error**2 / (weight.error**2 + ratio)
    factor = 1 + gain * (float(counted.values.mean()) / mean - 1)
    return free * factor, noise * factor, weight.error**2 * (1 - gain)


def _bounds(low: float, high: float, error: float) -> CountBounds:
    """Bounds from doubles; the error is rounded to a thousandth."""
    return CountBounds(Fraction(low), Fraction(high), Fraction(round(1000 * error), 1000))


def _conditional_law(scores: NoisyScores, weight: MeanWeight) -> Callable[[Floats], Floats]:
    """Probability that a noisy score is at most the released one, given that it exceeds the bar, by number of users."""

    def chance(users: Floats) -> Floats:
        mean = weight.value * users
        deviation = np.hypot(scores.scale, mean * np.hypot(weight.spread(users), weight.error))
        above = _log_tail(scores.law, (scores.values - mean) / deviation)
        return -np.expm1(above - _log_tail(scores.law, (scores.bar - mean) / deviation))

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
