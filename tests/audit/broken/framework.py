"""Select, then test (P5.1), broken in five ways."""

from __future__ import annotations

import math
from typing import Any

from tests.audit.broken.drawing import Batched, gumbel, laplace, ranked

import crestline as cl
from crestline.histogram.label_order import Padding
from crestline.mechanisms.selection import Selection, select_list


class _SelectAndTest(Batched):
    """Gumbel selection and the Laplace test (P5.2)."""

    k = k_bar = 2
    epsilon, epsilon_test, delta = 0.5, 1.0, 0.01

    def guarantee(self) -> Any:
        return cl.ApproxDP(self.k * self.epsilon + self.epsilon_test, self.delta)

    def threshold(self) -> float:
        """`e^-t (2 + t)/4 = δ`, by bisection."""
        low, high = 0.0, 60.0
        for _ in range(80):
            t = (low + high) / 2
            low, high = (t, high) if math.exp(-t) * (2 + t) / 4 > self.delta else (low, t)
        return 2 * high / self.epsilon_test

    def slots(self, histogram: Any) -> list[int]:
        return list(range(histogram.k_bar))

    def order(self, histogram: Any, chosen: list[int]) -> list[int]:
        return chosen

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        slots = self.slots(histogram)
        if not slots:
            return [Selection((), True)] * n
        chosen = ranked(self.epsilon * histogram.array[slots] + gumbel(entropy, n, len(slots)))[:, : self.k]
        noise = laplace(entropy, n, self.k + 1) * 2 / self.epsilon_test
        bar = histogram.next_count + 1 + self.threshold()
        result = []
        for row, bent in zip(chosen.tolist(), noise.tolist(), strict=True):
            kept = []
            for place, slot in enumerate(self.order(histogram, [slots[column] for column in row])):
                if histogram.counts[slot] + bent[place + 1] <= bar + bent[0]:
                    break
                kept.append(histogram.items[slot])
            result.append(self.said(kept, len(row)))
        return result

    def said(self, kept: list[Any], tested: int) -> Any:
        return select_list(kept, self.k)


class CorrectFramework(_SelectAndTest):
    """Nothing is broken here."""


class AlphabeticalTest(_SelectAndTest):
    """The chosen items are tested in the order of their names (P1.6 b)."""

    delta = 0.001

    def order(self, histogram: Any, chosen: list[int]) -> list[int]:
        return sorted(chosen, key=lambda slot: str(histogram.items[slot]))


class TrueOrderTest(_SelectAndTest):
    """The chosen items are tested in the order of their true counts, which is printed with them (P1.6 e)."""

    epsilon, epsilon_test, delta = 0.1, 1.0, 0.001

    def order(self, histogram: Any, chosen: list[int]) -> list[int]:
        return sorted(chosen)


class NoPadding(_SelectAndTest):
    """Only rows that exist take part (P1.6 c); `stopped` says that a test failed."""

    def slots(self, histogram: Any) -> list[int]:
        return [slot for slot in range(histogram.k_bar) if not isinstance(histogram.items[slot], Padding)]

    def said(self, kept: list[Any], tested: int) -> Any:
        return Selection(tuple(kept), len(kept) < tested)


class LabelDependent(_SelectAndTest):
    """A black box that looks at names: `z` is printed when `u` takes part (P1.6 a)."""

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        return [Selection(("z",) if "u" in histogram.items else (), False)] * n
