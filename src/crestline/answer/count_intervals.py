"""Intervals of published counts, and the ranks that an item may have, from released numbers alone (P23.4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np

from crestline.exact_numbers import int_or_float
from crestline.histogram.count_bounds import CountBounds

Interval = tuple[int | float, int | float]
RankInterval = tuple[int, int]


@dataclass(frozen=True)
class CountIntervals:
    """95% intervals of counts and of ranks by them, one for each item; None where they are not known."""

    intervals: tuple[Interval, ...] | None = None
    rank_intervals: tuple[RankInterval, ...] | None = None


def count_intervals(
    counts: Sequence[Fraction] | None, bounds: Sequence[CountBounds] | None, spread: float | None, *, ordered: bool
) -> CountIntervals:
    """Intervals of counts: `bounds` where they are known, or else `spread`, the noise of each, on both sides.

    Only the items of a list (`ordered`) have ranks.
    """
    if counts is None or (bounds is None and spread is None):
        return CountIntervals()
    if bounds is not None:
        ends = [(bound.low, bound.high) for bound in bounds]
        errors = [float(bound.error) for bound in bounds]
    else:
        within = Fraction(spread or 0)
        ends = [_around(count, within) for count in counts]
        errors = [float(within)] * len(ends)
    return CountIntervals(
        tuple((int_or_float(low), int_or_float(high)) for low, high in ends),
        rank_intervals([float(count) for count in counts], errors) if ordered else None,
    )


def _around(count: Fraction, within: Fraction) -> tuple[Fraction, Fraction]:
    """The count with its noise on both sides; whole numbers of users are rounded outwards."""
    low, high = count - within, count + within
    return (Fraction(floor(low)), Fraction(ceil(high))) if count.denominator == 1 else (low, high)


def rank_intervals(counts: Sequence[float], errors: Sequence[float]) -> tuple[RankInterval, ...]:
    """The best and the worst rank of each item among those named.

    An item is certainly before another if its count is larger by more than 95% of the error of the difference.
    """
    values, within = np.array(counts), np.array(errors)
    lead = [(values - value) / np.hypot(within, own) for value, own in zip(counts, errors, strict=True)]
    return tuple((1 + int((ahead > 1).sum()), len(counts) - int((ahead < -1).sum())) for ahead in lead)
