"""Rényi divergences of single steps, and the ε of their sum (P10.2, P10.3 B5).

A curve gives, for one order a > 1, the logarithm of `E_Q[(P/Q)^a]`, the largest over all steps of its kind: `(a - 1)
D_a`. Logarithms add up over adaptively chosen steps with fixed parameters. Any order gives a valid ε; a good one is
searched in floating point and the bound is then evaluated in balls, rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

from flint import arb

from crestline.guarantees.rounding import ball, decimal_above, precision

Curve: TypeAlias = Callable[[arb], arb]

_LOG_EXCESS = (-14.0, 40.0)  # interval in which ln(a - 1) is searched; every order gives a bound


def bounded_range(epsilon: Fraction) -> Curve:
    """Curve of the worst ε-bounded-range step, exact (B5).

    With u = e^t the expression of B5 is `(A u^(a-1) - B u^a)/(1 - e^-ε)`, A = 1 - e^-aε, B = e^-ε - e^-aε: largest at
    `u = (a - 1)A/(aB)`, where it is `u^(a-1) A/a/(1 - e^-ε)`.
    """

    def curve(order: arb) -> arb:
        size = ball(epsilon)
        big, small = -(-order * size).expm1(), -(-(order - 1) * size).expm1() * (-size).exp()
        best = (order - 1) * big / (order * small)
        return (order - 1) * best.log() + (big / order / -(-size).expm1()).log()

    return curve


def loss_interval_curve(below: Fraction, above: Fraction) -> Curve:
    """Curve of the worst step whose loss lies in `[-below, above]` or in the mirror image: only the two ends occur."""

    def curve(order: arb) -> arb:
        return two_point_divergence(order, ball(above), ball(below)).max(
            two_point_divergence(order, ball(below), ball(above))
        )

    return curve


def two_point_divergence(order: arb, above: arb, below: arb) -> arb:
    """`ln E_Q[R^a]` when the ratio R is `e^above` or `e^-below` and has mean one under Q."""
    spread = above.exp() - (-below).exp()
    high, low = -(-below).expm1() / spread, above.expm1() / spread
    return (high * (order * above).exp() + low * (-order * below).exp()).log()


def gaussian(mu_squared: Fraction) -> Curve:
    """Curve of the Gaussian mechanism: a(a - 1)μ²/2, exact."""

    def curve(order: arb) -> arb:
        return order * (order - 1) * ball(mu_squared) / 2

    return curve


def epsilon(curves: Sequence[tuple[Curve, int]], delta: Fraction) -> Fraction:
    """Smallest ε found, rounded up, for `times` steps of each curve and failure probability δ (P10.2)."""
    used = tuple((curve, times) for curve, times in curves if times)
    if not used:
        return Fraction(0)
    with precision(64):  # a good order is enough: every order gives a bound
        best = _golden_section(
            lambda place: float(_epsilon_at_order(used, delta, Fraction(math.exp(place))).mid()), *_LOG_EXCESS
        )
    with precision():
        return decimal_above(_epsilon_at_order(used, delta, Fraction(math.exp(best))).max(arb(0)))


def _epsilon_at_order(curves: Sequence[tuple[Curve, int]], delta: Fraction, excess: Fraction) -> arb:
    """Bound of P10.2 at order 1 + excess."""
    order, gap = ball(1 + excess), ball(excess)
    divergence = sum((curve(order) * times for curve, times in curves), arb(0)) / gap
    return divergence - (order * ball(delta)).log() / gap + (gap / order).log()


def _golden_section(value: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search for an argument of small value; it need not be the best, since each gives a valid bound."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(40):  # a good order is enough: every order gives a bound
        if not at_left > at_right:  # also where a value is NaN: smaller orders are finite
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = value(right)
    return (low + high) / 2
