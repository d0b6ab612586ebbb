"""Interface of a test that decides which chosen items may be named, and the joint test (P2.4, P9.3).

    LaplaceTest        sparse vector with Laplace noise; stops at the first failure        sparse.py
    ExponentialTest    the same with one-sided noise: smaller threshold, smaller variance  sparse.py
    JointTest          all or nothing, by the smallest gap

A gap is `count - next_count - unit`: an item's lead without one user, who may have both items. One user moves all gaps
in one direction. Gaps are whole numbers in units of the count; a test divides them by the histogram's unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import positive_number, probability
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.guarantees.root_finding import bisect_floats
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real, ln
from crestline.randomness.keys import build_keys, noiseless_keys
from crestline.randomness.laws.logistic import LOGISTIC
from crestline.randomness.scores import LinearScores, RealScores
from crestline.randomness.unit_points import Floats

Gaps = NDArray[np.int64]
Orders = NDArray[np.int64]


class GapTest(Protocol):
    """Interface of a test of chosen items."""

    @property
    def delta(self) -> Fraction:
        """Largest probability that an item without a positive gap passes if it is tested first of such items."""
        ...

    def cost(self) -> Cost: ...

    def count_passes(self, gaps: Gaps, unit: int, entropy: Entropy) -> Orders:
        """Number of each row's items that pass before the first failure."""
        ...

    def pass_count_law(self, gaps: Floats, orders: Orders) -> Floats:
        """Probabilities of 0, 1, … passes for each row of slots in `orders`; `gaps` of all slots, in users."""
        ...

    def margin_for_all(self, k: int, chance: float) -> float:
        """Users by which each of k items must exceed the first item left out for all to pass with a probability
        (P5.6).

        One more than their gaps.
        """
        ...


def pass_chance(test: GapTest, gaps: Sequence[float]) -> float:
    """Exact probability that items with these gaps, in users, all pass (P5.6)."""
    order = np.arange(len(gaps))[None, :]
    (lengths,) = test.pass_count_law(np.array(gaps, dtype=np.float64), order)
    return float(lengths[-1])


def margin(test: GapTest, wanted: float) -> float:
    """Users by which one item must exceed the first item left out to pass with the wanted probability."""

    def is_enough(gap: float) -> bool:
        return pass_chance(test, [gap]) >= wanted

    high = 1.0
    while not is_enough(high):
        high *= 2
    low = -high
    while is_enough(low):
        low *= 2
    return 1 + bisect_floats(is_enough, low, high)[1]


@value
class JointTest:
    """One test for all of the chosen items, by the smallest gap: all are named or none (P9.3).

    Attributes:
        epsilon: ε of the test.
        delta: δ of the test.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)

    def cost(self) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem="P9.3"), delta=self.delta)

    def count_passes(self, gaps: Gaps, unit: int, entropy: Entropy) -> Orders:
        trials, k = gaps.shape
        noisy = build_keys(
            LinearScores(gaps.min(axis=1, keepdims=True), self.epsilon / unit), LOGISTIC, entropy.uniforms(trials, 1)
        )
        above = exceeds_threshold(
            noisy, noiseless_keys(RealScores([self._threshold_log_odds]), trials)
        )  # passes with probability 1/(1 + odds e^{-ε g})
        return np.where(above.ravel(), k, 0)

    def pass_count_law(self, gaps: Floats, orders: Orders) -> Floats:
        rows, k = orders.shape
        smallest = gaps[orders].min(axis=1, initial=math.inf)
        result = np.zeros((rows, k + 1))
        passing = LOGISTIC.cdf(float(self.epsilon) * smallest - self._threshold_log_odds.approx)
        result[:, 0] = 1.0 - passing
        result[:, k] += passing
        return result

    def margin_for_all(self, k: int, chance: float) -> float:
        return 1 + (self._threshold_log_odds.approx + math.log(chance / (1 - chance))) / float(self.epsilon)

    @property
    def _threshold_log_odds(self) -> Real:
        return ln((1 - self.delta) / self.delta)
