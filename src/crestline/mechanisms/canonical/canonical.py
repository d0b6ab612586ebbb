"""Canonical mechanism: one draw among all k-subsets of a public list, scored by their largest error.

Seed        ShekelyanLoukides2022, Algorithm 1, corrected (E-D2 to E-D5)
Guarantee   ε-DP for any of the five noises; with Gumbel noise one step of ε-bounded range (P8.2)
Assumes     the list of items is public, every item listed or counted; a user moves each count by at most the step
Numerics    exact: rational ε and γ, class sizes as whole numbers, ideal keys decided with certainty (P11)
Proof note  docs/proofs/canonical.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Self, Unpack

from crestline.exact_fields import Flag, Name, Number, Whole, field, to_bool, value
from crestline.exact_numbers import Exact, non_negative_number, positive_number, proportion, whole_number
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, Step, repeat_step
from crestline.guarantees.guarantee import BoundedRange, PureDP
from crestline.histogram.count_levels import PerHistogramCache, count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.draw_subset import SubsetSampler
from crestline.mechanisms.canonical.law import subset_chances
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.public_list.noises import lipschitz_noise
from crestline.mechanisms.selection import Selection, select_ranks, select_rows
from crestline.mechanisms.slot_checks import unit_rate
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gumbel import GUMBEL

_SUBSETS = PerHistogramCache[SubsetSampler]()


@value
class Canonical(BuiltIn):
    """Draws one set of k items of a public list, scored by its largest error.

    Attributes:
        k: Items wanted.
        epsilon: ε for the whole selection.
        gamma: Weight, from 0 to 1, of the lowest count taken against the largest left out; 1 considers only the
            former.
        noise: Name of one of the five noises of P8.1.
        monotone: Whether all counts move in one direction when a user is added or removed; otherwise the noise
            doubles.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    gamma: Number = field(proportion, default=Fraction(1, 2))
    noise: Name = field(lipschitz_noise, default=GUMBEL.name)
    monotone: Flag = field(to_bool, default=True, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P8.2"

    @classmethod
    def for_budget(
        cls, *, gamma: Exact = Fraction(1, 2), noise: str = GUMBEL.name, **total: Unpack[TotalArguments]
    ) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            gamma: Weight of the lowest count taken against the largest left out.
            noise: Name of one of the five noises of P8.1.
            **total: `k`, `epsilon`, `delta`; `k_bar` and `contribution` have no effect, since the whole list is read
                and every count may move.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), gamma=gamma, noise=noise)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, gamma: Exact = Fraction(1, 2), noise: str = GUMBEL.name) -> Self:
        """The instance within a total; all of δ is slack, for the accountant."""
        step = BoundedRange if lipschitz_noise(noise) == GUMBEL.name else PureDP
        epsilon = per_step_epsilon(1, total.epsilon, total.delta, step=step)
        return cls(total.k, epsilon, gamma, noise, slack=total.delta)

    def cost(self) -> Cost:
        step: Step = PureDP(self.epsilon, theorem=self.theorem)
        if self.noise == GUMBEL.name:
            step = BoundedRange(self.epsilon, theorem=self.theorem)
        return repeat_step(step)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = count_levels(histogram)
        if items.items <= self.k:  # there is only one subset
            return [self._selection(histogram, range(items.items))] * n
        rate = self._rate(histogram)
        subsets: SubsetSampler = _SUBSETS.get(
            histogram, (self.k, self.gamma, rate), lambda: SubsetSampler(items, self.k, self.gamma, rate)
        )
        drawn = subsets.draw(LAWS[self.noise], n, entropy)
        return select_rows(drawn, lambda ranks: self._selection(histogram, ranks))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every subset, for small histograms.

        Raises:
            ParameterError: There are too many subsets.
        """
        counts = count_levels(histogram).all_counts()
        if len(counts) <= self.k:
            return {self._selection(histogram, range(len(counts))): 1.0}
        chances = subset_chances(counts, self.k, float(self.gamma), float(self._rate(histogram)), LAWS[self.noise])
        return {self._selection(histogram, ranks): chance for ranks, chance in chances}

    def lowest_shortfall(self, items: int, beta: float = 0.05) -> float:
        """Bound on the users by which the lowest returned count is below the k-th, with probability 1 - beta (P8.2)."""
        return self._loss_bound(items, beta) / float(self.gamma) if self.gamma else math.inf

    def largest_miss(self, items: int, beta: float = 0.05) -> float:
        """Bound on the users by which the largest count left out exceeds the k-th, with probability 1 - beta (P8.2)."""
        return self._loss_bound(items, beta) / float(1 - self.gamma) if self.gamma < 1 else math.inf

    def _loss_bound(self, items: int, beta: float) -> float:
        """`S` of P8.2, in users."""
        size = max(items, self.k)  # fewer are one subset
        subsets = math.lgamma(size + 1) - math.lgamma(self.k + 1) - math.lgamma(size - self.k + 1)
        return (subsets - math.log(beta)) / float(self._unit_rate())

    def _unit_rate(self) -> Fraction:
        """`c = ε` for monotone counts, `ε/2` for scores of sensitivity one (P8.2)."""
        return self.epsilon if self.monotone else self.epsilon / 2

    def _rate(self, histogram: Histogram) -> Fraction:
        return unit_rate(self._unit_rate(), histogram)

    def _selection(self, histogram: Histogram, ranks: range | list[int]) -> Selection:
        return select_ranks(histogram, ranks, self.k, ordered=False)
