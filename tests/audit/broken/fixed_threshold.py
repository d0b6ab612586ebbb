"""The fixed threshold (P7.1) with the condition as printed: only items above the noisy bar's centre (E-A11)."""

from __future__ import annotations

import math
from typing import Any

from tests.audit.broken.drawing import Batched, laplace

import crestline as cl
from crestline.mechanisms.selection import select_set


class PrintedCondition(Batched):
    k = k_bar = 2
    epsilon, delta = 0.5, 0.05

    def guarantee(self) -> Any:
        return cl.ApproxDP(self.k * self.epsilon, self.k * self.delta)

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        bar = histogram.next_count + 1 + math.log(1 / (2 * self.delta)) / self.epsilon
        above = histogram.array + laplace(entropy, n, self.k) / self.epsilon > bar
        shown = [slot for slot in range(self.k) if histogram.counts[slot] > bar]
        return [select_set([histogram.items[slot] for slot in shown if row[slot]], self.k) for row in above.tolist()]
