"""Limited domain: return items in descending order of their Gumbel keys, at most k, and stop at the key of ⊥.

Seed        DurfeeRogers2019, Algorithm 1 (strict variant: Algorithm 5), corrected (E-A1, E-A10)
Guarantee   (ε', δ + slack), ε' by composition of k bounded-range steps (P3.2); pay-what-you-get (P10.6)
Assumes     distinct users per item; ranked in byte order and padded, or raw rows (P1.8); δ chosen without the data
Numerics    exact: integer counts, rational ε and δ, ideal Gumbel keys decided with certainty (P11)
Proof note  docs/proofs/limited_domain.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Self

import numpy as np

from crestline.exact_fields import Flag, Number, WholeOrNone, field, to_bool, value
from crestline.exact_numbers import non_negative_number, positive_number, probability
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.mechanisms.limited_domain.law import exact_law, length_law
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.selection import Selection, select_ranked_rows, select_table_rows
from crestline.mechanisms.slot_checks import (
    check_contribution,
    check_slots,
    check_table,
    split_table,
    unit_rate,
    unstable_slots,
)
from crestline.mechanisms.slot_mechanism import OverSlots
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real, ln
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import LinearScores, RealScores, Scores, concat_scores

_SLOTS = 5  # slots for each item wanted, by default: for utility


@value
class LimitedDomain(OverSlots):
    """Draws items by descending Gumbel key until k are drawn or ⊥ is.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for each drawn item.
        delta: δ for failures.
        contribution: Public bound on the items of one user; None: no bound.
        strict: Whether to see only items above the next count (P3.4).
        sharp: Whether to give ⊥ the least weight that keeps the promise.
        slack: Failure probability of the accountant.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    contribution: WholeOrNone = field(check_contribution, default=None)
    strict: Flag = field(to_bool, default=False)
    sharp: Flag = field(to_bool, default=False, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P3.2"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """Half of δ is for failures, half for composition; five slots for each item wanted unless `k_bar` is given."""
        delta_failure, delta_slack = total.split_delta(Fraction(1, 2))
        epsilon = per_step_epsilon(total.k, total.epsilon, delta_slack)
        return cls(total.k, total.slots(_SLOTS), epsilon, delta_failure, total.contribution, slack=delta_slack)

    def cost(self) -> Cost:
        return self._cost_of_items(self.k)

    def settlement_cost(self, selection: Selection) -> Cost:
        """Cost of the drawn items; ⊥ counts as one (P10.6)."""
        return self._cost_of_items(min(self.k, len(selection) + selection.stopped))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        scores, slots = self._scores(histogram)
        columns = len(scores.approx)
        many = min(self.k, columns)
        result: list[Selection] = []
        for trials in batch_sizes(n, columns):
            order = largest_columns(build_keys(scores, GUMBEL, entropy.uniforms(trials, columns)), many)
            result += select_ranked_rows(histogram, order, slots, self.k)
        return result

    def release_each(self, table: HistogramTable, entropy: Entropy) -> list[Selection]:
        if self.strict:  # the number of slots above the next count differs between groups
            return super().release_each(table, entropy)
        check_table(table, self.k_bar)
        stop = RealScores(
            [self._bottom_offset(self.k_bar if self.contribution is None else min(self.contribution, self.k_bar))]
        )
        result: list[Selection] = []
        for part in split_table(table):
            scores = concat_scores(LinearScores(part.relative_counts, self.epsilon / table.unit), stop)
            order = largest_columns(build_keys(scores, GUMBEL, entropy.uniforms(len(part), self.k_bar + 1)), self.k)
            result += select_table_rows(part, order, self.k)
        return result

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms; ParameterError for more than 200,000 outcomes."""
        scores, slots = self._scores(histogram)
        labels = [histogram.name(position) for position in range(slots)]
        return exact_law(scores.approx, labels, self.k)

    def length_law(self, histogram: Histogram) -> list[float]:
        """Exact probability of returning 0, 1, …, k items (P3.6, Q3)."""
        scores, slots = self._scores(histogram)
        # the empty slots and ⊥ end the list: together they are one key, whose weight is the sum of theirs
        items, stops = np.split(scores.approx, [min(slots, histogram.filled)])
        return length_law(items, float(np.logaddexp.reduce(stops)) if len(stops) else None, self.k)

    def shortfall(self, beta: float = 0.05) -> float:
        """Bound on the users by which a returned item is below the k-th count, with probability 1 - beta (P3.6, Q1)."""
        return math.log(self.k * self.k_bar / beta) / float(self.epsilon)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which an item must exceed the first left out to come before ⊥ with this probability (P3.6)."""
        return 1 + (self._largest_bottom_weight + math.log(chance / (1 - chance))) / float(self.epsilon)

    def margin_for_all(self, chance: float = 0.95) -> float:
        """Users by which the k-th count must exceed the next for all k to be returned with this probability."""
        return 1 + (self._largest_bottom_weight + math.log(self.k / (1 - chance))) / float(self.epsilon)

    @property
    def _largest_bottom_weight(self) -> float:
        """`ln W` for the largest number of slots that one user can swap."""
        bound = self.k_bar if self.contribution is None or self.strict else min(self.contribution, self.k_bar)
        return self._bottom_weight(bound).approx

    def _cost_of_items(self, items: int) -> Cost:
        return repeat_step(BoundedRange(self.epsilon, theorem="P2.1"), items, delta=self.delta)

    def _bottom_weight(self, unstable: int) -> Real:
        """`ln W`: logarithm of the weight of ⊥ (P3.1)."""
        weight = Fraction(unstable) / self.delta
        return ln(weight * (1 - self.delta) if self.sharp else weight)

    def _bottom_offset(self, unstable: int) -> Real:
        """`ε (b + 1) + ln W` less `ε b`, cached with its doubles, since it depends on parameters alone."""
        if unstable not in self._bottom_offsets:
            self._bottom_offsets[unstable] = self._bottom_weight(unstable) + self.epsilon
        return self._bottom_offsets[unstable]

    @cached_property
    def _bottom_offsets(self) -> dict[int, Real]:
        return {}

    def _scores(self, histogram: Histogram) -> tuple[Scores, int]:
        """Scores of the keys, slots first and ⊥ last (absent if nothing was left out), and the number of slots."""
        return histogram.keep(self, lambda: self._compute_scores(histogram))

    def _compute_scores(self, histogram: Histogram) -> tuple[Scores, int]:
        check_slots(histogram, self.k_bar, raw_rows=True)
        rate = unit_rate(self.epsilon, histogram)
        unstable = unstable_slots(histogram, self.k_bar, self.contribution)
        if not unstable or histogram.next_count is None:
            return LinearScores(histogram.array, rate), histogram.k_bar  # P0.8: m = 0 means no ⊥ at all
        counts = histogram.array
        if self.strict:  # P3.4: never the contribution bound here (P1.6 d)
            counts = counts[counts > histogram.next_count]
            unstable = self.k_bar
        # Scores are taken relative to the next count: only differences matter, and small numbers keep their digits.
        relative = counts - np.int64(histogram.next_count)
        return concat_scores(LinearScores(relative, rate), RealScores([self._bottom_offset(unstable)])), len(relative)
