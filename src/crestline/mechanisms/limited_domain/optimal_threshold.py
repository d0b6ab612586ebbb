"""Optimal threshold: choose k_bar privately, where the counts fall off, then peel as in the limited domain.

Seed        DurfeeRogers2019, Algorithm 6, corrected (E-A7, E-A8)
Guarantee   (ε', δ + slack), ε' by composition of k + 1 bounded-range steps (P3.5); pay-what-you-get (P10.6)
Assumes     distinct users per item; ranked in byte order and padded; the range k..k_bar_max chosen without the data
Numerics    exact: integer counts, rational ε and δ, ideal Gumbel keys decided with certainty (P11)
Proof note  docs/proofs/optimal_threshold.md
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from crestline.errors import HistogramError
from crestline.exact_fields import Number, Whole, WholeOrNone, field, value
from crestline.exact_numbers import non_negative_number, positive_number, probability
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.gumbel import LimitedDomain
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.numerics.order_law import peeling_chances
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import check_contribution, check_k, check_k_bar, check_slots, unit_rate
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import LinearScores, Scores, SumScores, WeightedLogScores

_SLOTS = 10  # slots for each item wanted, by default: for utility


@value
class OptimalThreshold(BuiltIn):
    """Chooses k_bar between `k` and `k_bar_max`, then draws items as `LimitedDomain` does.

    Attributes:
        k: Items wanted.
        k_bar_max: Most slots that it may see.
        epsilon: ε for each drawn item, and once more for the choice of k_bar.
        delta: δ for failures.
        contribution: Public bound on the items of one user; None: no bound.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(check_k)
    k_bar_max: Whole = field(check_k_bar)
    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    contribution: WholeOrNone = field(check_contribution, default=None)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P3.5"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """Half of δ is for failures, half for composition; ten slots for each item wanted unless `k_bar` is given."""
        delta_failure, delta_slack = total.split_delta(Fraction(1, 2))
        epsilon = per_step_epsilon(total.k + 1, total.epsilon, delta_slack)
        return cls(total.k, total.slots(_SLOTS), epsilon, delta_failure, total.contribution, slack=delta_slack)

    @property
    def k_bar(self) -> int:
        """Slots that the histogram must hold: all that may be chosen."""
        return self.k_bar_max

    def cost(self) -> Cost:
        return self._cost_of_items(self.k)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of the choice of k_bar and of the drawn items; ⊥ counts as one (P10.6)."""
        return self._cost_of_items(min(self.k, len(selection) + selection.stopped))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        scores = self._scores(histogram)
        columns = len(scores.approx)
        result: list[Selection] = []
        for trials in batch_sizes(n, columns):
            chosen = largest_columns(build_keys(scores, GUMBEL, entropy.uniforms(trials, columns)), 1).ravel() + self.k
            result += self._release_chosen(histogram, chosen, entropy)
        return result

    def k_bar_law(self, histogram: Histogram) -> dict[int, float]:
        """Exact probability of each k_bar."""
        scores = self._scores(histogram).approx
        chances = peeling_chances(scores, np.arange(len(scores))[:, None])
        return {self.k + place: float(chance) for place, chance in enumerate(chances)}

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms."""
        law: defaultdict[Selection, float] = defaultdict(float)
        for k_bar, chosen in self.k_bar_law(histogram).items():
            for selection, chance in self._limited_domain(k_bar).law(histogram.cut_to(k_bar)).items():
                law[selection] += chosen * chance
        return dict(law)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which an item must exceed the first left out to come before ⊥ with a probability, for any k_bar."""
        return self._limited_domain(self.k_bar_max).margin(chance)

    def shortfall(self, beta: float = 0.05) -> float:
        """Bound on the users by which a returned item is below the k-th count, with probability 1 - beta (P3.6, Q1)."""
        return self._limited_domain(self.k_bar_max).shortfall(beta)

    def _cost_of_items(self, items: int) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem="P2.1"), 1 + items, delta=self.delta)

    def _limited_domain(self, k_bar: int) -> LimitedDomain:
        return LimitedDomain(self.k, k_bar, self.epsilon, self.delta, self.contribution)

    def _release_chosen(self, histogram: Histogram, chosen: NDArray[np.int64], entropy: Entropy) -> list[Selection]:
        """Releases by P3.1, each trial with the k_bar that was drawn for it."""
        result: dict[int, Selection] = {}
        for k_bar in np.unique(chosen).tolist():
            places = np.flatnonzero(chosen == k_bar)
            drawn = self._limited_domain(k_bar).release_many(histogram.cut_to(k_bar), len(places), entropy)
            result.update(zip(places.tolist(), drawn, strict=True))
        return [result[trial] for trial in range(len(chosen))]

    def _scores(self, histogram: Histogram) -> Scores:
        """For i from k to k_bar_max: `-ε h_(i+1) - ln min(Δ, i)`, h relative to the last so that it is small."""
        check_slots(histogram, self.k_bar_max)
        if histogram.next_count is None:  # public: it depends on the length of the public list alone
            raise HistogramError(
                "nothing is left out of this public list, so there is no k_bar to choose: take Lipschitz"
            )
        following = np.append(histogram.array, histogram.next_count)[self.k :] - np.int64(histogram.next_count)
        slots = np.arange(self.k, self.k_bar_max + 1, dtype=np.int64)
        unstable = slots if self.contribution is None else np.minimum(slots, self.contribution)
        # Pr[i] ∝ exp(-ε cost_i): Gumbel noise is added to minus the cost (E-A7)
        return SumScores(
            LinearScores(-following, unit_rate(self.epsilon, histogram)), WeightedLogScores(unstable, Fraction(-1))
        )
