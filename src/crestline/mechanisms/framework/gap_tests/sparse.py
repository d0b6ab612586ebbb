"""Tests that stop at the first failure: one noisy threshold for all, fresh noise for each item (P2.4, P5.2, P5.3).

Seed        CarvalhoWang, Algorithm 1 (corrected: E-C3, E-C4, E-C5); one-sided noise: P2.4
Guarantee   log ratio of the two laws in [-ε2, ε1 + ε2] or its mirror image (P2.4); (ε1 + ε2)-DP
Assumes     all gaps move in one direction by at most one user; the order of the items does not depend on this noise
Numerics    exact: rational thresholds certified against δ (P11.3), ideal noise decided with certainty (P11)
Proof note  docs/proofs/restricted.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np

from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import positive_number, probability
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import LossInterval
from crestline.mechanisms.framework.gap_tests.gap_test import Gaps, Orders
from crestline.mechanisms.framework.gap_tests.shared_threshold import SharedThreshold
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.mechanisms.numerics.thresholds import failure_threshold, laplace_threshold
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import LinearScores, RealScores
from crestline.randomness.unit_points import Floats

_FAR = 42.0  # e^-42 is below the rounding of a double


class SparseTest(ABC):
    """One noisy threshold for all; independent noise for each item; stop at the first failure (P2.4)."""

    @abstractmethod
    def threshold(self, trials: int, entropy: Entropy) -> Keys:
        """Noisy threshold of every trial: one column."""

    @abstractmethod
    def noisy_gaps(self, gaps: Gaps, unit: int, entropy: Entropy) -> Keys:
        """Gaps with independent noise."""

    @abstractmethod
    def table(self, gaps: Floats) -> SharedThreshold:
        """Probability of each slot to pass, given the threshold's noise."""

    def count_passes(self, gaps: Gaps, unit: int, entropy: Entropy) -> Orders:
        above = exceeds_threshold(self.noisy_gaps(gaps, unit, entropy), self.threshold(len(gaps), entropy))
        leading: Orders = np.logical_and.accumulate(above, axis=1).sum(axis=1)
        return leading

    def pass_count_law(self, gaps: Floats, orders: Orders) -> Floats:
        return self.table(gaps).lengths(orders)


@value
class LaplaceTest(SparseTest):
    """Test with Laplace noise that stops at the first failure (P5.2).

    Attributes:
        epsilon: ε of the test, half for the threshold and half for the items.
        delta: δ of the test.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)

    def cost(self) -> Cost:
        half = self.epsilon / 2
        return repeat_step(LossInterval(half, self.epsilon, theorem="P5.2"), delta=self.delta)  # P2.4: [-ε2, ε1 + ε2]

    def threshold(self, trials: int, entropy: Entropy) -> Keys:
        return build_keys(RealScores([Real(self.threshold_height)]), LAPLACE, entropy.uniforms(trials, 1))

    def noisy_gaps(self, gaps: Gaps, unit: int, entropy: Entropy) -> Keys:
        return build_keys(LinearScores(gaps, self.epsilon / 2 / unit), LAPLACE, entropy.uniforms(*gaps.shape))

    def table(self, gaps: Floats) -> SharedThreshold:
        over = gaps * float(self.epsilon / 2) - float(self.threshold_height)
        grid = quadrature_between(-_FAR, _FAR, [0.0, *over.tolist()], piece=1.0)
        return SharedThreshold(
            LAPLACE.survival(grid.points - over[:, None]), grid.weights * LAPLACE.density(grid.points)
        )

    def margin_for_all(self, k: int, chance: float) -> float:
        return 1 + float((self.threshold_height + laplace_threshold((1 - Fraction(chance)) / k)) * 2 / self.epsilon)

    @property
    def threshold_height(self) -> Fraction:
        """The threshold in units of the noise: T = 2t/ε (P5.2)."""
        return laplace_threshold(self.delta)


@value
class ExponentialTest(SparseTest):
    """Test with one-sided noise that stops at the first failure (P5.3).

    Attributes:
        epsilon1: Rate of the noise of the threshold.
        epsilon2: Rate of the noise of each item.
        delta: δ of the test.
    """

    epsilon1: Number = field(positive_number)
    epsilon2: Number = field(positive_number)
    delta: Number = field(probability)

    def cost(self) -> Cost:
        step = LossInterval(self.epsilon2, self.epsilon1 + self.epsilon2, theorem="P5.3")
        return repeat_step(step, delta=self.delta)

    def threshold(self, trials: int, entropy: Entropy) -> Keys:
        uniforms = entropy.uniforms(trials, 1)
        return build_keys(RealScores([Real(self.threshold_height)]), EXPONENTIAL, uniforms, scale=-1 / self.epsilon1)

    def noisy_gaps(self, gaps: Gaps, unit: int, entropy: Entropy) -> Keys:
        uniforms = entropy.uniforms(*gaps.shape)
        return build_keys(LinearScores(gaps, Fraction(1, unit)), EXPONENTIAL, uniforms, scale=-1 / self.epsilon2)

    def table(self, gaps: Floats) -> SharedThreshold:
        first, second = float(self.epsilon1), float(self.epsilon2)
        over = gaps - float(self.threshold_height)
        grid = quadrature_between(0.0, _FAR / first, (-over).tolist(), piece=1 / max(first, second))
        passing = EXPONENTIAL.cdf(second * (over[:, None] + grid.points))  # P5.6: (1 - e^{-ε2 (g - T + z)})_+
        return SharedThreshold(passing, grid.weights * first * EXPONENTIAL.density(first * grid.points))

    def margin_for_all(self, k: int, chance: float) -> float:
        return 1 + float(self.threshold_height) + math.log(k / (1 - chance)) / float(self.epsilon2)

    @property
    def threshold_height(self) -> Fraction:
        """The threshold T, in users."""
        return failure_threshold(self.epsilon1, self.epsilon2, self.delta)
