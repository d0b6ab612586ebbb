"""The framework: any selection mechanism that meets the contract of P1.5, made safe for an unknown domain by a test.

Seed        CarvalhoWang, Algorithm 1 and Theorem 1, corrected (E-C1 to E-C5, E-C8)
Guarantee   (ε_M + ε_R, δ_M + δ_R), or tighter by composition of the mechanism's steps and the test's (P5.1)
Assumes     the black box keeps its promise for all count vectors whose entries rise together by at most one (K3)
Numerics    exact tests (P11); the black box is as exact as it is
Proof note  docs/proofs/restricted.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from crestline.errors import MechanismError
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange, GaussianDP, LossInterval, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.contract import check_equivariance, released
from crestline.mechanisms.framework.framework import Choices, Framework, checked_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.slot_orders import order_law, orders_of
from crestline.mechanisms.mechanism import Mechanism, fast_release
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slots import Slots
from crestline.parameters import Exact, fill, not_negative, whole
from crestline.randomness.entropy import Entropy
from crestline.randomness.sampling import subsets


@dataclass(frozen=True, init=False)
class Restricted(Framework):
    """A black box chooses among nameless slots; the test decides which of them are named.

    The black box gets a `Histogram` of all `k_bar` slots, as over a public list: counts in descending order, and
    names that are numbers in random order, drawn anew for every release. It returns a `Selection`: a tuple is tested in
    that order, a frozenset in a fresh random order. It is refused when its choice depends on names or on the order of
    equal counts.
    """

    mechanism: Any
    k_bar: int
    test: GapTest
    slack: Fraction

    def __init__(self, mechanism: Mechanism, k_bar: int, test: GapTest, *, slack: Exact = 0) -> None:
        if not isinstance(mechanism, Mechanism):
            raise MechanismError("the black box needs guarantee() and release(histogram, entropy)")
        fill(
            self,
            mechanism=mechanism,
            k_bar=whole(k_bar, "k_bar"),
            test=checked_test(test),
            slack=not_negative(slack, "slack"),
        )
        own_cost(mechanism)
        check_equivariance(mechanism, self.k_bar)

    @classmethod
    def for_budget(cls, **question: Any) -> NoReturn:
        """Always an error: without a black box the framework has nothing to fit to a budget."""
        raise MechanismError("Restricted needs a black box of your own: give Restricted(mechanism, k_bar, test) itself")

    def cost(self) -> Cost:
        return own_cost(self.mechanism) + self.test.cost()

    def choose(self, view: Histogram, trials: int, entropy: Entropy) -> tuple[Slots, Slots]:
        """Slots chosen in each trial. Trials made in one call of the black box share the random names of the slots."""
        calls = [trials] if fast_release(self.mechanism) else [1] * trials
        drawn: list[Selection] = []
        slots: list[dict[int, int]] = []
        for many in calls:
            hidden, names = _nameless(view, entropy)
            drawn += released(self.mechanism, hidden, many, entropy)
            slots += [names] * many
        return orders_of(drawn, slots, entropy)

    def choices(self, view: Histogram) -> Choices:
        if not hasattr(self.mechanism, "law"):
            raise MechanismError("the black box does not state its law; add law(histogram) to audit it exactly")
        return order_law(self.mechanism.law(view), {slot: slot for slot in range(view.k_bar)})


def own_cost(mechanism: Any) -> Cost:
    """The black box's steps: stated by those of the catalogue, read from the promise of others."""
    if hasattr(mechanism, "cost"):
        cost = mechanism.cost()
        if not isinstance(cost, Cost):
            raise MechanismError("cost() must be a Cost, as the mechanisms of the catalogue state it; leave it out")
        return cost
    promise = mechanism.guarantee()
    if isinstance(promise, PureDP | BoundedRange | LossInterval | GaussianDP):
        return steps(promise)
    if isinstance(promise, ZCDP):
        return steps(ZCDP(promise.rho, theorem=promise.theorem), delta=promise.delta)
    if isinstance(promise, ApproxDP):  # outside an event of probability δ it is as good as pure (Kairouz et al. 2015)
        return steps(PureDP(promise.epsilon, promise.theorem), delta=promise.delta)
    raise MechanismError("guarantee() must be a cl.PureDP, cl.ApproxDP, cl.ZCDP or cl.BoundedRange")


def _nameless(view: Histogram, entropy: Entropy) -> tuple[Histogram, dict[int, int]]:
    """The slots under random names, ties in random order: a black box cannot tell slots of equal count apart."""
    names, places = np.array(subsets(view.k_bar, view.k_bar, 2, entropy))
    ranked = np.lexsort((places, -view.array))
    labels = tuple(names[ranked].tolist())
    hidden = Histogram(labels, view.array[ranked], None, domain_size=view.k_bar, step=view.step)
    return hidden, dict(zip(labels, ranked.tolist(), strict=True))
