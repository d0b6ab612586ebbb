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

from crestline.exact_fields import ConvertedField, Number, WholeOrNone, field, value
from crestline.exact_numbers import non_negative_number, positive_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import GaussianDP
from crestline.guarantees.rounding import ball, decimal_above, precision
from crestline.mechanisms.framework.framework import check_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.one_shot_base import OneShotBase
from crestline.mechanisms.framework.split.fit import SLOTS, fit_normal
from crestline.mechanisms.numerics.sensitivity import order_sensitivity_squared
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.slot_checks import CountsWithUnit, check_contribution
from crestline.randomness.laws.gaussian import GAUSSIAN
from crestline.randomness.scores import LinearScores


@value
class RestrictedNormal(OneShotBase):
    """Chooses k slots by Gaussian noise, then names those that pass the test.

    The number of items does not enter the cost.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        sigma: Standard deviation of the noise, in users.
        test: Test that decides how many of the chosen items are named.
        contribution: Public bound on the items of one user; None: no bound.
        slack: Failure probability of the accountant.
    """

    sigma: Number = field(positive_number)
    test: ConvertedField[GapTest, GapTest] = field(check_test)
    contribution: WholeOrNone = field(check_contribution, default=None)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    noise = GAUSSIAN
    theorem = "P5.1, P5.5"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance with the one-sided test, and ten slots for each item wanted unless `k_bar` is given.

        The split names most items on a public reference (split/split.py).
        """
        delta, _ = total.split_delta()
        slots, bound = total.slots(SLOTS), total.contribution
        squared = order_sensitivity_squared(slots, bound) or Fraction(1)  # a single slot has no order: any noise does
        parts = fit_normal(total.k, slots, total.epsilon, delta, squared)
        with precision():
            sigma = decimal_above((ball(squared) / ball(parts.size)).sqrt())
        return cls(total.k, slots, sigma, parts.test, bound, slack=parts.slack)

    @property
    def scale(self) -> Fraction:
        return self.sigma

    def scores(self, view: CountsWithUnit) -> LinearScores:
        return LinearScores(view.array, Fraction(1, view.unit))

    def cost(self) -> Cost:
        mu_squared = order_sensitivity_squared(self.k_bar, self.contribution) / self.sigma**2
        return repeat_step(GaussianDP(mu_squared, theorem="P5.5")) + self.test.cost()
