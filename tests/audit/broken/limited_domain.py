"""Limited domain (P3.1), broken in six ways."""

from __future__ import annotations

import math
from typing import Any
from zlib import crc32

import numpy as np
from tests.audit.broken.drawing import Batched, Table, gumbel, laplace, ranked

import crestline as cl
from crestline.mechanisms.selection import select_list


class _Peeling(Batched):
    """The correct algorithm; what is broken is said below."""

    k, k_bar, epsilon, delta = 1, 3, 1.0, 0.02
    contribution: int | None = None

    def guarantee(self) -> Any:
        return cl.ApproxDP(self.k * self.epsilon, self.delta)

    def bottom(self, histogram: Any) -> float:
        return self.epsilon * (histogram.next_count + 1) + math.log(self.k_bar / self.delta)

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return gumbel(entropy, n, columns)

    def slots(self, histogram: Any) -> list[int]:
        return list(range(self.k_bar))

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        slots = self.slots(histogram)
        scores = np.append(self.epsilon * histogram.array[slots], self.bottom(histogram))
        names = [histogram.items[slot] for slot in slots]
        order = ranked(scores + self.noise(entropy, n, len(scores)))[:, : self.k]
        return [self._until_bottom(row, names) for row in order.tolist()]

    def _until_bottom(self, row: list[int], names: list[Any]) -> Any:
        stop = row.index(len(names)) if len(names) in row else len(row)
        return select_list([names[column] for column in row[:stop]], self.k)


class Correct(_Peeling):
    """Nothing is broken here: the auditor must stay silent."""


class NoPlusOne(_Peeling):
    """The threshold lacks its + 1: an item of one user is named e^ε times too often."""

    def bottom(self, histogram: Any) -> float:
        return super().bottom(histogram) - self.epsilon


class HalvedNoise(_Peeling):
    """Half the noise."""

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return gumbel(entropy, n, columns) / 2


class ChargedOnce(_Peeling):
    """Four items are drawn with ε each, and ε is claimed for them all (E-B6)."""

    k = k_bar = 4

    def guarantee(self) -> Any:
        return cl.ApproxDP(self.epsilon, self.delta)


class PrintedThreshold(_Peeling):
    """Laplace noise with the threshold as printed, `ln(Δ/ε)` for `ln(Δ/δ)/ε` (E-A2)."""

    contribution = 1

    def bottom(self, histogram: Any) -> float:
        return self.epsilon * (histogram.next_count + 1 + math.log(1 / self.epsilon))

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return laplace(entropy, n, columns)


class StrictWithContribution(_Peeling):
    """Only items above the next count, and still ln(Δ/δ): three items can vanish at once (P1.6 d)."""

    contribution = 1
    delta = 0.05

    def slots(self, histogram: Any) -> list[int]:
        return [slot for slot in range(self.k_bar) if histogram.array[slot] > histogram.next_count]

    def bottom(self, histogram: Any) -> float:
        return self.epsilon * (histogram.next_count + 1) + math.log(1 / self.delta)


class UnstableOrder(_Peeling):
    """Ties are ranked as they come, not by a fixed order, and still ln(Δ/δ): one user swaps many items (P1.1 b)."""

    k_bar = 8
    slots_kept = 4
    contribution = 1
    delta = 0.05

    def slots(self, histogram: Any) -> list[int]:
        table = repr((histogram.counts, histogram.items))  # a hash table's order depends on everything in it
        order = sorted(range(self.k_bar), key=lambda slot: (-histogram.counts[slot], crc32(f"{slot}{table}".encode())))
        return order[: self.slots_kept]

    def bottom(self, histogram: Any) -> float:
        left_out = sorted(histogram.counts, reverse=True)[self.slots_kept]
        return self.epsilon * (left_out + 1) + math.log(1 / self.delta)
