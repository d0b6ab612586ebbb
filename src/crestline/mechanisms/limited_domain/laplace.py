"""Limited domain with Laplace noise: noisy counts, in descending order, down to that of ⊥; publishing them is free.

Seed        DurfeeRogers2019, Algorithm 4, corrected (E-A2, E-A3)
Guarantee   (Δ ε, δ) with the exact tail; without counts also (min(Δ, ⌊(k_bar + 1)/2⌋) ε, δ), Δ known or not (P4.1)
Assumes     distinct users per item; ranked in byte order and padded; no user has more items than `contribution`
Numerics    exact: integer counts, rational ε and T, ideal Laplace keys decided with certainty (P11), T certified
Proof note  docs/proofs/limited_domain_laplace.md
"""

from __future__ import annotations

import math
from fractions import Fraction
from operator import attrgetter
from typing import Self

from crestline.errors import HistogramError
from crestline.exact_fields import Flag, Name, Number, Whole, WholeOrNone, field, to_bool, value
from crestline.exact_numbers import Exact, non_negative_number, one_of_names, positive_number, probability, whole_number
from crestline.guarantees.accountants import per_step_epsilon, total
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import Guarantee, PureDP
from crestline.mechanisms.limited_domain.additive import CLOSED, UNION, AdditiveNoise
from crestline.mechanisms.numerics.sensitivity import numbers_moved, order_sensitivity
from crestline.mechanisms.numerics.thresholds import laplace_threshold, laplace_union_threshold
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.slot_checks import check_contribution
from crestline.randomness.laws.laplace import LAPLACE

# Slots for each item wanted, by default; with a bound their number does not enter the noise.
_SLOTS, _SLOTS_BOUNDED = 5, 100  # for utility: any number keeps the promise


@value
class LimitedDomainLaplace(AdditiveNoise):
    """Adds Laplace noise to every count and to ⊥, and names items by descending noisy count until ⊥.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for each item of one user; the scale of the noise is 1/epsilon.
        delta: δ for failures.
        contribution: Public bound on the items of one user; None: no bound.
        counts: Whether to publish the noisy counts; needs `contribution`.
        grid: Published counts are rounded to multiples of it.
        threshold: `"union"`, the exact tail of the largest noise, or `"closed"`, a union bound.
        slack: Failure probability of the accountant.
    """

    epsilon: Number = field(positive_number)
    delta: Number = field(probability)
    contribution: WholeOrNone = field(check_contribution)
    counts: Flag = field(to_bool, default=False, kw_only=True)
    grid: Whole = field(whole_number, default=1, kw_only=True)
    threshold: Name = field(one_of_names((UNION, CLOSED)), default=UNION, kw_only=True)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    noise = LAPLACE
    theorem = "P4.1"

    @classmethod
    def fit(cls, total: PrivacyTotal, *, counts: bool = False) -> Self:
        """The instance within the total that has the smallest margin.

        Either steps are simply added up and all of δ is for failures, or half of δ pays for a tighter composition.
        """
        k, bound = total.k, total.contribution
        slots = total.slots(_SLOTS if bound is None else _SLOTS_BOUNDED)
        moved = numbers_moved if counts else order_sensitivity
        times = moved(slots + 1, bound)

        delta_failure, delta_slack = total.split_delta(Fraction(1, 2))
        composed = per_step_epsilon(times, total.epsilon, delta_slack, step=PureDP)
        if not counts:
            composed = max(composed, 2 * per_step_epsilon(slots + 1, total.epsilon, delta_slack, step=PureDP))
        added = cls(k, slots, total.epsilon / times, total.delta, bound, counts=counts)
        tight = cls(k, slots, composed, delta_failure, bound, counts=counts, slack=delta_slack)
        return min(added, tight, key=lambda instance: instance.margin())

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon

    def bottom_height(self, unstable: int) -> Fraction:
        union = self.threshold == UNION
        unit = laplace_union_threshold(unstable, self.delta) if union else laplace_threshold(self.delta / unstable)
        return unit / self.epsilon

    def margin_over_stop(self, chance: Exact) -> Fraction:
        wanted = probability(chance, "chance")
        unit = laplace_threshold(1 - wanted) - laplace_threshold(wanted)  # one of them is zero
        return unit / self.epsilon

    def spread(self, chance: float = 0.95) -> float:
        """Error of a published count, in users and before rounding, that is not exceeded with probability `chance`."""
        return -math.log(1 - chance) / float(self.epsilon)

    def cost(self) -> Cost:
        """One pure step for each number that one user moves; of two valid lists, the one with the smaller zCDP cost."""
        return min(self._possible_costs(), key=lambda cost: cost.rho)

    def guarantee(self) -> Guarantee:
        """The promise, from the one of two valid lists of steps that gives the smaller ε."""
        promises = (total(cost, self.slack, theorem=self.theorem) for cost in self._possible_costs())
        return min(promises, key=attrgetter("epsilon"))

    def _possible_costs(self) -> list[Cost]:
        numbers = self.k_bar + 1
        if self.counts:
            return [self._cost_of_moves(numbers_moved(numbers, self.contribution))]
        # Up to a shift by one, at most half of the numbers move; up to a shift by 1/2, all do, by half as much (P2.7).
        halves = repeat_step(PureDP(self.epsilon / 2, theorem="P2.7"), numbers, delta=self.delta)
        return [self._cost_of_moves(order_sensitivity(numbers, self.contribution)), halves]

    def _cost_of_moves(self, numbers: int) -> Cost:
        return repeat_step(PureDP(self.epsilon, theorem="P4.1"), numbers, delta=self.delta)

    def _check_unit(self, unit: int) -> None:
        if unit != 1:
            raise HistogramError("Laplace noise is charged by the items one user has: count distinct users per item")
