"""Joint exponential mechanism: one draw among all ordered k-lists of a public list, scored by their worst position.

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

from crestline.exact_fields import Number, Whole, field, value
from crestline.exact_numbers import non_negative_number, positive_number, whole_number
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.count_levels import PerHistogramCache, count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.public_list.joint_draw import draw_sequences
from crestline.mechanisms.public_list.joint_values import SequenceValues, log_sequences, sequence_values
from crestline.mechanisms.selection import Selection, select_ranks, select_rows
from crestline.mechanisms.slot_checks import ordered_choices, unit_rate
from crestline.randomness.entropy import Entropy

_VALUES = PerHistogramCache[SequenceValues]()


@value
class JointExponential(BuiltIn):
    """Draws one ordered list of k items of a public list, by the largest shortfall of its positions. A baseline.

    Attributes:
        k: Items wanted.
        epsilon: ε for the whole selection.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P14.4"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance within a total; all of δ is slack.

        `k_bar` and `contribution` have no effect, since the whole list is read and every count may move.
        """
        return cls(total.k, per_step_epsilon(1, total.epsilon, total.delta), slack=total.delta)

    def cost(self) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem=self.theorem))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = count_levels(histogram)
        many, rate = min(self.k, items.items), self._rate(histogram)
        if not many:
            return [self._selection(histogram, [])] * n
        values: SequenceValues = _VALUES.get(histogram, (many, rate), lambda: sequence_values(items, many, rate))
        return select_rows(draw_sequences(values, n, entropy), lambda row: self._selection(histogram, row))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every list, for small histograms."""
        counts = count_levels(histogram).all_counts()
        many = min(self.k, len(counts))
        if not many:
            return {self._selection(histogram, []): 1.0}
        orders = np.array(list(ordered_choices(range(len(counts)), many)), dtype=np.int64)
        short = (counts[:many] - counts[orders]).max(axis=1)
        weights = np.exp(-float(self._rate(histogram)) * short)
        chances = (weights / weights.sum()).tolist()
        pairs = zip(orders.tolist(), chances, strict=True)
        return {self._selection(histogram, row): chance for row, chance in pairs}

    def shortfall(self, items: int, beta: float = 0.05) -> float:
        """Bound on the users by which a returned item is below the item of its true rank, with probability 1 - beta."""
        lists = log_sequences(items, min(self.k, items))
        return 2 * (lists - math.log(beta)) / float(self.epsilon)

    def _rate(self, histogram: Histogram) -> Fraction:
        return unit_rate(self.epsilon / 2, histogram)  # one user moves the score by one, up or down

    def _selection(self, histogram: Histogram, ranks: list[int]) -> Selection:
        return select_ranks(histogram, ranks, self.k, ordered=True)
