"""Thresholds: the least T for which an item that gained nothing passes a noisy test with probability at most δ.

Every threshold is an exact rational, solved in doubles, rounded up to a fine grid and then certified: its tail was
computed as a ball (tails.py) that lies wholly below δ (P11.3). All guarantees are monotone in T, so a threshold that
is slightly too large is safe.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from crestline.exact_numbers import Exact, positive_number, whole_number
from crestline.guarantees.rounding import ball, precision
from crestline.mechanisms.numerics import tails

GRID = Fraction(1, 10**12)  # finer than P11.3 needs, so that laws agree with the test vectors to ten digits

_CLOSE = 1e-14  # in the logarithm of the tail: the grid is coarser
_ONE = Fraction(1)

Tail = Callable[[Fraction], arb]


def laplace_threshold(delta: Exact) -> Fraction:
    """t for two Laplace noises of scale 1; for scale s the threshold is `s t`.

    >>> round(float(laplace_threshold("1e-6")), 8)
    15.27869016
    """
    return _cached_laplace(positive_number(delta, "delta"))


def two_rate_threshold(tested: Exact, shared: Exact, delta: Exact) -> Fraction:
    """T for a tested count with noise Lap(1/tested) against a threshold with noise Lap(1/shared)."""
    return _cached_two_rate(
        positive_number(tested, "tested"), positive_number(shared, "shared"), positive_number(delta, "delta")
    )


def failure_threshold(epsilon1: Exact, epsilon2: Exact, delta: Exact) -> Fraction:
    """T for one-sided tests that stop at the first failure: a count less Exp(ε2) against T less Exp(ε1) (P5.3)."""
    return _cached_failure(
        positive_number(epsilon1, "epsilon1"), positive_number(epsilon2, "epsilon2"), positive_number(delta, "delta")
    )


def success_threshold(tested: Exact, shared: Exact, delta: Exact) -> Fraction:
    """T for one-sided tests that stop at the first success: Exp(tested) is added to a gap, Exp(shared) to T (P6.2)."""
    return _cached_success(
        positive_number(tested, "tested"), positive_number(shared, "shared"), positive_number(delta, "delta")
    )


def gaussian_threshold(delta: Exact, shared: Exact = 1) -> Fraction:
    """t for Gaussian noises of standard deviation 1 and `shared`; for σ and `σ · shared` the threshold is `σ t`."""
    return _cached_gaussian(positive_number(delta, "delta"), positive_number(shared, "shared"))


def laplace_union_threshold(m: int, delta: Exact) -> Fraction:
    """t for m Laplace noises against one shared, all of scale 1: the exact form of the union bound."""
    return _cached_laplace_union(whole_number(m, "m"), positive_number(delta, "delta"))


def gaussian_union_threshold(m: int, delta: Exact, shared: Exact = 1) -> Fraction:
    """t for m Gaussian noises of variance 1 against a common one of deviation `shared`: exact, no union bound."""
    return _cached_gaussian_union(
        whole_number(m, "m"), positive_number(delta, "delta"), positive_number(shared, "shared")
    )


@lru_cache(maxsize=4096)
def _cached_laplace(delta: Fraction) -> Fraction:
    return _least_threshold(tails.two_laplace, delta, _ONE)


@lru_cache(maxsize=4096)
def _cached_two_rate(tested: Fraction, shared: Fraction, delta: Fraction) -> Fraction:
    guess = 1 / min(tested, shared)  # where the search starts; what is returned is certified itself
    return _least_threshold(lambda t: tails.two_rates(tested, shared, t), delta, guess)


@lru_cache(maxsize=4096)
def _cached_failure(epsilon1: Fraction, epsilon2: Fraction, delta: Fraction) -> Fraction:
    guess = 1 / epsilon1  # where the search starts; what is returned is certified itself
    return _least_threshold(lambda t: tails.one_sided_failure(epsilon1, epsilon2, t), delta, guess)


@lru_cache(maxsize=4096)
def _cached_success(tested: Fraction, shared: Fraction, delta: Fraction) -> Fraction:
    odds = shared / ((tested + shared) * delta)
    solved = math.log(odds.numerator) - math.log(odds.denominator)  # a guess: what is returned is certified itself
    guess = Fraction(max(1.0, solved + 1e-9)) / tested  # where the search starts
    return _least_threshold(lambda t: tails.one_sided_success(tested, shared, t), delta, guess)


@lru_cache(maxsize=4096)
def _cached_gaussian(delta: Fraction, shared: Fraction) -> Fraction:
    return _least_threshold(lambda t: tails.two_gaussians(t, shared), delta, _ONE)


@lru_cache(maxsize=4096)
def _cached_laplace_union(m: int, delta: Fraction) -> Fraction:
    return _least_threshold(
        lambda t: tails.laplace_union(m, t), delta, _cached_laplace(delta / m)
    )  # the union bound is close


@lru_cache(maxsize=4096)
def _cached_gaussian_union(m: int, delta: Fraction, shared: Fraction) -> Fraction:
    return _least_threshold(lambda t: tails.gaussian_union(m, t, shared), delta, _cached_gaussian(delta / m, shared))


def _least_threshold(tail: Tail, delta: Fraction, guess: Fraction) -> Fraction:
    """Smallest threshold on the grid, to a few of its steps, whose tail is certainly at most δ; never below zero.

    `guess` only guides the search; it must be positive.
    """
    # The error of a tail must be small against δ, so the smaller δ, the more bits.
    bits = 96 + max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
    with precision(bits):
        if tail(Fraction(0)) <= ball(delta):
            return Fraction(0)
        return _certify_upwards(tail, delta, _tail_root(tail, delta, guess))


def _tail_root(tail: Tail, delta: Fraction, guess: Fraction) -> Fraction:
    """Approximate solution of tail = δ, by false position on the logarithm of the tail, which is nearly straight."""
    target = ball(delta).log()

    def excess(t: Fraction) -> float:
        return float((tail(t).upper().log() - target).mid())

    low, high = Fraction(0), guess
    above, below = excess(low), excess(high)
    while below > 0:
        low, above, high = high, below, high * Fraction(3, 2)
        below = excess(high)
    stayed = 0  # the Illinois rule: an end that stays twice has its value halved, for speed
    while True:
        middle = low + _round_up_to_grid((high - low) * Fraction(above / (above - below)), GRID / 1024)
        value = excess(middle)
        if abs(value) < _CLOSE or middle in (low, high):  # the result is certified afterwards
            return middle
        if value > 0:
            low, above, below = middle, value, below / 2 if stayed > 0 else below
            stayed = 1
        else:
            high, below, above = middle, value, above / 2 if stayed < 0 else above
            stayed = -1


def _certify_upwards(tail: Tail, delta: Fraction, start: Fraction) -> Fraction:
    """First number on the grid from `start` on, in growing steps, whose tail is certainly at most δ."""
    candidate, step = _round_up_to_grid(start, GRID), GRID
    while not tail(candidate) <= ball(delta):
        candidate, step = candidate + step, 2 * step
    return candidate


def _round_up_to_grid(number: Fraction, grid: Fraction) -> Fraction:
    """The number rounded up to a multiple of the grid."""
    return math.ceil(number / grid) * grid
