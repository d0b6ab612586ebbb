"""The private choice of k_bar (P3.5) as printed: Gumbel noise is added where it must be subtracted (E-A7)."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.audit.broken.drawing import Batched, gumbel

import crestline as cl


class AddedGumbel(Batched):
    """The choice alone, which is meant to be one bounded-range step."""

    k, k_bar = 1, 6
    epsilon = 1.0

    def guarantee(self) -> Any:
        return cl.BoundedRange(self.epsilon)

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        counts = np.append(histogram.array[1:], histogram.next_count)
        costs = counts + np.log(np.arange(1, self.k_bar + 1)) / self.epsilon
        chosen = np.argmin(costs + gumbel(entropy, n, self.k_bar) / self.epsilon, axis=1)
        return [int(place) + 1 for place in chosen]


class SubtractedGumbel(AddedGumbel):
    """Nothing is broken here."""

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        counts = np.append(histogram.array[1:], histogram.next_count)
        costs = counts + np.log(np.arange(1, self.k_bar + 1)) / self.epsilon
        chosen = np.argmin(costs - gumbel(entropy, n, self.k_bar) / self.epsilon, axis=1)
        return [int(place) + 1 for place in chosen]
