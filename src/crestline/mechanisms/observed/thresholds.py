"""The threshold T of P17.4 and P17.5: the new items of one user exceed it with probability at most δ.

A user all of whose t kept items are new gives each of them the weight w(t). T is the least number for which `1 - F((T
- w(t))/scale)^t ≤ δ` for every t up to the cap. It is found in doubles, rounded up, and certified in balls.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from crestline.guarantees.rounding import ball, precision
from crestline.mechanisms.observed.weights import UNIT, Weights, gaussian_weights, laplace_weights
from crestline.randomness.unit_points import Floats

Tail = Callable[[arb], arb]

# Distance above the threshold in doubles, relative to the scale, to try first; each further trial is ten times as far.
_ABOVE = Fraction(1, 10**9)


@lru_cache(maxsize=1024)
def gaussian_threshold(contribution: int, cap: int, sigma: Fraction, delta: Fraction) -> Fraction:
    """T for Gaussian noise of standard deviation `sigma`, in users."""
    roughly = rough_threshold(contribution, cap, float(sigma), delta)
    return _certify_threshold(gaussian_weights(contribution, cap), sigma, delta, roughly, _gaussian_tail)


@lru_cache(maxsize=1024)
def laplace_threshold(contribution: int, cap: int, scale: Fraction, delta: Fraction) -> Fraction:
    """T for Laplace noise of scale `scale`, in users; `delta` is at most one half."""
    weights = laplace_weights(contribution, cap)
    roughly = _largest_rough_threshold(weights, float(scale), delta, lambda log_tail: -(log_tail + math.log(2)))
    return _certify_threshold(weights, scale, delta, roughly, _laplace_tail)


def chance_new_item_passes(weights: Weights, threshold: Fraction, sigma: Fraction) -> float:
    """Largest probability over t that one of t new items of a user passes, in doubles: for forecasts and tests."""
    from scipy.special import log_ndtr

    new = np.arange(1, len(weights) + 1)
    inside = log_ndtr((float(threshold) - weights / UNIT) / float(sigma))
    return float(-np.expm1(new * inside).min())


@lru_cache(maxsize=1024)
def rough_threshold(contribution: int, cap: int, sigma: float, delta: Fraction) -> float:
    """T for Gaussian noise in doubles: for forecasts, which compare many settings before one of them is used."""
    from scipy.special import ndtri_exp

    weights = gaussian_weights(contribution, cap)
    return _largest_rough_threshold(weights, sigma, delta, lambda log_tail: -ndtri_exp(log_tail))


def _largest_rough_threshold(
    weights: Weights, scale: float, delta: Fraction, quantile: Callable[[Floats], Floats]
) -> float:
    """Largest of `w(t) + scale · z_t` over t, with `1 - F(z_t)^t = δ`."""
    new = np.arange(1, len(weights) + 1)
    return float((weights / UNIT + scale * quantile(_log_tail_per_item(delta, new))).max())


def _log_tail_per_item(delta: Fraction, new: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """`ln(1 - (1-δ)^(1/t))`: log probability for one item with which one of t passes with probability δ."""
    size = float(delta)
    if size > 1e-15:
        return np.log(-np.expm1(math.log1p(-size) / new))
    return math.log(delta.numerator) - math.log(delta.denominator) - np.log(new)


def _certify_threshold(weights: Weights, scale: Fraction, delta: Fraction, roughly: float, tail: Tail) -> Fraction:
    above = _ABOVE
    while True:
        threshold = Fraction(math.ceil(Fraction(roughly) / (above * scale)) + 1) * above * scale
        if _threshold_holds(weights, threshold, scale, delta, tail):
            return threshold
        above *= 10


def _threshold_holds(weights: Weights, threshold: Fraction, scale: Fraction, delta: Fraction, tail: Tail) -> bool:
    """Whether `1 - F((T - w(t))/scale)^t ≤ δ` is certain for every t.

    A block t1..t2 is judged at once by the weight w(t1), the largest, and the power t2; where that is not enough, the
    block is halved.
    """
    blocks = [(1, len(weights))]
    with precision():
        limit = ball(delta)
        while blocks:
            first, last = blocks.pop()
            above = (ball(threshold) - ball(Fraction(int(weights[first - 1]), UNIT))) / ball(scale)
            passing = -(last * (-tail(above)).log1p()).expm1()
            if passing <= limit:
                continue
            if first == last:
                return False
            middle = (first + last) // 2
            blocks += [(first, middle), (middle + 1, last)]
    return True


def _gaussian_tail(place: arb) -> arb:
    return (place / arb(2).sqrt()).erfc() / 2


def _laplace_tail(place: arb) -> arb:
    """`Pr[noise > place]` for a place that is certainly not negative; one for any other."""
    return (-place).exp() / 2 if place >= 0 else arb(1)
