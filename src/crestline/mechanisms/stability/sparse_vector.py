"""What all stability mechanisms share: one noisy threshold, and fresh noise on every distance (P2.5)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from crestline.guarantees.accountants import total
from crestline.guarantees.cost import Cost
from crestline.guarantees.guarantee import Guarantee
from crestline.mechanisms.numerics.thresholds import success_threshold, two_rate_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws import EXPONENTIAL, LAPLACE, Law
from crestline.randomness.scores import RealScores, Scores

NOISES: dict[str, Law] = {law.name: law for law in (EXPONENTIAL, LAPLACE)}
# The part of ε for the threshold's noise that nearly minimises T: P6.2, and [TS] for Laplace noise.
USUAL_SHARES = {EXPONENTIAL.name: Fraction(22, 100), LAPLACE.name: Fraction(37, 100)}


class SparseVector(ABC):
    """A distance passes when it and its noise exceed the threshold and its noise; `share` of ε is for the latter.

    Distances are numbers of users; where they come in other units, `unit` of these make one user.
    """

    epsilon: Fraction
    share: Fraction
    noise: str

    @property
    @abstractmethod
    def _unstable_chance(self) -> Fraction:
        """The probability with which a distance of zero may pass."""

    @property
    def threshold(self) -> Fraction:
        """T, in users: a distance of zero passes with so small a probability that all of them together keep δ."""
        tail = two_rate_threshold if self.noise == LAPLACE.name else success_threshold
        return tail(self._distance_rate, self._threshold_rate, self._unstable_chance)

    @property
    def _distance_rate(self) -> Fraction:
        """The rate of the noise on a distance: distances may move either way (P2.5)."""
        return (1 - self.share) * self.epsilon / 2

    @property
    def _threshold_rate(self) -> Fraction:
        """The rate of the noise on the threshold."""
        return self.share * self.epsilon

    @property
    def _law(self) -> Law:
        return NOISES[self.noise]

    def _distance_for_chance(self, chance: float) -> Fraction:
        """The distance that passes with this chance, when none before it does (P6.3)."""
        if self.noise == LAPLACE.name:
            return self.threshold + two_rate_threshold(self._distance_rate, self._threshold_rate, 1 - chance)
        return self.threshold + success_threshold(self._threshold_rate, self._distance_rate, 1 - chance)

    def _noisy_threshold(self, trials: int, entropy: Entropy, unit: int = 1) -> Keys:
        """The noisy threshold of each trial: one column."""
        scores = RealScores([Real(self.threshold * unit)])
        return build_keys(scores, self._law, entropy.uniforms(trials, 1), scale=unit / self._threshold_rate)

    def _noisy_distances(self, distances: Scores, trials: int, entropy: Entropy, unit: int = 1) -> Keys:
        """The distances of each trial, each with fresh noise."""
        uniforms = entropy.uniforms(trials, len(distances.approx))
        return build_keys(distances, self._law, uniforms, scale=unit / self._distance_rate)


class SparseQueries(SparseVector):
    """One about at most `queries` queries of the caller's own; `epsilon` and `delta` are for all of them together."""

    queries: int
    delta: Fraction
    theorem: str

    @abstractmethod
    def cost(self) -> Cost:
        """What all queries together cost at most."""

    def guarantee(self) -> Guarantee:
        """The promise for all queries together."""
        return total(self.cost(), theorem=self.theorem)

    def margin(self, chance: float = 0.95) -> float:
        """The distance at which a query is answered with this chance, when none before it was."""
        return float(self._distance_for_chance(chance))

    @property
    def _unstable_chance(self) -> Fraction:
        return self.delta / self.queries  # P14.2, P14.3
