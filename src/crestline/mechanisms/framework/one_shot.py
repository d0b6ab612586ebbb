"""Restricted one-shot selection with pure noise: permute-and-flip's exponential noise, or Laplace noise.

Seed        CarvalhoWang, the framework, with one-shot mechanisms inside (ShekelyanLoukides2022, Algorithm 2, E-D8)
Guarantee   (ε + ε_R, δ_R); ε' by composition of one pure step and the test when there is slack (P5.1, P8.1)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational ε, ideal keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_one_shot.md
"""

from __future__ import annotations

from typing import Self

from crestline.exact_fields import ConvertedField, Number, field, value
from crestline.exact_numbers import non_negative_number, positive_number
from crestline.guarantees.cost import Cost, repeat_step
from crestline.guarantees.guarantee import PureDP
from crestline.mechanisms.framework.framework import check_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.one_shot_base import OneShotBase
from crestline.mechanisms.framework.split.fit import SLOTS, fit_pure
from crestline.mechanisms.privacy_total import PrivacyTotal
from crestline.mechanisms.slot_checks import CountsWithUnit, unit_rate
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import LinearScores


@value
class _PureOneShot(OneShotBase):
    """Base class; `epsilon` is for the whole choice: k items of rate `epsilon / k` each (P8.1, monotone counts)."""

    epsilon: Number = field(positive_number)
    test: ConvertedField[GapTest, GapTest] = field(check_test)
    slack: Number = field(non_negative_number, default=0, kw_only=True)

    theorem = "P5.1, P8.1"

    @classmethod
    def fit(cls, total: PrivacyTotal) -> Self:
        """The instance with the one-sided test, and ten slots for each item wanted unless `k_bar` is given.

        The split names most items on a public reference (split/split.py). A contribution bound has no effect.
        """
        delta, _ = total.split_delta()
        slots = total.slots(SLOTS)
        parts = fit_pure(total.k, slots, total.epsilon, delta, cls.noise.name)
        return cls(total.k, slots, parts.size, parts.test, slack=parts.slack)

    def scores(self, view: CountsWithUnit) -> LinearScores:
        return LinearScores(view.array, unit_rate(self.epsilon / self.k, view))

    def cost(self) -> Cost:
        return repeat_step(PureDP(self.epsilon, theorem="P8.1")) + self.test.cost()


@value
class RestrictedPermuteAndFlip(_PureOneShot):
    """Chooses k slots by exponential noise (permute-and-flip for k = 1), then names those that pass the test.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for the whole choice.
        test: Test that decides how many of the chosen items are named.
        slack: Failure probability of the accountant.
    """

    noise = EXPONENTIAL


@value
class RestrictedLaplace(_PureOneShot):
    """Chooses k slots by Laplace noise, added once to every count, then names those that pass the test.

    Attributes:
        k: Items wanted.
        k_bar: Slots that it sees.
        epsilon: ε for the whole choice.
        test: Test that decides how many of the chosen items are named.
        slack: Failure probability of the accountant.
    """

    noise = LAPLACE
