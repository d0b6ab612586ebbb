"""Base class of framework mechanisms: choose slots, test them in that order, name those that pass (P5.1).

A subclass defines how slots are chosen and the law of that choice. The choice must depend on the slots' counts alone
and treat slots equally (P1.5); the order is that of the choice, never that of labels or of true counts (P1.6).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from crestline.errors import MechanismError
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, margin
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.selection import Selection, select_list, select_rows
from crestline.mechanisms.slot_checks import NO_SLOT, Slots, check_slots
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.entropy import Entropy
from crestline.randomness.unit_points import Floats


@dataclass(frozen=True)
class SlotLaw:
    """Law of the chosen slots: their orders (`NO_SLOT` after the last), the numbers wanted, and the probabilities."""

    orders: Slots
    wanted: Slots
    chances: Floats


class Framework(BuiltIn):
    """Chooses among `k_bar` slots and tests the chosen ones; `test` decides how many of the chosen items are named."""

    k_bar: int
    test: GapTest

    theorem = "P5.1"

    @abstractmethod
    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        """Slots chosen in each trial, in order (`NO_SLOT` after the last), and the number wanted."""

    @abstractmethod
    def slot_law(self, view: Histogram) -> SlotLaw:
        """Law of `choose`, for small histograms."""

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        view = slot_view(histogram, self.k_bar)
        result: list[Selection] = []
        for trials in batch_sizes(n, histogram.k_bar):
            chosen, wanted = self.choose(view, trials, entropy)
            result += selections_of_slots(histogram, chosen, self._count_passes(histogram, chosen, entropy), wanted)
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms; ParameterError if there are too many outcomes."""
        given = self.slot_law(slot_view(histogram, self.k_bar))
        lengths = self._pass_count_law(histogram, given.orders)
        law: defaultdict[Selection, float] = defaultdict(float)
        orders, chances = given.orders.tolist(), lengths * given.chances[:, None]
        for order, wanted, row in zip(orders, given.wanted, chances, strict=True):
            labels = [histogram.name(slot) for slot in order if slot != NO_SLOT]
            for length, chance in enumerate(row.tolist()):
                if chance > 0:
                    law[select_list(labels[:length], int(wanted))] += chance
        return dict(law)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which a chosen item must exceed the first item left out to pass the test with this probability."""
        return margin(self.test, chance)

    def _count_passes(self, histogram: Histogram, chosen: Slots, entropy: Entropy) -> Slots:
        """Number of chosen slots that pass; all if nothing was left out that could be confused with them (P0.8)."""
        sizes: Slots = (chosen != NO_SLOT).sum(axis=1)
        if histogram.next_count is None or not sizes.any():
            return sizes
        gaps = histogram.array - np.int64(histogram.next_count) - histogram.unit
        # Slot 0 has the largest gap, so it may replace a slot that was not chosen: its passes are not counted there.
        return np.minimum(self.test.count_passes(gaps[np.maximum(chosen, 0)], histogram.unit, entropy), sizes)

    def _pass_count_law(self, histogram: Histogram, orders: Slots) -> Floats:
        """Probability of each number of passes, for every order of slots."""
        rows, width = orders.shape
        sizes = (orders != NO_SLOT).sum(axis=1)
        if histogram.next_count is None or not width:
            certain: Floats = np.eye(width + 1)[sizes]
            return certain
        gaps = (histogram.array - np.int64(histogram.next_count)) / histogram.unit - 1.0
        free = self.test.pass_count_law(gaps, np.maximum(orders, 0))
        capped = np.zeros((rows, width + 1))
        for length in range(width + 1):
            capped[np.arange(rows), np.minimum(length, sizes)] += free[:, length]
        return capped


def slot_view(histogram: Histogram, k_bar: int) -> Histogram:
    """The slots' counts without labels: slot `i` is named `i`, and nothing was left out (K1)."""
    check_slots(histogram, k_bar)
    size = histogram.k_bar
    return Histogram(range(size), histogram.array, None, domain_size=size, unit=histogram.unit)


def selections_of_slots(histogram: Histogram, chosen: Slots, passed: Slots, wanted: Slots) -> list[Selection]:
    """Labels of the slots that passed, cut at an empty slot; fewer than wanted is a stop."""
    width = chosen.shape[1]
    kept = np.where(np.arange(width) < passed[:, None], chosen, NO_SLOT)

    def make(row: list[int]) -> Selection:
        return select_list([histogram.name(slot) for slot in row[:-1] if slot != NO_SLOT], row[-1])

    return select_rows(np.column_stack([kept, wanted]).astype(np.int64), make)


def check_test(test: GapTest, name: str = "test") -> GapTest:
    """The test; raises MechanismError if it lacks a method of `GapTest`."""
    if not all(hasattr(test, name) for name in ("delta", "cost", "count_passes", "pass_count_law", "margin_for_all")):
        raise MechanismError("test must be a LaplaceTest, an ExponentialTest or a JointTest, or have their methods")
    return test
