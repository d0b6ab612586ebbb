"""Framework mechanisms within a total (ε, δ): the split first, by an estimate; then the noise, by the accountant.

The accountant checks that the result is within the total. The estimate only decides which split is tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.cost import Step, repeat_step
from crestline.guarantees.guarantee import BoundedRange, GaussianDP
from crestline.guarantees.root_finding import cached_by_accuracy, largest_within
from crestline.guarantees.rounding import round_down
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.split.split import Split, best_split, largest_mu
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gaussian import GAUSSIAN
from crestline.randomness.laws.gumbel import GUMBEL

_DIGITS = 6  # digits to which the budget is used up
_SPLIT_DIGITS = 2  # of the ε that a split is chosen for: the next ones would choose the same
SLOTS = 10  # for each item wanted, by default (P12.1): for utility
_ALL_OF_DELTA = (Fraction(1),)


@dataclass(frozen=True)
class FittedFramework:
    """Parameters within a budget: the size of the choice's steps, the test, and the accountant's slack."""

    size: Fraction
    test: ExponentialTest
    slack: Fraction


@cached_by_accuracy(maxsize=256)
def fit_gumbel(k: int, k_bar: int, epsilon: Fraction, delta: Fraction) -> FittedFramework:
    """Parameters for Gumbel noise; `size` is the ε of each of k bounded-range steps."""
    split = _gumbel_split(k, k_bar, round_down(epsilon, _SPLIT_DIGITS), delta)
    return _fit_parts(split, epsilon, delta, k, BoundedRange, _gumbel_size(split, k, epsilon, delta))


@cached_by_accuracy(maxsize=256)
def fit_normal(k: int, k_bar: int, epsilon: Fraction, delta: Fraction, squared: Fraction) -> FittedFramework:
    """Parameters for Gaussian noise; `size` is the μ² of one step, `squared` its squared sensitivity, in users."""
    split = _normal_split(k, k_bar, round_down(epsilon, _SPLIT_DIGITS), delta, squared)
    return _fit_parts(split, epsilon, delta, 1, GaussianDP, _normal_mu(split, epsilon, delta) ** 2)


@lru_cache(maxsize=256)
def fit_pure(k: int, k_bar: int, epsilon: Fraction, delta: Fraction, noise: str) -> FittedFramework:
    """Parameters for pure noise; `size` is the ε of one pure step of the rate `size / k`.

    Choice and test are added up, so all of δ is for the test.
    """

    def scale(split: Split) -> float:
        return k / float(epsilon * (1 - split.test))

    split = best_split(k, k_bar, epsilon, delta, LAWS[noise], scale, _ALL_OF_DELTA)
    return FittedFramework(epsilon * (1 - split.test), split.exponential_test(epsilon, delta), Fraction(0))


@lru_cache(maxsize=256)
def _gumbel_split(k: int, k_bar: int, epsilon: Fraction, delta: Fraction) -> Split:
    """The best split for Gumbel noise."""
    return best_split(k, k_bar, epsilon, delta, GUMBEL, lambda split: 1 / _gumbel_size(split, k, epsilon, delta))


def _gumbel_size(split: Split, k: int, epsilon: Fraction, delta: Fraction) -> float:
    """Estimate of the ε of each step that the split leaves."""
    test = split.exponential_test(epsilon, delta)
    many = 2 * largest_mu(float(epsilon), float(split.slack(delta)), test) / math.sqrt(k)
    return max(many, float(epsilon * (1 - split.test)) / k)  # the latter by plain addition


@lru_cache(maxsize=256)
def _normal_split(k: int, k_bar: int, epsilon: Fraction, delta: Fraction, squared: Fraction) -> Split:
    """The best split for Gaussian noise."""

    def scale(split: Split) -> float:
        mu = _normal_mu(split, epsilon, delta)
        return math.sqrt(squared) / mu if mu else math.inf

    return best_split(k, k_bar, epsilon, delta, GAUSSIAN, scale)


def _normal_mu(split: Split, epsilon: Fraction, delta: Fraction) -> float:
    """Estimate of the μ that the split leaves."""
    return largest_mu(float(epsilon), float(split.slack(delta)), split.exponential_test(epsilon, delta))


def _fit_parts(
    split: Split, epsilon: Fraction, delta: Fraction, times: int, step: Callable[[Fraction], Step], guess: float
) -> FittedFramework:
    """The largest steps that fit in addition to the test."""
    test, slack = split.exponential_test(epsilon, delta), split.slack(delta)

    def total_of_size(size: Fraction) -> Fraction:
        return total_epsilon(repeat_step(step(size), times) + test.cost(), slack)

    return FittedFramework(largest_within(total_of_size, epsilon, start=Fraction(guess), digits=_DIGITS), test, slack)
