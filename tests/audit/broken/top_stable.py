"""The stable top-i set (P6.1): tested one position off, and with half the noise in its sparse vector."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.audit.broken.drawing import Batched, laplace

import crestline as cl
from crestline.mechanisms.selection import select_set


class _Stable(Batched):
    k = k_bar = 3
    epsilon, share, delta = 1.0, 0.37, 0.02
    reach = 2.0  # the tests' noise is Lap(reach/ε₂)

    def guarantee(self) -> Any:
        return cl.ApproxDP(self.epsilon, self.delta)

    def threshold(self, a: float, b: float) -> float:
        """The two-rate tail of P2.3 is δ/k_bar, by bisection."""
        low, high = 0.0, 1000.0
        for _ in range(80):
            t = (low + high) / 2
            tail = (b * b * math.exp(-a * t) - a * a * math.exp(-b * t)) / (2 * (b * b - a * a))
            low, high = (t, high) if tail > self.delta / self.k_bar else (low, t)
        return high

    def gaps(self, histogram: Any) -> list[int]:
        """`q_i = h_(i) - h_(i+1) - 1` for i = k_bar, …, 1."""
        counts = [*histogram.counts, histogram.next_count]
        return [counts[i - 1] - counts[i] - 1 for i in range(self.k_bar, 0, -1)]

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        first, rest = self.share * self.epsilon, (1 - self.share) * self.epsilon
        bar = self.threshold(rest / 2, first) + laplace(entropy, n, 1) / first
        passed = np.array(self.gaps(histogram)) + laplace(entropy, n, self.k_bar) * self.reach / rest > bar
        sizes = [self.k_bar - row.index(True) if True in row else 0 for row in passed.tolist()]
        return [select_set(histogram.items[:size], self.k) for size in sizes]


class CorrectStable(_Stable):
    """Nothing is broken here."""


class OnePositionOff(_Stable):
    """`counts[i] - counts[i + 1]` on a list that starts at 0: the gap after the next item is tested."""

    def gaps(self, histogram: Any) -> list[int]:
        counts = [*histogram.counts, histogram.next_count, 0]
        return [counts[i] - counts[i + 1] - 1 for i in range(self.k_bar, 0, -1)]


class HalfReach(_Stable):
    """The tests' noise is Lap(1/ε₂), as if all gaps moved in one direction (P2.5)."""

    k = k_bar = 5
    epsilon, share, delta = 2.0, 0.2, 0.001
    reach = 1.0


class NoNextCount(_Stable):
    """Only k_bar counts are looked at, and what follows is taken for zero (E-B5)."""

    def gaps(self, histogram: Any) -> list[int]:
        counts = [*histogram.counts, 0]
        return [counts[i - 1] - counts[i] - 1 for i in range(self.k_bar, 0, -1)]
