"""Restricted Gumbel: peel the k largest Gumbel keys of the slots, then test them in that order.

Seed        CarvalhoWang, RestrictedGumbel, in the corrected framework (E-C1 to E-C3, E-C9)
Guarantee   (ε', δ_R + slack), ε' by composition of k bounded-range steps and the test (P5.1, P5.4)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational ε, ideal Gumbel keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_gumbel.md
"""

from __future__ import annotations

from typing import Self

import numpy as np

from crestline.errors import ParameterError
from crestline.exact_fields import ConvertedField, Flag, Number, field, to_bool, value
from crestline.exact_numbers import non_negative_number, positive_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.mechanisms.framework.framework import check_test, selections_of_slots, slot_view
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.gap_tests.sparse import SparseTest
from crestline.mechanisms.framework.one_shot_base import OneShotBase
from crestline.mechanisms.framework.split.fit import SLOTS, fit_gumbel
from crestline.mechanisms.numerics.order_law import peeling_chances
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import NO_SLOT, CountsWithUnit, Slots, unit_rate
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold, largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import LinearScores
from crestline.randomness.unit_points import Floats


@value
class RestrictedGumbel(OneShotBase):
    """Chooses k slots by Gumbel noise, then names those that pass the test.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for each drawn item.
        test: Test that decides how many of the chosen items are named.
        lazy: Whether to draw one item at a time and stop at the first that fails: the same law, and only drawn items
            are paid for.
        slack: Failure probability of the accountant.
    """

    epsilon: Number = field(positive_number)
    test: ConvertedField[GapTest, GapTest] = field(check_test)
    lazy: Flag = field(to_bool, default=False, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    noise = GUMBEL
    theorem = "P5.1, P5.4"

    def __post_init__(self) -> None:
        if self.lazy and not isinstance(self.test, SparseTest):
            raise ParameterError("lazy needs a test of one item at a time: LaplaceTest or ExponentialTest")
        super().__post_init__()

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance with the one-sided test, and ten slots for each item wanted unless `k_bar` is given.

        The split names most items on a public reference (split/split.py). A contribution bound has no effect.
        """
        delta, _ = total.split_delta()
        slots = total.slots(SLOTS)
        parts = fit_gumbel(total.k, slots, total.epsilon, delta)
        return cls(total.k, slots, parts.size, parts.test, slack=parts.slack)

    def cost(self) -> Cost:
        return self._cost_of_items(self.k)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of all k items; if lazy, of the drawn items, which include the one that failed (P5.4, U6)."""
        return self._cost_of_items(min(self.k, len(selection) + selection.stopped)) if self.lazy else self.cost()

    def scores(self, view: CountsWithUnit) -> LinearScores:
        return LinearScores(view.array, unit_rate(self.epsilon, view))

    def order_chances(self, scores: Floats, orders: Slots) -> Floats:
        return peeling_chances(scores, orders)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        if not self.lazy:
            return super().release_many(histogram, n, entropy)
        view = slot_view(histogram, self.k_bar)
        result: list[Selection] = []
        for trials in batch_sizes(n, histogram.k_bar):
            result += self._release_lazily(histogram, view, trials, entropy)
        return result

    def _release_lazily(self, histogram: Histogram, view: Histogram, trials: int, entropy: Entropy) -> list[Selection]:
        """Draw, test, stop: at most one item is drawn that will not be named."""
        slots, rows, scores = view.k_bar, np.arange(trials), self.scores(view)
        passes = _LazyTest(self.test, histogram, trials, entropy)
        empty = np.array([isinstance(histogram.name(slot), Padding) for slot in range(slots)])
        drawn_before = np.zeros((trials, slots), dtype=np.bool_)
        chosen = np.full((trials, min(self.k, slots)), NO_SLOT, dtype=np.int64)
        running = np.ones(trials, dtype=np.bool_)
        for place in range(chosen.shape[1]):
            # Fresh keys for all slots; the largest of those not drawn before is among the first `place + 1`.
            order = largest_columns(build_keys(scores, GUMBEL, entropy.uniforms(trials, slots)), place + 1)
            drawn = order[rows, np.argmin(drawn_before[rows[:, None], order], axis=1)]
            running &= passes.test_next(drawn) & ~empty[drawn]
            chosen[running, place] = drawn[running]
            if not running.any():
                break
            drawn_before[rows, drawn] = True
        return selections_of_slots(histogram, chosen, (chosen != NO_SLOT).sum(axis=1), np.full(trials, self.k))

    def _cost_of_items(self, items: int) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem="P2.1"), items) + self.test.cost()


class _LazyTest:
    """Test of one item at a time: the threshold's noise is drawn once, an item's when it is tested."""

    def __init__(self, test: GapTest, histogram: Histogram, trials: int, entropy: Entropy) -> None:
        assert isinstance(test, SparseTest)  # the constructor checks it
        self._test, self._histogram, self._entropy = test, histogram, entropy
        self._trials = trials
        self._threshold = test.threshold(trials, entropy)

    def test_next(self, drawn: Slots) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the item drawn in each trial passes."""
        histogram = self._histogram
        if histogram.next_count is None:  # P0.8: nothing was left out
            return np.ones(self._trials, dtype=np.bool_)
        gaps = histogram.array[drawn] - np.int64(histogram.next_count) - histogram.unit
        return exceeds_threshold(
            self._test.noisy_gaps(gaps[:, None], histogram.unit, self._entropy), self._threshold
        ).ravel()
