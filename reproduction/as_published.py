"""What the authors' programs do, where that is not what their papers say. For comparison only: one is not private.

Read from the printed programs of [TS] and [FW] and written anew. Three things matter for the numbers:

StableAsCoded    tests the gap after the next element: on success at i it returns i items, having looked at the gap
                 between ranks i + 1 and i + 2. The set it returns need not be stable, so this is not private.
LimitedAsCoded   weighs the candidates for k_bar by exp(+ε · threshold), so the largest threshold is the likeliest (an
                 argmin was meant); and gives all of δ to ⊥ after half of it went to composition (1.5 δ in all).
per_step_scan    raises the ε of a step from ε/k in steps of 0.0001 until the bound exceeds the total (E-C11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.selection import Selection
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.entropy import Entropy

Floats = NDArray[np.float64]
Bound = Callable[[int, float, float], float]
_SCAN = 1e-4
_THRESHOLD_SHARE = 0.37


def durfee_rogers(k: int, epsilon: float, slack: float) -> float:
    """The bound in [TS]: the least of basic, advanced and bounded-range composition ([DR] Lemma 4.4)."""
    log = math.log(1 / slack)
    advanced = k * epsilon * math.tanh(epsilon / 2) + epsilon * math.sqrt(2 * k * log)
    return min(k * epsilon, advanced, k * epsilon**2 / 2 + epsilon * math.sqrt(k * log / 2))  # B1, B2


def dong_durfee_rogers(k: int, epsilon: float, slack: float) -> float:
    """The bound in [FW], Equation 12 (B1, B3)."""
    ratio = epsilon / -math.expm1(-epsilon)
    mean = ratio - 1 - math.log(ratio)
    return min(k * epsilon, k * mean + epsilon * math.sqrt(k * math.log(1 / slack) / 2))


def per_step_scan(bound: Bound, k: int, epsilon: float, slack: float) -> float:
    """The last ε on the authors' grid whose total is within the budget."""
    steps = 0
    while bound(k, epsilon / k + (steps + 1) * _SCAN, slack) <= epsilon:
        steps += 1
    return epsilon / k + steps * _SCAN


@dataclass(frozen=True)
class StableAsCoded:
    """TS as its authors ran it: k_bar = k, a gap one position off. Not private."""

    k: int
    epsilon: float
    delta: float

    @property
    def k_bar(self) -> int:
        """Slots it looks at: the gap behind rank k + 1 is part of its answer."""
        return self.k + 1

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        noise = _noise(entropy)
        first, second = _THRESHOLD_SHARE * self.epsilon, (1 - _THRESHOLD_SHARE) * self.epsilon
        height = math.log(1 / self._query_delta(2 * first / second)) * 2 / second
        ranked = np.append(histogram.array, histogram.next_count or 0)
        tested = np.arange(self.k, 0, -1)
        gaps = np.maximum(ranked[tested] - ranked[tested + 1] - 1, 0)
        sizes = np.append(tested, 0)
        choices = [Selection(tuple(histogram.items[:size]), size < self.k) for size in range(self.k + 1)]
        result: list[Selection] = []
        for trials in batch_sizes(n, self.k):
            line = height + noise.laplace(0, 1 / first, (trials, 1))
            passed = gaps + noise.laplace(0, 2 / second, (trials, self.k)) > line
            place = np.where(passed.any(axis=1), passed.argmax(axis=1), self.k)
            result += [choices[size] for size in sizes[place].tolist()]
        return result

    def _query_delta(self, c: float) -> float:
        """Shrunk by steps of one per cent until their bound (Lemma 3.1 of [TS]) for all k tests is within δ."""
        one = self.delta
        while self.k * (2 * one**c + one - c * (one**c + 2 * one)) / (4 - 4 * c) > self.delta:
            one *= 0.99
        return one


@dataclass(frozen=True)
class LimitedAsCoded:
    """LimitedDomain as the authors of [TS] ran it: k_bar drawn from k to 5k - 1, by weights that favour the worst."""

    k: int
    epsilon: float
    delta: float

    @property
    def k_bar(self) -> int:
        return 5 * self.k - 1

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        noise = _noise(entropy)
        step = per_step_scan(durfee_rogers, self.k + 1, self.epsilon, self.delta / 2)
        ranked = np.append(histogram.array, histogram.next_count or 0).astype(np.float64)
        slots = np.arange(self.k, 5 * self.k)
        weights = _normalised(step * ranked[slots - 1] + np.log(slots))
        result: list[Selection] = []
        for trials in batch_sizes(n, self.k_bar):
            k_bar = noise.choice(slots, trials, p=weights)
            keys = ranked[:-1] + noise.gumbel(0, 1 / step, (trials, self.k_bar))
            bottom = ranked[k_bar] + 1 + np.log(k_bar / self.delta) / step + noise.gumbel(0, 1 / step, trials)
            keys[(np.arange(self.k_bar) >= k_bar[:, None]) | (keys <= bottom[:, None])] = -np.inf
            order = np.argsort(-keys, axis=1)[:, : self.k]
            named = np.isfinite(np.take_along_axis(keys, order, axis=1)).sum(axis=1)
            rows = zip(order.tolist(), named.tolist(), strict=True)
            result += [Selection(histogram.names(row[:many]), many < self.k) for row, many in rows]
        return result


def _normalised(logarithms: Floats) -> Floats:
    weights = np.exp(logarithms - logarithms.max())
    total: Floats = weights / weights.sum()
    return total


def _noise(entropy: Entropy) -> np.random.Generator:
    """Doubles are good enough to repeat what was printed; the mechanisms of crestline draw exactly."""
    return np.random.default_rng(entropy.words(4).tolist())
