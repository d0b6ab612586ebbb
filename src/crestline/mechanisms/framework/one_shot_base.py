"""Base class of framework mechanisms that choose by noise: the k largest noisy counts of the slots, in noisy order."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np

from crestline.exact_fields import Whole, field, value
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.framework.framework import Framework, SlotLaw
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.selection import Selection, select_table_rows
from crestline.mechanisms.slot_checks import (
    CountsWithUnit,
    Slots,
    check_k,
    check_k_bar,
    check_table,
    ordered_choices,
    split_table,
)
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import LinearScores
from crestline.randomness.unit_points import Floats


@value
class OneShotBase(Framework):
    """Adds independent noise of one law to every count: equivariant (P1.5), and the order is the noisy one."""

    k: Whole = field(check_k)
    k_bar: Whole = field(check_k_bar)

    noise: ClassVar[Law]

    @property
    def scale(self) -> Fraction:
        """Factor of the noise."""
        return Fraction(1)

    @abstractmethod
    def scores(self, view: CountsWithUnit) -> LinearScores:
        """Scores that the noise is added to, one for each slot."""

    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        table = build_keys(self.scores(view), self.noise, entropy.uniforms(trials, view.k_bar), scale=self.scale)
        return largest_columns(table, min(self.k, view.k_bar)), np.full(trials, self.k)

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        check_table(table, self.k_bar)
        result: list[Selection] = []
        for part in split_table(table):
            uniforms = entropy.uniforms(len(part), self.k_bar)
            order = largest_columns(build_keys(self.scores(part), self.noise, uniforms, scale=self.scale), self.k)
            gaps = np.take_along_axis(part.relative_counts, order, axis=1) - part.unit
            passed = self.test.count_passes(gaps, part.unit, entropy)
            result += select_table_rows(part, np.where(np.arange(self.k) < passed[:, None], order, self.k_bar), self.k)
        return result

    def slot_law(self, view: Histogram) -> SlotLaw:
        orders = np.array(list(ordered_choices(range(view.k_bar), min(self.k, view.k_bar))), dtype=np.int64)
        return SlotLaw(orders, np.full(len(orders), self.k), self.order_chances(self.scores(view).approx, orders))

    def order_chances(self, scores: Floats, orders: Slots) -> Floats:
        """Probability of each given order of slots."""
        return order_chances(scores, self.noise, orders, float(self.scale))

    def margin_for_all(self, chance: float = 0.95) -> float:
        """Users by which all slots must exceed the next count for all k to be named with this probability (P5.6)."""
        return self.test.margin_for_all(self.k, chance)
