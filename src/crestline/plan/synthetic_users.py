"""Synthetic users of a public shape, for mechanisms that view pairs or all observed items.

A shape has the number of users of each item, not who they are: each item's users are drawn evenly. So users are more
alike than in most data, and mechanisms that view pairs do a little better here than on real data.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.histogram.observed_items import ObservedItems
from crestline.histogram.relation import Relation
from crestline.histogram.view_kinds import View

MOST_PAIRS = 1_000_000
"""Pairs above this number are not simulated, since that would take too long."""

_SEED = 1


class SyntheticUsers:
    """Users who have items with these `counts`, by rank; the label of an item is its rank, from 1."""

    def __init__(self, counts: NDArray[np.int64], users: int) -> None:
        self._counts, self._users = counts[counts > 0], users

    def view_data(self, view: View) -> Histogram | None:
        """The view of these users that a mechanism needs; None where it has too many pairs or several weights."""
        if view.kind == "observed":
            return self._observed_items if len(set(view.weights)) == 1 else None
        return cast(Histogram, self._pairs) if self._counts.sum() <= MOST_PAIRS else None

    @cached_property
    def true_histogram(self) -> Histogram:
        """Every item with its count."""
        rows = list(enumerate(self._counts.tolist(), start=1))
        return Histogram.from_ranked(rows, max(1, len(rows)))

    @cached_property
    def _observed_items(self) -> ObservedItems:
        """Every item with its count, as a view of all observed items."""
        return ObservedItems.from_scores(dict(enumerate(self._counts.tolist(), start=1)))

    @cached_property
    def _pairs(self) -> Relation:
        """Distinct (user, item) pairs: each item's users lie on a circle of all users at steps of one random stride."""
        random = np.random.default_rng(_SEED)
        strides = [stride for stride in random.integers(1, self._users + 1, 400) if math.gcd(stride, self._users) == 1]
        starts = random.integers(0, self._users, len(self._counts))
        chosen = random.choice(np.array([1, *strides]), len(self._counts))
        users = [
            (start + stride * np.arange(min(count, self._users))) % self._users
            for start, stride, count in zip(starts, chosen, self._counts.tolist(), strict=True)
        ]
        items = np.repeat(np.arange(len(users)), [len(mine) for mine in users])
        together = np.concatenate(users) if users else np.zeros(0, dtype=np.int64)
        return Relation(together.astype(np.int64), items, range(1, len(users) + 1))
