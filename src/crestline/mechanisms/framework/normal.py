"""Restricted normal: the k largest counts with Gaussian noise, tested in their noisy order.

Seed        CarvalhoWang, RestrictedNormal, corrected (E-C6)
Guarantee   (ε', δ_R + slack), ε' by composition of one Gaussian step and the test (P5.1, P5.5)
Assumes     distinct users per item; ranked in byte order and padded; no user has more items than `contribution`
Numerics    exact: integer counts, rational σ, ideal Gaussian keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_normal.md
"""

from __future__ import annotations

from fractions import Fraction
from typing import Self

from crestline.fields import Converted, Number, WholeOrNone, field, value
from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import GaussianDP
from crestline.guarantees.rounding import ball, precision, upper
from crestline.mechanisms.framework.framework import checked_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.noisy_order import OneShot
from crestline.mechanisms.framework.split.budget import SLOTS, normal_parts
from crestline.mechanisms.numerics.sensitivity import order_sensitivity_squared
from crestline.mechanisms.slots import Counted, contribution_bound
from crestline.mechanisms.total import Total
from crestline.parameters import not_negative, positive
from crestline.randomness.laws.gaussian import GAUSSIAN
from crestline.randomness.scores import Linear


@value
class RestrictedNormal(OneShot):
    """Chooses k slots by Gaussian noise, then names those that pass the test.

    `sigma` is the standard deviation of the noise, in users. The number of items does not enter the cost.
    """

    sigma: Number = field(positive)
    test: Converted[GapTest, GapTest] = field(checked_test)
    contribution: WholeOrNone = field(contribution_bound, default=None)
    slack: Number = field(not_negative, default=0, kw_only=True)

    noise = GAUSSIAN
    theorem = "P5.1, P5.5"

    @classmethod
    def fit(cls, total: Total) -> Self:
        """Takes the one-sided test, and ten slots for each item wanted unless `k_bar` is given.

        The split names most items on a public reference (split/split.py).
        """
        delta, _ = total.split_delta()
        slots, bound = total.slots(SLOTS), total.contribution
        squared = order_sensitivity_squared(slots, bound) or Fraction(1)  # a single slot has no order: any noise does
        parts = normal_parts(total.k, slots, total.epsilon, delta, squared)
        with precision():
            sigma = upper((ball(squared) / ball(parts.size)).sqrt())
        return cls(total.k, slots, sigma, parts.test, bound, slack=parts.slack)

    @property
    def scale(self) -> Fraction:
        return self.sigma

    def scores(self, view: Counted) -> Linear:
        return Linear(view.array, Fraction(1, view.unit))

    def cost(self) -> Cost:
        mu_squared = order_sensitivity_squared(self.k_bar, self.contribution) / self.sigma**2
        return steps(GaussianDP(mu_squared, theorem="P5.5")) + self.test.cost()
