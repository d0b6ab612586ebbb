"""Canonical with ⊥: one exponential mechanism over all k-subsets of the slots, and the stop.

Seed        ShekelyanLoukides2022, canonical mechanism with γ = 1, carried to unknown domains (P9.1)
Guarantee   (ε, δ); one bounded-range step (P9.1)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational ε and δ, binomials as whole numbers, ideal Gumbel keys (P11)
Proof note  docs/proofs/canonical_bottom.md
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from itertools import combinations
from typing import Self

import numpy as np

from crestline.errors import ParameterError
from crestline.exact_fields import Number, field, value
from crestline.exact_numbers import non_negative_number, positive_number, probability
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection, select_rows, select_set
from crestline.mechanisms.slot_checks import NO_SLOT, Slots, check_slots, check_table, split_table, unit_rate
from crestline.mechanisms.slot_mechanism import OverSlots
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real, ln
from crestline.randomness.keys import Keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.sampling import draw_distinct_ints, draw_ints
from crestline.randomness.scores import EqualScores, LinearScores, LogScores, RealScores, Scores, concat_scores

_MOST_OUTCOMES = 200_000  # more would take too long to list
_SLOTS = 5  # for each item wanted (four to ten by P9.1); the margin grows with them


@value
class CanonicalBottom(OverSlots):
    """Releases all k items as a set, or stops.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for the whole release.
        delta: δ for the whole release.
        slack: Failure probability of the accountant.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P9.1"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance that spends all of ε and δ; five slots for each item wanted unless `k_bar` is given (P9.1)."""
        return cls(total.k, total.slots(_SLOTS), total.epsilon, total.delta)

    def cost(self) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem=self.theorem), delta=self.delta)

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        scores, copies = self._class_scores(histogram)
        slots, many = histogram.k_bar, min(self.k, histogram.k_bar)
        if not slots:  # an empty public list
            return [self._selection(histogram, [])] * n
        result: list[Selection] = []
        for trials in batch_sizes(n, slots):
            draws = OnePerKey(entropy.uniforms(trials, scores.approx.size), copies)
            winners = largest_columns(Keys(scores, GUMBEL, draws), 1).ravel()
            members = _members(many - 1 + winners, slots, many, entropy)  # column 0 is the class whose lowest is rank k
            result += select_rows(members, lambda row: self._selection(histogram, row))
        return result

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        check_table(table, self.k_bar)
        slots, k, copies = (
            self.k_bar,
            self.k,
            concat_scores(LogScores(_subset_sizes(self.k_bar, self.k)), EqualScores(1)),
        )
        bottom = RealScores([self._log_bottom_weight(math.comb(slots, k))])
        result: list[Selection] = []
        for part in split_table(table):
            gaps = LinearScores(part.relative_counts[:, k - 1 :] - part.unit, self.epsilon / part.unit)
            draws = OnePerKey(entropy.uniforms(len(part), slots - k + 2), copies)
            winners = largest_columns(Keys(concat_scores(gaps, bottom), GUMBEL, draws), 1).ravel()
            members = _members(k - 1 + winners, slots, k, entropy)
            result += [_select_members(part, row, member, k) for row, member in enumerate(members.tolist())]
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every set, for small histograms.

        Raises:
            ParameterError: There are more than 200,000 sets.
        """
        scores, copies = self._class_scores(histogram)
        many = min(self.k, histogram.k_bar)
        if not many:
            return {self._selection(histogram, []): 1.0}
        if math.comb(histogram.k_bar, many) > _MOST_OUTCOMES:
            raise ParameterError("the law has too many outcomes: it is for small histograms only")
        weights = np.exp(scores.approx - scores.approx.max())
        mass = float(weights @ np.exp(copies.approx))
        law: defaultdict[Selection, float] = defaultdict(float)
        for member in combinations(range(histogram.k_bar), many):
            law[self._selection(histogram, list(member))] += float(weights[member[-1] - many + 1]) / mass
        if histogram.next_count is not None:
            law[self._selection(histogram, [NO_SLOT] * many)] += float(weights[-1]) / mass
        return dict(law)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which the k-th count must exceed the first left out for the set to have this probability (P9.1)."""
        room = _log_binomial(self.k_bar, self.k) - math.log(float(self.delta) * (1 - chance))
        return 1 + room / float(self.epsilon)

    def margin_for_all(self, chance: float = 0.95) -> float:
        """`margin`, since the set is named as a whole or not at all."""
        return self.margin(chance)

    def _class_scores(self, histogram: Histogram) -> tuple[Scores, Scores]:
        """Scores and log sizes of the classes with lowest rank k, k + 1, …; ⊥ last, if anything was left out."""
        check_slots(histogram, self.k_bar)
        many = min(self.k, histogram.k_bar)
        sizes = _subset_sizes(histogram.k_bar, many)
        lowest = histogram.array[many - 1 :]
        rate = unit_rate(self.epsilon, histogram)
        if histogram.next_count is None:  # P0.8: nothing was left out, so there is no ⊥
            return LinearScores(lowest, rate), LogScores(sizes)
        gaps = lowest - np.int64(histogram.next_count) - histogram.unit
        bottom = RealScores([self._log_bottom_weight(math.comb(histogram.k_bar, many))])
        return concat_scores(LinearScores(gaps, rate), bottom), concat_scores(LogScores(sizes), EqualScores(1))

    def _log_bottom_weight(self, sets: int) -> Real:
        """Logarithm of the weight of ⊥ against this number of sets (P9.1)."""
        return ln(sets * (1 - self.delta) / self.delta)

    def _selection(self, histogram: Histogram, member: list[int]) -> Selection:
        return select_set([histogram.name(slot) for slot in member if slot != NO_SLOT], self.k)


def _select_members(table: HistogramTable, row: int, member: list[int], k: int) -> Selection:
    """Items of one group's set; empty slots are dropped."""
    kept = frozenset(table.name(row, slot) for slot in member if NO_SLOT < slot < table.filled_slots[row])
    return Selection(kept, len(kept) < k)


def _members(lowest: Slots, slots: int, k: int, entropy: Entropy) -> Slots:
    """A uniform member of each trial's class: its lowest rank, and k - 1 of the ranks before it; no slots for ⊥."""
    result = np.full((len(lowest), k), NO_SLOT, dtype=np.int64)
    named = np.flatnonzero(lowest < slots)
    left = lowest[named, None] - np.arange(k - 1)  # ranks before the lowest that are not drawn yet
    choices = draw_ints(entropy.uniforms(len(named), k - 1), left)
    for row, drawn in zip(named.tolist(), choices.tolist(), strict=True):
        result[row] = [*draw_distinct_ints(drawn), lowest[row]]
    return np.sort(result, axis=1)


@lru_cache(maxsize=64)
def _subset_sizes(slots: int, k: int) -> tuple[int, ...]:
    """`C(t - 1, k - 1)` for t = k, …, slots (P9.1)."""
    sizes = [1]
    for rank in range(k, slots):
        sizes.append(sizes[-1] * rank // (rank - k + 1))
    return tuple(sizes)


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
