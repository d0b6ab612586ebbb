"""Stability queries: any function of the data, answered when no small change of the data could alter it (P14.1).

The caller computes the value and its distance to instability: a number that moves by at most one when a user comes or
goes, and that is zero (or less) on both sides wherever the values differ. `stable_top_set` and `stable_mode` do this
for
the items with the largest counts; any other function is as good when its author can prove the two properties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crestline.errors import HistogramError, ParameterError
from crestline.histogram.histogram import CountHistogram, Histogram
from crestline.histogram.label_order import Label, Padding
from crestline.randomness.exact_reals import Real
from crestline.randomness.scores import RealScores


@dataclass(frozen=True, repr=False)
class StableAnswer:
    """What a query says about the data, and how many users would have to come or go before it could say otherwise."""

    value: Any
    distance: int | Fraction

    def __post_init__(self) -> None:
        if isinstance(self.distance, bool) or not isinstance(self.distance, int | Fraction):
            raise ParameterError("a distance must be an int or a Fraction")  # its value is private: do not repeat it

    def __repr__(self) -> str:  # value and distance are private
        return "Stable(…)"


@dataclass(frozen=True)
class QueryAnswer:
    """The released answer to query number `index`, from 0; a stop (⊥) has no value.

    Of `FirstStable`, a stop means that no query was stable, and has no index either.
    """

    index: int | None
    value: Any = None
    stopped: bool = False


def stable_top_set(histogram: Histogram) -> StableAnswer:
    """The set of a histogram's items, its first `k_bar`: stable while it leads the next count (P14.1)."""
    if isinstance(histogram, CountHistogram) or not histogram.padded or histogram.next_count is None:
        raise HistogramError("a stable set is cut from more items: make the histogram with from_counts and padding")
    lead = Fraction(histogram.counts[-1] - histogram.next_count, histogram.unit) - 1
    items = frozenset(item for item in histogram.items if not isinstance(item, Padding))
    return StableAnswer(items, max(Fraction(0), lead))


def stable_mode(counts: Mapping[Label, int]) -> StableAnswer:
    """The value that most users have, None when nobody has any: stable while it leads the runner-up (P14.1).

    `counts` are numbers of distinct users; ties go to the first in byte order.
    """
    first = stable_top_set(Histogram.from_counts(counts, 1))
    return StableAnswer(next(iter(first.value), None), first.distance)


def distance_scores(queries: Sequence[StableAnswer]) -> RealScores:
    """The distances of some queries, as exact scores."""
    return RealScores([Real(Fraction(query.distance)) for query in queries])
