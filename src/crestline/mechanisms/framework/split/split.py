"""Split of a budget between choosing and testing: the one that names most items on a public reference.

A total (ε, δ) is divided by three shares: of ε for the test, of the test's ε for its threshold, and of δ for the
failures of the test (the rest is slack for the accountant). None of them may depend on the data. The reference is a
power law, scaled so that about half of the items are named: where everything or nothing passes, all splits are equal.
See docs/decisions/split-of-the-budget.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from crestline.guarantees.root_finding import bisect_floats
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.split.expected_items import RankedCounts, expected_items, power_law_counts
from crestline.randomness.laws.law import Law

EXPONENT = 0.6  # counts of real data fall with this exponent, ± 0.2, between rank k and rank 10 k

TESTS = tuple(Fraction(n, 20) for n in range(1, 19))
THRESHOLDS = tuple(Fraction(n, 20) for n in range(8, 20))
_PERCENTS = (1, 2, 5, 10, 15, 20, 25, 35, 50, 65, 80, 90)  # the shares of δ that are tried
FAILURES = tuple(Fraction(n, 100) for n in _PERCENTS)
_START = (6, 7, 6)  # indices of the three shares: 0.35, 0.75, 0.25

_DOUBLINGS = 60  # steps after which a search ends
_LARGEST = 600.0  # the logarithm of more users than there are, and of a number that a float still holds


@dataclass(frozen=True)
class Split:
    """Shares: of ε for the test, of the test's ε for its threshold, of δ for the test's failures."""

    test: Fraction
    threshold: Fraction
    failure: Fraction

    def exponential_test(self, epsilon: Fraction, delta: Fraction) -> ExponentialTest:
        whole = epsilon * self.test
        return ExponentialTest(whole * self.threshold, whole * (1 - self.threshold), delta * self.failure)

    def slack(self, delta: Fraction) -> Fraction:
        return delta * (1 - self.failure)


Scale = Callable[[Split], float]
"""Scale of the noise, in users, that remains for the choice; infinite if no budget does."""


def best_split(
    k: int,
    k_bar: int,
    epsilon: Fraction,
    delta: Fraction,
    noise: Law,
    scale: Scale,
    failures: tuple[Fraction, ...] = FAILURES,
) -> Split:
    """The split, on a grid of round shares, that names most items on the reference; found by hill climbing."""
    values: dict[tuple[int, int, int], float] = {}

    def split_at(place: tuple[int, int, int]) -> Split:
        return Split(TESTS[place[0]], THRESHOLDS[place[1]], failures[place[2]])

    @cache
    def scale_and_test(place: tuple[int, int, int]) -> tuple[float, ExponentialTest]:
        return scale(split_at(place)), split_at(place).exponential_test(epsilon, delta)

    def items_named(head: RankedCounts, place: tuple[int, int, int]) -> float:
        spread, test = scale_and_test(place)
        return expected_items(head, k, noise, spread, test) if math.isfinite(spread) else -math.inf

    first, second, third = _START
    place = (first, second, min(third, len(failures) - 1))
    head = _scale_until(power_law_counts(k_bar, EXPONENT), lambda reference: items_named(reference, place) >= k / 2)
    while True:
        for near in _grid_neighbours(place, (len(TESTS), len(THRESHOLDS), len(failures))):
            if near not in values:
                values[near] = items_named(head, near)
        best = max(_grid_neighbours(place, (len(TESTS), len(THRESHOLDS), len(failures))), key=lambda near: values[near])
        if values[best] <= values[place]:
            return split_at(place)
        place = best


def _grid_neighbours(place: tuple[int, int, int], sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    """A point of the grid, and its neighbours one step away in one direction."""
    yield place
    for axis in range(3):
        for step in (-1, 1):
            moved = list(place)
            moved[axis] += step
            if 0 <= moved[axis] < sizes[axis]:
                yield (moved[0], moved[1], moved[2])


def _scale_until(shape: RankedCounts, enough: Callable[[RankedCounts], bool]) -> RankedCounts:
    """The shape scaled to the users at which `enough` becomes true: by doubling, then bisection."""
    low, high = 0.0, 1.0
    for _ in range(_DOUBLINGS):
        if enough(shape.scaled_by(math.exp(high))):
            break
        low, high = high, min(1.5 * high, _LARGEST)
    # few turns: any scale near half of k items suffices
    _, found = bisect_floats(lambda users: enough(shape.scaled_by(math.exp(users))), low, high, turns=12)
    return shape.scaled_by(math.exp(found))


def largest_mu(epsilon: float, slack: float, test: ExponentialTest) -> float:
    """Approximate μ of a Gaussian loss that fits (epsilon, slack) with the test's two-point loss; 0 if none does.

    Many small bounded-range steps of one ε lose about as much as Gaussian noise with `μ = ε √k / 2`. This guides
    searches; the accountant decides.
    """
    above, below = float(test.epsilon1 + test.epsilon2), float(test.epsilon2)

    def delta_needed(mu: float) -> float:
        return max(_two_point_delta(mu, epsilon, above, below), _two_point_delta(mu, epsilon, below, above))

    highest = 2 * math.sqrt(epsilon) + epsilon + 1  # the upper end of a search
    return bisect_floats(lambda mu: delta_needed(mu) > slack, 0.0, highest, turns=40)[0]


def _two_point_delta(mu: float, epsilon: float, above: float, below: float) -> float:
    """δ at ε of a Gaussian loss plus `above` or `-below`: the mean of the Gaussian's δ, shifted (P2.6)."""
    chance = math.expm1(-below) / math.expm1(-(above + below))
    return chance * _gaussian(mu, epsilon - above) + (1 - chance) * _gaussian(mu, epsilon + below)


def _gaussian(mu: float, epsilon: float) -> float:
    """δ of a Gaussian loss at ε (P2.6)."""
    growth = math.exp(min(epsilon, 700.0))  # the cap only keeps the exponential finite
    return _normal_cdf(mu / 2 - epsilon / mu) - growth * _normal_cdf(-mu / 2 - epsilon / mu)


def _normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2
