"""What the framework asks of a test that decides which chosen items may be named, and the joint test (P2.4, P9.3).

    LaplaceTest        sparse vector with Laplace noise; stops at the first failure        sparse.py
    ExponentialTest    the same with one-sided noise: smaller threshold, smaller variance  sparse.py
    JointTest          all or nothing, by the smallest gap

A gap is `count - next_count - unit`: what is left of an item's lead when one user, who may stand behind both, is taken
away. One user moves all gaps in one direction. Gaps are whole numbers in units of the count; a test divides them by
the histogram's unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crestline.fields import Number, field, value
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import BoundedRange
from crestline.guarantees.search import halved
from crestline.parameters import positive, probability
from crestline.randomness.compare import exceeding
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import fixed, keys
from crestline.randomness.laws.logistic import LOGISTIC
from crestline.randomness.reals import Real, ln
from crestline.randomness.scores import Linear, Listed
from crestline.randomness.unit_points import Floats

Gaps = NDArray[np.int64]
Orders = NDArray[np.int64]


class GapTest(Protocol):
    """What the framework asks of a test."""

    @property
    def delta(self) -> Fraction:
        """The chance, at most, that an item passes whose gap is not positive and which is tested first of its kind."""
        ...

    def cost(self) -> Cost: ...

    def passed(self, gaps: Gaps, unit: int, entropy: Entropy) -> Orders:
        """How many of each row's items pass before the first failure."""
        ...

    def lengths(self, gaps: Floats, orders: Orders) -> Floats:
        """The chances of 0, 1, … passes for each row of slots in `orders`; `gaps` of all slots, in users."""
        ...

    def margin_for_all(self, k: int, chance: float) -> float:
        """By how many users each of k items must exceed the first item left out for all to pass with a chance (P5.6).

        One more than their gaps: see above.
        """
        ...


def chance(test: GapTest, gaps: Sequence[float]) -> float:
    """The exact chance that items with these gaps, in users, all pass (P5.6)."""
    order = np.arange(len(gaps))[None, :]
    (lengths,) = test.lengths(np.array(gaps, dtype=np.float64), order)
    return float(lengths[-1])


def margin(test: GapTest, wanted: float) -> float:
    """By how many users one item must exceed the first item left out to pass with the wanted chance."""

    def enough(gap: float) -> bool:
        return chance(test, [gap]) >= wanted

    high = 1.0
    while not enough(high):
        high *= 2
    low = -high
    while enough(low):
        low *= 2
    return 1 + halved(enough, low, high)[1]


@value
class JointTest:
    """One test for all of the chosen items, by the smallest gap: all are named or none (P9.3)."""

    epsilon: Number = field(positive)
    delta: Number = field(probability)

    def cost(self) -> Cost:
        return steps(BoundedRange(self.epsilon, theorem="P9.3"), delta=self.delta)

    def passed(self, gaps: Gaps, unit: int, entropy: Entropy) -> Orders:
        trials, k = gaps.shape
        noisy = keys(
            Linear(gaps.min(axis=1, keepdims=True), self.epsilon / unit), LOGISTIC, entropy.uniforms(trials, 1)
        )
        above = exceeding(noisy, fixed(Listed([self._log_odds]), trials))  # a coin of chance 1/(1 + odds e^{-ε g})
        return np.where(above.ravel(), k, 0)

    def lengths(self, gaps: Floats, orders: Orders) -> Floats:
        rows, k = orders.shape
        smallest = gaps[orders].min(axis=1, initial=math.inf)
        result = np.zeros((rows, k + 1))
        passing = LOGISTIC.cdf(float(self.epsilon) * smallest - self._log_odds.approx)
        result[:, 0] = 1.0 - passing
        result[:, k] += passing
        return result

    def margin_for_all(self, k: int, chance: float) -> float:
        return 1 + (self._log_odds.approx + math.log(chance / (1 - chance))) / float(self.epsilon)

    @property
    def _log_odds(self) -> Real:
        return ln((1 - self.delta) / self.delta)
