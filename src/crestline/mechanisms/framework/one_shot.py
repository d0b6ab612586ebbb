"""Restricted one-shot selection with pure noise: permute-and-flip's exponential noise, or Laplace noise.

Seed        CarvalhoWang, the framework, with one-shot mechanisms inside (ShekelyanLoukides2022, Algorithm 2, E-D8)
Guarantee   (ε + ε_R, δ_R); ε' by composition of one pure step and the test when there is slack (P5.1, P8.1)
Assumes     distinct users per item; ranked in byte order and padded; parameters chosen without the data
Numerics    exact: integer counts, rational ε, ideal keys and tests decided with certainty (P11)
Proof note  docs/proofs/restricted_one_shot.md
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from crestline.guarantees.cost import Cost, steps
from crestline.guarantees.guarantee import PureDP
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.framework import checked_test
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.framework.noisy_order import OneShot
from crestline.mechanisms.framework.split.budget import pure_parts, slots_for
from crestline.mechanisms.slots import slot_numbers, unit_rate
from crestline.parameters import Exact, fill, not_negative, positive, probability
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.laplace import LAPLACE
from crestline.randomness.scores import Linear


@dataclass(frozen=True, init=False)
class _PureOneShot(OneShot):
    """`epsilon` is for the whole choice: each of the k items has the rate `epsilon / k` (P8.1, monotone counts)."""

    k: int
    k_bar: int
    epsilon: Fraction
    test: GapTest
    slack: Fraction

    theorem = "P5.1, P8.1"

    def __init__(self, k: int, k_bar: int, epsilon: Exact, test: GapTest, *, slack: Exact = 0) -> None:
        k, k_bar = slot_numbers(k, k_bar)
        fill(
            self,
            k=k,
            k_bar=k_bar,
            epsilon=positive(epsilon, "epsilon"),
            test=checked_test(test),
            slack=not_negative(slack, "slack"),
        )

    @classmethod
    def for_budget(
        cls, *, k: int, k_bar: int | None = None, epsilon: Exact, delta: Exact, contribution: int | None = None
    ) -> Self:
        """The instance within a total (epsilon, delta), with the one-sided test; ten slots for each item wanted.

        The split names most items on a public reference (split/split.py). A contribution bound does not help here.
        """
        slots = slots_for(k, k_bar)
        parts = pure_parts(k, slots, positive(epsilon, "epsilon"), probability(delta, "delta"), cls.noise.name)
        return cls(k, slots, parts.size, parts.test, slack=parts.slack)

    def scores(self, view: Histogram) -> Linear:
        return Linear(view.array, unit_rate(self.epsilon / self.k, view))

    def cost(self) -> Cost:
        return steps(PureDP(self.epsilon, theorem="P8.1")) + self.test.cost()


@dataclass(frozen=True, init=False)
class RestrictedPermuteAndFlip(_PureOneShot):
    """Exponential noise: for k = 1 this is permute-and-flip, then the test."""

    noise = EXPONENTIAL


@dataclass(frozen=True, init=False)
class RestrictedLaplace(_PureOneShot):
    """Laplace noise, all at once."""

    noise = LAPLACE
