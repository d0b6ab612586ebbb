"""Base classes of stability mechanisms: one noisy threshold, and independent noise on every distance (P2.5)."""

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
# Share of ε for the threshold's noise that nearly minimises T: P6.2, and [TS] for Laplace noise.
USUAL_SHARES = {EXPONENTIAL.name: Fraction(22, 100), LAPLACE.name: Fraction(37, 100)}


class SparseVector(ABC):
    """A distance passes when its noisy value exceeds the noisy threshold; `share` of ε is for the threshold's noise.

    Distances are numbers of users, or multiples of 1/`unit` of a user where a unit is given.
    """

    epsilon: Fraction
    share: Fraction
    noise: str

    @property
    @abstractmethod
    def _unstable_chance(self) -> Fraction:
        """Probability with which a distance of zero may pass."""

    @property
    def threshold(self) -> Fraction:
        """T, in users: a distance of zero passes with a probability that keeps δ for all of them together."""
        tail = two_rate_threshold if self.noise == LAPLACE.name else success_threshold
        return tail(self._distance_rate, self._threshold_rate, self._unstable_chance)

    @property
    def _distance_rate(self) -> Fraction:
        """Rate of the noise on a distance: distances may move either way (P2.5)."""
        return (1 - self.share) * self.epsilon / 2

    @property
    def _threshold_rate(self) -> Fraction:
        """Rate of the noise on the threshold."""
        return self.share * self.epsilon

    @property
    def _law(self) -> Law:
        return NOISES[self.noise]

    def _distance_for_chance(self, chance: float) -> Fraction:
        """Distance that passes with this probability, if none before it does (P6.3)."""
        if self.noise == LAPLACE.name:
            return self.threshold + two_rate_threshold(self._distance_rate, self._threshold_rate, 1 - chance)
        return self.threshold + success_threshold(self._threshold_rate, self._distance_rate, 1 - chance)

    def _noisy_threshold(self, trials: int, entropy: Entropy, unit: int = 1) -> Keys:
        """Noisy threshold of each trial: one column."""
        scores = RealScores([Real(self.threshold * unit)])
        return build_keys(scores, self._law, entropy.uniforms(trials, 1), scale=unit / self._threshold_rate)

    def _noisy_distances(self, distances: Scores, trials: int, entropy: Entropy, unit: int = 1) -> Keys:
        """Distances of each trial, each with independent noise."""
        uniforms = entropy.uniforms(trials, len(distances.approx))
        return build_keys(distances, self._law, uniforms, scale=unit / self._distance_rate)


class SparseQueries(SparseVector):
    """Base class for at most `queries` queries of the caller; `epsilon` and `delta` are for all of them together."""

    queries: int
    delta: Fraction
    theorem: str

    @abstractmethod
    def cost(self) -> Cost:
        """Worst case of all queries together."""

    def guarantee(self) -> Guarantee:
        """The promise for all queries together."""
        return total(self.cost(), theorem=self.theorem)

    def margin(self, chance: float = 0.95) -> float:
        """Distance at which a query is answered with probability `chance`, if none before it was."""
        return float(self._distance_for_chance(chance))

    @property
    def _unstable_chance(self) -> Fraction:
        return self.delta / self.queries  # P14.2, P14.3
