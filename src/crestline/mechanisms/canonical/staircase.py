"""Staircase: a set of i items that clearly leads the items left out, for the largest i from k down to 1 that has one.

Seed        ShekelyanLoukides2022, canonical mechanism, carried to unknown domains and to every size up to k (P19.1)
Guarantee   (ε, δ): sparse vector over sizes that stops at the first success, one Gumbel draw in each (P19.2)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: rational ε, κ and certified T, binomials as whole numbers, ideal noise decided with certainty (P11)
Proof note  docs/proofs/staircase.md
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Self

from crestline.errors import ParameterError
from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import non_negative_number, positive_number, probability, whole_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import PureDP
from crestline.histogram.count_levels import PerHistogramCache
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.nested_sets import NestedSets, SizeLevel
from crestline.mechanisms.numerics.thresholds import success_threshold
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection, select_rows, select_set
from crestline.mechanisms.slot_checks import NO_SLOT, check_slots
from crestline.mechanisms.slot_mechanism import OverSlots
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.entropy import Entropy

_MOST_OUTCOMES = 200_000  # more would take too long to list
_SLOTS = 10  # slots for each item wanted, by default (P19.1)
_KAPPA = Fraction(1, 20)  # P19.1
_SHARE = Fraction(1, 4)  # P19.1
_KEPT = PerHistogramCache[NestedSets]()


@value
class Staircase(OverSlots):
    """Names a set of k items, or of fewer where k do not lead clearly.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for the whole release.
        delta: δ for the whole release.
        kappa: Penalty of a set for each user by which an item that it leaves out exceeds the k-th.
        share: Share of ε for the noise of the threshold, which all sizes have in common.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    kappa: Number = field(non_negative_number, default=_KAPPA)
    share: Number = field(probability, default=_SHARE)

    theorem = "P19.2"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance that spends all of ε and δ; ten slots for each item wanted unless `k_bar` is given (P19.1)."""
        return cls(total.k, total.slots(_SLOTS), total.epsilon, total.delta)

    def cost(self) -> Cost:
        return repeat_step(PureDP(self.epsilon, theorem=self.theorem), delta=self.delta)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        stairs = self._nested_sets(histogram)
        result: list[Selection] = []
        for trials in batch_sizes(n, self.k):
            result += select_rows(stairs.draw(trials, entropy), lambda row: self._selection(histogram, row))
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every set, for small histograms.

        Raises:
            ParameterError: There are more than 200,000 sets.
        """
        stairs = self._nested_sets(histogram)
        if sum(math.comb(stairs.slots, size) for size in stairs.sizes) > _MOST_OUTCOMES:
            raise ParameterError("the law has too many outcomes: it is for small histograms only")
        law: defaultdict[Selection, float] = defaultdict(float)
        for ranks, chance in stairs.law():
            law[self._selection(histogram, ranks)] += chance
        return dict(law)

    def margin(self, chance: float = 0.95, items: int | None = None) -> float:
        """Users by which the last of `items` items must lead the first left out for a set of at least that size.

        Such a set is released with probability at least `chance`. Only the best set of that size is counted on. Its
        key fails with probability `Γ(1 + e1/r) e^(-e1 g)` at most, `g` being the lead beyond one user and the
        threshold. Where it has fewer than k items it may pay κ for the next one, which leads by no more than its own
        last.

        Args:
            chance: Probability of the release.
            items: Size of the set; None: k.

        Raises:
            ParameterError: `items` exceeds k.
        """
        size = self.k if items is None else whole_number(items, "items")
        if size > self.k:
            raise ParameterError(f"items must be at most k: k is {self.k}, items is {size}")
        shared, rate = float(self.threshold_rate), float(self.level_rate(size))
        lead = 1 + float(self.threshold(size)) + (math.lgamma(1 + shared / rate) - math.log(1 - chance)) / shared
        if size == self.k:
            return lead
        return lead / (1 - float(self.kappa)) if self.kappa < 1 else math.inf

    @property
    def threshold_rate(self) -> Fraction:
        """`e1` of P19.1: the rate of the noise that all thresholds share."""
        return self.share * self._rate

    def level_rate(self, size: int) -> Fraction:
        """`r_i` of P19.1: the rate at which sets of this size are drawn."""
        return self._rate if size == self.k else (1 - self.share) * self._rate

    def level_delta(self, size: int) -> Fraction:
        """`delta_i` of P19.1: half for k items, the other half in equal parts for all other sizes."""
        if self.k == 1:
            return self.delta
        return self.delta / 2 if size == self.k else self.delta / (2 * (self.k - 1))

    def threshold(self, size: int) -> Fraction:
        """`T_i` of P19.1: the sets that gained nothing pass with probability at most `delta_i`, all together."""
        chance = self.level_delta(size) / self._number_of_sets(size)
        return success_threshold(self.level_rate(size), self.threshold_rate, chance)

    def _number_of_sets(self, size: int) -> int:
        """Number of sets in the union bound."""
        return math.comb(self.k_bar, size)

    @property
    def _rate(self) -> Fraction:
        """`E` of P19.1: the penalty for a missed leader makes scores move by up to `1 + kappa`."""
        return self.epsilon / (1 + self.kappa)

    def _nested_sets(self, histogram: Histogram) -> NestedSets:
        check_slots(histogram, self.k_bar)
        stairs: NestedSets = _KEPT.get(
            histogram, self, lambda: NestedSets(histogram, self._levels, self.threshold_rate)
        )
        return stairs

    @property
    def _levels(self) -> list[SizeLevel]:
        sizes = range(self.k, 0, -1)
        return [SizeLevel(size, self.level_rate(size), self.threshold(size), self.kappa) for size in sizes]

    def _selection(self, histogram: Histogram, member: list[int]) -> Selection:
        return select_set([histogram.name(slot) for slot in member if slot != NO_SLOT], self.k)
