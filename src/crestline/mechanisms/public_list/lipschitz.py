"""One-shot Lipschitz mechanism: the k items with the largest noisy counts of a public list.

Seed        ShekelyanLoukides2022, Algorithm 2, corrected (E-D6, E-D8, E-D10)
Guarantee   ε-DP for the set and for the order (P8.1); Gumbel noise: k bounded-range steps of ε/k (P2.1)
Assumes     the list of items is public, every item listed or counted; a user moves each count by at most the step
Numerics    exact: integer counts, rational ε, ideal keys decided with certainty (P11)
Proof note  docs/proofs/lipschitz.md

By its noise it is the exponential mechanism or peeling (Gumbel), permute-and-flip (exponential, k = 1),
report-noisy-max (Laplace), or a one-shot top-k variant of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Self, Unpack

import numpy as np

from crestline.exact_fields import Flag, Name, Number, Whole, field, to_bool, value
from crestline.exact_numbers import non_negative_number, positive_number, whole_number
from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import BoundedRange, PureDP
from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import BuiltIn
from crestline.mechanisms.numerics.order_law import order_chances, peeling_chances
from crestline.mechanisms.privacy_total import PrivacyTotal, TotalArguments
from crestline.mechanisms.public_list.largest_keys import draw_top_ranks
from crestline.mechanisms.public_list.noises import lipschitz_noise, winning_margin
from crestline.mechanisms.selection import Selection, select_ranks, select_rows
from crestline.mechanisms.slot_checks import ordered_choices, unit_rate
from crestline.randomness.entropy import Entropy
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gumbel import GUMBEL


@value
class Lipschitz(BuiltIn):
    """Names the k items of a public list with the largest noisy counts.

    Attributes:
        k: Items wanted.
        epsilon: ε for the whole selection.
        noise: Name of one of the five noises of P8.1.
        ordered: Whether to release a list; otherwise a set.
        monotone: Whether all counts move in one direction when a user is added or removed, as numbers of users do;
            otherwise the noise doubles.
        slack: Failure probability of the accountant.
    """

    k: Whole = field(whole_number)
    epsilon: Number = field(positive_number)
    noise: Name = field(lipschitz_noise, default=GUMBEL.name)
    ordered: Flag = field(to_bool, default=True)
    monotone: Flag = field(to_bool, default=True, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P8.1"

    @classmethod
    def for_budget(cls, *, noise: str = GUMBEL.name, **total: Unpack[TotalArguments]) -> Self:
        """Return the instance within a total (epsilon, delta).

        Args:
            noise: Name of one of the five noises of P8.1.
            **total: `k`, `epsilon`, `delta`; `k_bar` and `contribution` have no effect, since the whole list is read
                and every count may move.
        """
        return cls.fit(PrivacyTotal.from_arguments(cls, total), noise=noise)

    @classmethod
    def fit(cls, total: PrivacyTotal, *, noise: str = GUMBEL.name) -> Self:
        """The instance within a total; Gumbel noise composes its k steps, and all of δ is slack."""
        k, delta_slack = total.k, total.delta
        if lipschitz_noise(noise) == GUMBEL.name:
            return cls(k, k * per_step_epsilon(k, total.epsilon, delta_slack), slack=delta_slack)
        return cls(k, per_step_epsilon(1, total.epsilon, delta_slack, step=PureDP), noise, slack=delta_slack)

    def cost(self) -> Cost:
        if self.noise == GUMBEL.name:
            return repeat_step(BoundedRange(self.epsilon / self.k, theorem="P2.1"), self.k)
        return repeat_step(PureDP(self.epsilon, theorem=self.theorem))

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[Selection]:
        items = count_levels(histogram)
        ranks = draw_top_ranks(items, min(self.k, items.items), self._rate(histogram), LAWS[self.noise], n, entropy)
        return select_rows(ranks, lambda row: self._selection(histogram, row))

    def law(self, histogram: Histogram) -> Mapping[Selection, float]:
        """Exact probability of every selection, for small histograms; ParameterError if there are too many outcomes."""
        counts = count_levels(histogram).all_counts()
        drawn = min(self.k, len(counts))
        if not drawn:
            return {self._selection(histogram, []): 1.0}
        scores = (counts - counts.max()) * float(self._rate(histogram))
        orders = np.array(list(ordered_choices(range(len(counts)), drawn)), dtype=np.int64)
        gumbel = self.noise == GUMBEL.name
        chances = peeling_chances(scores, orders) if gumbel else order_chances(scores, LAWS[self.noise], orders)
        law: defaultdict[Selection, float] = defaultdict(float)
        for order, chance in zip(orders.tolist(), chances.tolist(), strict=True):
            law[self._selection(histogram, order)] += chance
        return dict(law)

    def margin(self, chance: float = 0.95) -> float:
        """Users by which an item must exceed another to come before it with probability `chance`."""
        return winning_margin(LAWS[self.noise], 1 - chance) / float(self._unit_rate())

    def shortfall(self, items: int, beta: float = 0.05) -> float:
        """Bound on the users by which a returned item is below the k-th count, with probability 1 - beta.

        A union bound over the pairs of one item of the true top k and one outside it, of `items` in all.
        """
        pairs = self.k * max(1, items - self.k)
        return winning_margin(LAWS[self.noise], beta / pairs) / float(self._unit_rate())

    def _unit_rate(self) -> Fraction:
        """ε/k for monotone counts, ε/(2k) for scores of sensitivity one (P8.1)."""
        return self.epsilon / (self.k if self.monotone else 2 * self.k)

    def _rate(self, histogram: Histogram) -> Fraction:
        return unit_rate(self._unit_rate(), histogram)

    def _selection(self, histogram: Histogram, ranks: list[int]) -> Selection:
        return select_ranks(histogram, ranks, self.k, ordered=self.ordered)
