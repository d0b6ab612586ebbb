"""Joint exponential mechanism: one draw among all ordered k-lists of a public list, scored by their worst place.

Seed        GillenwaterJosephMunozRibero2022, Algorithm 1
Guarantee   ε-DP; one step of ε-bounded range (P14.4)
Assumes     the list of items is public, every item listed or counted; a user moves each count by at most the step
Numerics    exact: rational ε, numbers of sequences as whole numbers, ideal Gumbel keys decided with certainty (P11)
Proof note  docs/proofs/joint_exponential.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Self

import numpy as np

from crestline.fields import Number, Whole, field, value
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.groups import Remembered, groups_of
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.public_list.joint_draw import sequences
from crestline.mechanisms.public_list.joint_values import Values, log_sequences, values_of
from crestline.mechanisms.selection import Selection, items_at, selections
from crestline.mechanisms.slots import orderings, unit_rate
from crestline.mechanisms.total import Total
from crestline.parameters import not_negative, positive, whole
from crestline.randomness.entropy import Entropy

_VALUES = Remembered[Values]()


@value
class JointExponential(BuiltIn):
    """Draws one list of k items of a public list, by how far its worst place falls short. A baseline.

    `epsilon` is for the whole selection.
    """

    k: Whole = field(whole)
    epsilon: Number = field(positive)
    slack: Number = field(not_negative, default=0, kw_only=True)

    theorem = "P14.4"

    @classmethod
    def fit(cls, total: Total) -> Self:
        """All of δ is slack.

        The whole public list is seen, and every count may move: `k_bar` and `contribution` change nothing.
        """
        return cls(total.k, per_step_epsilon(1, total.epsilon, total.delta), slack=total.delta)

    def cost(self) -> Cost:
        return steps(BoundedRange(self.epsilon, theorem=self.theorem))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = groups_of(histogram)
        many, rate = min(self.k, items.items), self._rate(histogram)
        if not many:
            return [self._selection(histogram, [])] * n
        values: Values = _VALUES.get(histogram, (many, rate), lambda: values_of(items, many, rate))
        return selections(sequences(values, n, entropy), lambda row: self._selection(histogram, row))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """The exact probability of every list, for small histograms."""
        counts = groups_of(histogram).listed()
        many = min(self.k, len(counts))
        if not many:
            return {self._selection(histogram, []): 1.0}
        orders = np.array(list(orderings(range(len(counts)), many)), dtype=np.int64)
        short = (counts[:many] - counts[orders]).max(axis=1)
        weights = np.exp(-float(self._rate(histogram)) * short)
        chances = (weights / weights.sum()).tolist()
        pairs = zip(orders.tolist(), chances, strict=True)
        return {self._selection(histogram, row): chance for row, chance in pairs}

    def shortfall(self, items: int, beta: float = 0.05) -> float:
        """With probability 1 - beta no returned item is this many users below the one that belongs at its place."""
        lists = log_sequences(items, min(self.k, items))
        return 2 * (lists - math.log(beta)) / float(self.epsilon)

    def _rate(self, histogram: Histogram) -> Fraction:
        return unit_rate(self.epsilon / 2, histogram)  # the score moves either way by one

    def _selection(self, histogram: Histogram, ranks: list[int]) -> Selection:
        return items_at(histogram, ranks, self.k, ordered=True)
