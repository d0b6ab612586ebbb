"""Restricted canonical: one of all k-subsets of the slots, by its largest error, tested in uniformly random order.

Seed        ShekelyanLoukides2022, Algorithm 1, corrected, inside the framework (P9.2)
Guarantee   (ε + ε_R, δ_R); ε' by composition of one bounded-range step and the test when there is slack (P5.1, P9.2)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: rational ε and γ, class sizes as whole numbers, ideal keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_canonical.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Self, Unpack

from crestline.exact_fields import ConvertedField, Number, Whole, field, value
from crestline.exact_numbers import Exact, non_negative_number, positive_number, proportion
from crestline.guarantees.cost import Cost
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.framework.framework import Framework, SlotLaw, check_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, JointTest
from crestline.mechanisms.framework.testing_order import order_law, orders_to_test
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.slot_checks import Slots, check_k, check_k_bar
from crestline.randomness.entropy import Entropy

_MOST = 81  # the choice gets at most nine tenths
_BETA = 0.025  # half of the default failure probability of `margin_for_all`
_SHARES = 1000  # denominator of a share
_SLOTS = 4  # for each item wanted; the noise grows with the number of subsets


@value
class RestrictedCanonical(Framework):
    """Chooses one set of k slots, then names all of them or none, by the joint test.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for the whole choice.
        gamma: Weight of the lowest count taken against the largest left out, from 0 to 1.
        test: Test that the chosen items must pass.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(check_k)
    k_bar: Whole = field(check_k_bar)
    epsilon: Number = field(positive_number)
    gamma: Number = field(proportion)
    test: ConvertedField[GapTest, GapTest] = field(check_test)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P5.1, P9.2"

    @classmethod
    def for_budget(cls, *, gamma: Exact = Fraction(1, 2), **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta), with the joint test.

        Args:
            gamma: Weight of the lowest count taken against the largest left out.
            **total: `k`, `epsilon`, `delta`, `k_bar`; `contribution` has no effect.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), gamma=gamma)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, gamma: Exact = Fraction(1, 2)) -> Self:
        """The instance with the joint test, and four slots for each item wanted unless `k_bar` is given.

        A set is chosen as one, so it is tested as one. The split makes `margin_for_all()` smallest: a choice at ε = 1
        that falls short by A users and a test at ε = 1 that needs a gap of B cost `A/(1 - s) + B/s` together, which is
        least at `s = √B/(√A + √B)`. A contribution bound has no effect.
        """
        delta_failure, _ = total.split_delta()
        slots = total.slots(_SLOTS)
        unit = cls(total.k, slots, 1, gamma, JointTest(1, delta_failure))
        gap = math.sqrt(max(0.0, unit.test.margin_for_all(total.k, 1 - _BETA) - 1))  # a large δ needs no gap at all
        fall = math.sqrt(min(unit.shortfall(_BETA), _MOST * gap**2))  # γ = 0 has no bound: the choice gets the most
        parts = round(_SHARES * gap / (gap + fall)) if gap else 0
        share = Fraction(min(max(parts, 1), _SHARES - 1), _SHARES)  # choice and test both need some of ε
        test = JointTest(total.epsilon * share, delta_failure)
        return cls(total.k, slots, total.epsilon * (1 - share), gamma, test)

    def cost(self) -> Cost:
        return self._canonical.cost() + self.test.cost()

    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        drawn = self._canonical.release_many(view, trials, entropy)
        return orders_to_test(drawn, [_slot_names(view)] * trials, entropy)

    def slot_law(self, view: Histogram) -> SlotLaw:
        return order_law(self._canonical.law(view), _slot_names(view))

    def margin_for_all(self, chance: float = 0.95) -> float:
        """Users by which the k-th count must exceed the next for all k items to be named with probability `chance`."""
        half = (1 - chance) / 2  # half of the failure probability for the choice, half for the test
        return self.shortfall(half) + self.test.margin_for_all(self.k, 1 - half)

    def shortfall(self, beta: float = 0.05) -> float:
        """Bound on the users by which a chosen item is below the true k-th count, with probability 1 - beta (P8.2).

        Infinite for γ = 0.
        """
        return self._canonical.lowest_shortfall(self.k_bar, beta)

    @property
    def _canonical(self) -> Canonical:
        return Canonical(self.k, self.epsilon, self.gamma)


def _slot_names(view: Histogram) -> dict[int, int]:
    """The number of each slot by the name that the inner mechanism gives it, which is the same number."""
    return {slot: slot for slot in range(view.k_bar)}
