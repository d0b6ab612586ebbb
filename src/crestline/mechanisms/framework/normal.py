"""Restricted normal: the k largest counts with Gaussian noise, tested in their noisy order.

Seed        CarvalhoWang, RestrictedNormal, corrected (E-C6)
Guarantee   (ε', δ_R + slack), ε' by composition of one Gaussian step and the test (P5.1, P5.5)
Assumes     distinct users per item; ranked in byte order and padded; no user has more items than `contribution`
Numerics    exact: integer counts, rational σ, ideal Gaussian keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_normal.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import GaussianDP
from crestline.guarantees.rounding import ball, precision, upper
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.framework import checked_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.noisy_order import OneShot
from crestline.mechanisms.framework.split.budget import normal_parts, slots_for
from crestline.mechanisms.numerics.sensitivity import order_sensitivity_squared
from crestline.mechanisms.slots import contribution_bound, slot_numbers
from crestline.parameters import Exact, fill, not_negative, positive, probability
from crestline.randomness.laws.gaussian import GAUSSIAN
from crestline.randomness.scores import Linear


@dataclass(frozen=True, init=False)
class RestrictedNormal(OneShot):
    """`sigma` is the standard deviation of the noise, in users. The number of items does not enter the cost."""

    k: int
    k_bar: int
    sigma: Fraction
    test: GapTest
    contribution: int | None
    slack: Fraction

    noise = GAUSSIAN
    theorem = "P5.1, P5.5"

    def __init__(
        self,
        k: int,
        k_bar: int,
        sigma: Exact,
        test: GapTest,
        contribution: int | None = None,
        *,
        slack: Exact = 0,
    ) -> None:
        k, k_bar = slot_numbers(k, k_bar)
        fill(
            self,
            k=k,
            k_bar=k_bar,
            sigma=positive(sigma, "sigma"),
            test=checked_test(test),
            contribution=contribution_bound(contribution),
            slack=not_negative(slack, "slack"),
        )

    @classmethod
    def for_budget(
        cls, *, k: int, k_bar: int | None = None, epsilon: Exact, delta: Exact, contribution: int | None = None
    ) -> Self:
        """The instance within a total (epsilon, delta), with the one-sided test; ten slots for each item wanted.

        The split names most items on a public reference (split/split.py).
        """
        slots, bound = slots_for(k, k_bar), contribution_bound(contribution)
        squared = order_sensitivity_squared(slots, bound) or Fraction(1)  # a single slot has no order: any noise does
        parts = normal_parts(k, slots, positive(epsilon, "epsilon"), probability(delta, "delta"), squared)
        with precision():
            sigma = upper((ball(squared) / ball(parts.size)).sqrt())
        return cls(k, slots, sigma, parts.test, bound, slack=parts.slack)

    @property
    def scale(self) -> Fraction:
        return self.sigma

    def scores(self, view: Histogram) -> Linear:
        return Linear(view.array, Fraction(1, view.step))

    def cost(self) -> Cost:
        mu_squared = order_sensitivity_squared(self.k_bar, self.contribution) / self.sigma**2
        return steps(GaussianDP(mu_squared, theorem="P5.5")) + self.test.cost()
