"""Count models: the counts of a data set, from what is public about it. No data are read.

power:1.1                       each user picks `per_user` times; the item of rank r is picked with weight r^-1.1
percentiles:50:2,99:24,100:2931   half of the items have at most 2 users, 99% at most 24, the largest 2931
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crestline.errors import ParameterError
from crestline.exact_numbers import exact_number, positive_number, whole_number
from crestline.histogram.histogram import Histogram

Counts: TypeAlias = NDArray[np.int64]

_MOST_ITEMS = 10_000_000


class CountModel(Protocol):
    """Counts that follow from what is public about a data set."""

    def counts(self) -> Counts:
        """All counts, largest first."""
        ...


@dataclass(frozen=True)
class PowerLaw:
    """Counts of users who pick `per_user` times each, the item of rank r with probability proportional to r^-s."""

    exponent: float
    users: int
    items: int
    per_user: float = 10.0

    def counts(self) -> Counts:
        """Expected counts, rounded, largest first."""
        # A power with a large exponent underflows with a warning, its logarithm does not.
        log_weights = -self.exponent * np.log(np.arange(1, self.items + 1, dtype=np.float64))
        weights = np.exp(log_weights)
        weights /= weights.sum()
        has_it = -np.expm1(self.per_user * np.log1p(-np.minimum(weights, 1 - 2**-53)))
        return np.floor(self.users * has_it + 0.5).astype(np.int64)


@dataclass(frozen=True)
class Percentiles:
    """Counts with published percentiles, (percentage, count); log-count is linear in log-rank between `points`.

    Below the smallest percentage the counts fall to one at the last item.
    """

    points: tuple[tuple[float, int], ...]
    items: int
    users: int | None = None

    def counts(self) -> Counts:
        """Interpolated counts, rounded, largest first."""
        ranks = [max(1.0, (1 - percentage / 100) * self.items) for percentage, _ in reversed(self.points)]
        values = [count for _, count in reversed(self.points)]
        if ranks[-1] < self.items:
            ranks.append(float(self.items))
            values.append(min(1, values[-1]))
        logs = np.log(np.maximum(values, 0.5))
        places = np.log(np.arange(1, self.items + 1, dtype=np.float64))
        found = np.floor(np.exp(np.interp(places, np.log(ranks), logs)) + 0.5).astype(np.int64)
        return found if self.users is None else np.minimum(found, self.users)


def read_shape(text: str, *, users: int, items: int | None = None, per_user: float = 10.0) -> CountModel:
    """Parse a shape such as `power:1.1` or `percentiles:50:2,100:2931`; raises ParameterError where it is malformed."""
    kind, _, rest = text.partition(":")
    whole_number(users, "users")
    size = users if items is None else whole_number(items, "items")
    if size > _MOST_ITEMS:
        raise ParameterError(
            f"items must be at most {_MOST_ITEMS:,}: only the largest counts matter, more items change nothing"
        )
    if kind == "power":
        return PowerLaw(
            float(positive_number(rest or "1", "the exponent")),
            users,
            size,
            float(positive_number(per_user, "per_user")),
        )
    if kind == "percentiles":
        return Percentiles(_points(rest), size, users)
    raise ParameterError(
        f"a shape is power:EXPONENT or percentiles:PERCENT:COUNT,…, such as power:1.1 or percentiles:50:2,100:2931, "
        f"not {text!r}"
    )


def bound_counts(counts: Counts, *, users: int, contribution: int | None) -> Counts:
    """The counts when each user contributes at most `contribution` items: all shrink by the same factor.

    The numbers of items of each user are not known, so the cut is the least possible, spread evenly over all items.
    """
    pairs = int(counts.sum())
    if contribution is None or pairs <= users * contribution:
        return counts
    shrunk: Counts = np.floor(counts * (users * contribution / pairs)).astype(np.int64)
    return shrunk


def ranked_histogram(counts: Counts, k_bar: int) -> Histogram:
    """Histogram of an unknown domain with these counts, cut at `k_bar`; the label of an item is its rank, from 1."""
    rows = [(rank, int(count)) for rank, count in enumerate(counts[: k_bar + 1].tolist(), start=1) if count > 0]
    return Histogram.from_ranked(rows, k_bar)


def count_histogram(counts: Counts) -> Histogram:
    """Histogram of a public list of all items: the number of items with each count."""
    values, sizes = np.unique(counts, return_counts=True)
    return Histogram.from_multiplicities(dict(zip(values.tolist(), sizes.tolist(), strict=True)))


def _points(text: str) -> tuple[tuple[float, int], ...]:
    """Parse percentiles, in ascending order; raises ParameterError where they are malformed."""
    points = []
    for part in text.split(","):
        percentage, colon, count = part.partition(":")
        if not colon:
            raise ParameterError(f"percentiles are written PERCENT:COUNT,PERCENT:COUNT,…; {part!r} is not such a pair")
        share = exact_number(percentage, "a percentage")
        if not 0 <= share <= 100:
            raise ParameterError(f"a percentage lies between 0 and 100, not {percentage!r}")
        points.append((float(share), math.floor(positive_number(count, "a count"))))
    points.sort()
    if any(low[0] == high[0] or low[1] > high[1] for low, high in pairwise(points)):
        raise ParameterError("counts must grow with their percentages, and no percentage may be given twice")
    if points[-1][0] != 100:
        raise ParameterError("give the largest count too, as percentile 100 (for example 100:2931): it matters most")
    return tuple(points)
