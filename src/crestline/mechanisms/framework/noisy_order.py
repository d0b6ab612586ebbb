"""Framework mechanisms that choose by noise: the k largest of the slots' noisy counts, in their noisy order."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar

import numpy as np

from crestline.fields import Whole, field, value
from crestline.histogram.histogram import Histogram
from crestline.histogram.table import HistogramTable
from crestline.mechanisms.framework.framework import Framework, SlotLaw
from crestline.mechanisms.numerics.order_law import order_chances
from crestline.mechanisms.selection import Selection, table_selections
from crestline.mechanisms.slots import Counted, Slots, check_table, item_number, orderings, pieces, slot_number
from crestline.randomness.compare import largest
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import keys
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import Linear
from crestline.randomness.unit_points import Floats


@value
class OneShot(Framework):
    """Independent noise of one law on every count: equivariant (P1.5), and the order is the noisy one."""

    k: Whole = field(item_number)
    k_bar: Whole = field(slot_number)

    noise: ClassVar[Law]

    @property
    def scale(self) -> Fraction:
        """The factor that the noise is multiplied by."""
        return Fraction(1)

    @abstractmethod
    def scores(self, view: Counted) -> Linear:
        """The scores that the noise is added to, one for each slot."""

    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        table = keys(self.scores(view), self.noise, entropy.uniforms(trials, view.k_bar), scale=self.scale)
        return largest(table, min(self.k, view.k_bar)), np.full(trials, self.k)

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        check_table(table, self.k_bar)
        result: list[Selection] = []
        for part in pieces(table):
            uniforms = entropy.uniforms(len(part), self.k_bar)
            order = largest(keys(self.scores(part), self.noise, uniforms, scale=self.scale), self.k)
            gaps = np.take_along_axis(part.above, order, axis=1) - part.unit
            passed = self.test.passed(gaps, part.unit, entropy)
            result += table_selections(part, np.where(np.arange(self.k) < passed[:, None], order, self.k_bar), self.k)
        return result

    def slot_law(self, view: Histogram) -> SlotLaw:
        orders = np.array(list(orderings(range(view.k_bar), min(self.k, view.k_bar))), dtype=np.int64)
        return SlotLaw(orders, np.full(len(orders), self.k), self.order_chances(self.scores(view).approx, orders))

    def order_chances(self, scores: Floats, orders: Slots) -> Floats:
        """The probability of each given order of slots."""
        return order_chances(scores, self.noise, orders, float(self.scale))

    def margin_for_all(self, chance: float = 0.95) -> float:
        """All k are named with this chance when all slots exceed the next count by so many users (P5.6)."""
        return self.test.margin_for_all(self.k, chance)
