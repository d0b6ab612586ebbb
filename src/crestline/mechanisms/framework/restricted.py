"""The framework: any selection mechanism that meets the contract of P1.5, made safe for an unknown domain by a test.

Seed        CarvalhoWang, Algorithm 1 and Theorem 1, corrected (E-C1 to E-C5, E-C8)
Guarantee   (ε_M + ε_R, δ_M + δ_R), or tighter by composition of the mechanism's steps and the test's (P5.1)
Assumes     the black box keeps its promise for all count vectors whose entries rise together by at most one (K3)
Numerics    exact tests (P11); the black box is as exact as it is
Proof note  docs/proofs/restricted.md
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from crestline.errors import MechanismError
from crestline.exact_fields import ConvertedField, Number, Whole, field, value
from crestline.exact_numbers import non_negative_number, whole_number
from crestline.guarantees.cost import Cost
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.equivariance import check_equivariance, release_n
from crestline.mechanisms.framework.framework import Framework, SlotLaw, check_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.testing_order import order_law, orders_to_test
from crestline.mechanisms.mechanism import BuiltIn, Mechanism
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import Slots
from crestline.mechanisms.third_party import adopt_slot_mechanism, release_many_or_none
from crestline.randomness.entropy import Entropy
from crestline.randomness.sampling import draw_subsets


def _adopt_black_box(mechanism: Mechanism, name: str) -> BuiltIn:
    return adopt_slot_mechanism(mechanism, "the black box needs guarantee() and release(histogram, entropy)")


@value
class Restricted(Framework):
    """Lets a black box choose among slots without labels; the test decides which of them are named.

    The black box gets a `Histogram` of all `k_bar` slots, as over a public list: counts in descending order, and names
    that are numbers in random order, drawn anew for every release. It returns a `Selection`: a tuple is tested in that
    order, a frozenset in a uniformly random order. It is refused if its choice depends on names or on the order of
    equal counts.

    Attributes:
        mechanism: The black box: `guarantee()` and `release(histogram, entropy)`.
        k_bar: Slots that it sees.
        test: Test that decides how many of the chosen items are named.
        slack: Failure probability of the accountant.
    """

    mechanism: ConvertedField[Mechanism, BuiltIn] = field(_adopt_black_box)
    k_bar: Whole = field(whole_number)
    test: ConvertedField[GapTest, GapTest] = field(check_test)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    needs_a_part = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mechanism.cost()  # raises if it cannot be charged
        check_equivariance(self.mechanism, self.k_bar)

    @property
    def ordered(self) -> bool:
        """Whether the order of the black box carries information; a set is tested in random order."""
        return self.mechanism.ordered

    @classmethod
    def fit(cls, total: PrivacyTotal) -> NoReturn:
        """Raise MechanismError: the caller must supply the black box."""
        raise MechanismError("Restricted needs a black box of your own: pass Restricted(mechanism, k_bar, test)")

    def cost(self) -> Cost:
        return self.mechanism.cost() + self.test.cost()

    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        """Slots chosen in each trial. Trials made in one call of the black box share the random names of the slots."""
        calls = [trials] if release_many_or_none(self.mechanism) else [1] * trials
        drawn: list[Selection] = []
        slots: list[dict[int, int]] = []
        for many in calls:
            hidden, names = _hide_names(view, entropy)
            drawn += release_n(self.mechanism, hidden, many, entropy)
            slots += [names] * many
        return orders_to_test(drawn, slots, entropy)

    def slot_law(self, view: Histogram) -> SlotLaw:
        law = self.mechanism.law
        if law is None:
            raise MechanismError("the black box does not state its law: add law(histogram) to audit it exactly")
        return order_law(law(view), {slot: slot for slot in range(view.k_bar)})


def _hide_names(view: Histogram, entropy: Entropy) -> tuple[Histogram, dict[int, int]]:
    """The slots under random names, ties in random order: a black box cannot distinguish slots of equal count."""
    names, places = np.array(draw_subsets(view.k_bar, view.k_bar, 2, entropy))
    ranked = np.lexsort((places, -view.array))
    labels = tuple(names[ranked].tolist())
    hidden = Histogram(labels, view.array[ranked], None, domain_size=view.k_bar, unit=view.unit)
    return hidden, dict(zip(labels, ranked.tolist(), strict=True))
