"""Exact law of tests that share one noisy threshold, by quadrature over its noise (P2.3, P5.6).

Given the threshold's noise the tests are independent, so the probability that several items pass is one integral of a
product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.randomness.unit_points import Floats


@dataclass(frozen=True)
class SharedThreshold:
    """`chance[slot, node]` to pass, given the threshold's noise at a node, which has the weight `weight[node]`."""

    chance: Floats
    weight: Floats

    def lengths(self, orders: NDArray[np.int64]) -> Floats:
        """Probabilities that 0, 1, … slots pass, for each row of slots tested in order until the first failure."""
        rows, k = orders.shape
        reached = np.ones((rows, k + 2))
        running = np.broadcast_to(self.weight, (rows, len(self.weight)))
        for place in range(k):
            running = running * self.chance[orders[:, place]]
            reached[:, place + 1] = running.sum(axis=1)
        reached[:, k + 1] = 0.0
        return reached[:, :-1] - reached[:, 1:]
