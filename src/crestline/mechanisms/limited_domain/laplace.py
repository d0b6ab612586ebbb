"""Limited domain with Laplace noise: noisy counts, in descending order, down to that of ⊥; publishing them is free.

Seed        DurfeeRogers2019, Algorithm 4, corrected (E-A2, E-A3)
Guarantee   (Δ ε, δ) with the exact tail; without counts also (min(Δ, ⌊(k_bar + 1)/2⌋) ε, δ), Δ known or not (P4.1)
Assumes     distinct users per item; ranked in byte order and padded; no user has more items than `contribution`
Numerics    exact: integer counts, rational ε and T, ideal Laplace keys decided with certainty (P11), T certified
Proof note  docs/proofs/limited_domain_laplace.md
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import Self

from crestline.errors import HistogramError
from crestline.guarantees.accountants import per_step_epsilon, total
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import Guarantee, PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.additive import UNION, AdditiveNoise, checked_counts, checked_threshold
from crestline.mechanisms.numerics.sensitivity import most_moved, order_sensitivity
from crestline.mechanisms.numerics.thresholds import laplace_threshold, laplace_union_threshold
from crestline.mechanisms.slots import contribution_bound, slot_numbers
from crestline.parameters import Exact, fill, not_negative, positive, probability, whole
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import Scores

# Slots for each item wanted, when the caller does not say; with a bound their number does not enter the noise.
_SLOTS, _SLOTS_BOUNDED = 5, 100  # a matter of utility: any number keeps the promise


@dataclass(frozen=True, init=False)
class LimitedDomainLaplace(AdditiveNoise):
    """`epsilon` is for each item of one user. `counts` publishes the noisy counts, rounded to multiples of `grid`."""

    k: int
    k_bar: int
    epsilon: Fraction
    delta: Fraction
    contribution: int | None
    counts: bool
    grid: int
    threshold: str
    slack: Fraction

    noise = LAPLACE
    theorem = "P4.1"

    def __init__(
        self,
        k: int,
        k_bar: int,
        epsilon: Exact,
        delta: Exact,
        contribution: int | None,
        *,
        counts: bool = False,
        grid: int = 1,
        threshold: str = UNION,
        slack: Exact = 0,
    ) -> None:
        k, k_bar = slot_numbers(k, k_bar)
        bound = contribution_bound(contribution)
        fill(
            self,
            k=k,
            k_bar=k_bar,
            epsilon=positive(epsilon, "epsilon"),
            delta=probability(delta, "delta"),
            contribution=bound,
            counts=checked_counts(counts, bound),
            grid=whole(grid, "grid"),
            threshold=checked_threshold(threshold),
            slack=not_negative(slack, "slack"),
        )

    @classmethod
    def for_budget(
        cls,
        *,
        k: int,
        k_bar: int | None = None,
        epsilon: Exact,
        delta: Exact,
        contribution: int | None = None,
        counts: bool = False,
    ) -> Self:
        """The instance within a total (epsilon, delta) that needs the smallest margin.

        Either steps are simply added up and all of δ is for failures, or half of δ pays for a tighter composition.
        """
        budget, failure = positive(epsilon, "epsilon"), probability(delta, "delta")
        bound = contribution_bound(contribution)
        free = (_SLOTS if bound is None else _SLOTS_BOUNDED) * whole(k, "k")
        _, slots = slot_numbers(k, free if k_bar is None else k_bar)
        moved = most_moved if counts else order_sensitivity
        times = moved(slots + 1, bound)

        half = failure / 2
        composed = per_step_epsilon(times, budget, half, step=PureDP)
        if not counts:
            composed = max(composed, 2 * per_step_epsilon(slots + 1, budget, half, step=PureDP))
        added = cls(k, slots, budget / times, failure, contribution, counts=counts)
        tight = cls(k, slots, composed, half, contribution, counts=counts, slack=half)
        return min(added, tight, key=lambda instance: instance.margin())

    @property
    def scale(self) -> Fraction:
        return 1 / self.epsilon

    def lead(self, unstable: int) -> Fraction:
        union = self.threshold == UNION
        unit = laplace_union_threshold(unstable, self.delta) if union else laplace_threshold(self.delta / unstable)
        return unit / self.epsilon

    def surplus(self, chance: Exact) -> Fraction:
        wanted = probability(chance, "chance")
        unit = laplace_threshold(1 - wanted) - laplace_threshold(wanted)  # one of them is zero
        return unit / self.epsilon

    def spread(self, chance: float = 0.95) -> float:
        """The error of a published count, in users and before rounding, that is not exceeded with this chance."""
        return -math.log(1 - chance) / float(self.epsilon)

    def cost(self) -> Cost:
        """One pure step for each number that one user moves; the list of steps with the smallest zCDP cost."""
        return min(self._costs(), key=lambda cost: cost.rho)

    def guarantee(self) -> Guarantee:
        """The promise, computed from whichever of the two valid lists of steps gives the smaller ε."""
        promises = (total(cost, self.slack, theorem=self.theorem) for cost in self._costs())
        return min(promises, key=attrgetter("epsilon"))

    def _costs(self) -> list[Cost]:
        numbers = self.k_bar + 1
        if self.counts:
            return [self._moved(most_moved(numbers, self.contribution))]
        # Up to a shift by one, at most half of the numbers move; up to a shift by 1/2, all do, by half as much (P2.7).
        halves = steps(PureDP(self.epsilon / 2, theorem="P2.7"), numbers, delta=self.delta)
        return [self._moved(order_sensitivity(numbers, self.contribution)), halves]

    def _moved(self, numbers: int) -> Cost:
        return steps(PureDP(self.epsilon, theorem="P4.1"), numbers, delta=self.delta)

    def _counted(self, histogram: Histogram, base: int) -> Scores:
        if histogram.step != 1:
            raise HistogramError("Laplace noise is charged by the items one user has: count distinct users per item")
        return super()._counted(histogram, base)
