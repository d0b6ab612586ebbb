"""Stability queries: any function of the data, answered when no small change of the data could alter it (P14.1).

The caller computes the value and its distance to instability: a number that moves by at most one when a user is added
or removed, and that is zero (or less) on both sides wherever the values differ. `stable_top_set` and `stable_mode` do
this for the items with the largest counts; the author of any other function must prove the two properties.
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
    """Value of a query on the data, and its distance to instability. Both are private.

    Attributes:
        value: The value.
        distance: Lower bound on the number of users to add or remove before the value can change.
    """

    value: Any
    distance: int | Fraction

    def __post_init__(self) -> None:
        if isinstance(self.distance, bool) or not isinstance(self.distance, int | Fraction):
            raise ParameterError("a distance must be an int or a Fraction")  # its value is private: do not repeat it

    def __repr__(self) -> str:  # value and distance are private
        return "Stable(…)"


@dataclass(frozen=True)
class QueryAnswer:
    """Released answer to one query.

    Attributes:
        index: Number of the query, from 0; None if `FirstStable` found no stable query.
        value: The value; None for a stop.
        stopped: Whether the query was not stable (⊥).
    """

    index: int | None
    value: Any = None
    stopped: bool = False


def stable_top_set(histogram: Histogram) -> StableAnswer:
    """Return the set of a histogram's first `k_bar` items, with its lead over the next count (P14.1).

    Raises:
        HistogramError: The histogram is not cut and padded, or nothing was left out of it.
    """
    if isinstance(histogram, CountHistogram) or not histogram.padded or histogram.next_count is None:
        raise HistogramError("a stable set is cut from more items: make the histogram with from_counts and padding")
    lead = Fraction(histogram.counts[-1] - histogram.next_count, histogram.unit) - 1
    items = frozenset(item for item in histogram.items if not isinstance(item, Padding))
    return StableAnswer(items, max(Fraction(0), lead))


def stable_mode(counts: Mapping[Label, int]) -> StableAnswer:
    """Return the value that most users have, with its lead over the runner-up (P14.1); None for empty counts.

    `counts` are numbers of distinct users; of equal counts the first in byte order is taken.
    """
    first = stable_top_set(Histogram.from_counts(counts, 1))
    return StableAnswer(next(iter(first.value), None), first.distance)


def distance_scores(queries: Sequence[StableAnswer]) -> RealScores:
    """Distances of some queries, as exact scores."""
    return RealScores([Real(Fraction(query.distance)) for query in queries])
