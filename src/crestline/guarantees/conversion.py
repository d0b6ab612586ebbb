"""From zero-concentrated to approximate differential privacy and back (P10.2).

Seed        Canonne, Kamath & Steinke 2020, arXiv:2004.00010, Proposition 12
Guarantee   ρ-zCDP implies (Z(ρ, d), d)-DP
Numerics    certified: the order a comes from floating point (any a is valid), the bound from balls, rounded up
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from crestline.exact_numbers import Exact, non_negative_number, probability
from crestline.guarantees.root_finding import bisect_floats, guess_root, largest_fitting
from crestline.guarantees.rounding import ball, decimal_above, precision

_LARGEST = 700.0  # a logarithm whose exponential is finite


def zcdp_epsilon(rho: Exact, delta: Exact) -> Fraction:
    """Z(ρ, δ): an ε, rounded up, such that every ρ-zCDP mechanism is (ε, δ)-DP.

    >>> round(float(zcdp_epsilon("0.1", "1e-6")), 6)
    2.141939
    """
    return _cached_epsilon(non_negative_number(rho, "rho"), probability(delta, "delta"))


def largest_rho(epsilon: Exact, delta: Exact) -> Fraction:
    """The largest ρ, rounded down, with `zcdp_epsilon(ρ, δ) <= ε`."""
    budget, slack = non_negative_number(epsilon, "epsilon"), probability(delta, "delta")
    near = guess_root(lambda rho: _cached_epsilon(rho, slack), budget, budget) if budget else None
    return largest_fitting(lambda rho: _cached_epsilon(rho, slack) <= budget, near=near)


@lru_cache(maxsize=4096)
def _cached_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """`zcdp_epsilon` of checked arguments."""
    if rho == 0:
        return Fraction(0)
    with precision():
        excess = Fraction(_best_order_excess(float(rho), float((1 / ball(delta)).log())))
        order, gap = ball(1 + excess), ball(excess)
        # P10.2: a ρ + ln(1/(a d))/(a - 1) + ln(1 - 1/a)
        bound = order * ball(rho) - (order * ball(delta)).log() / gap + (gap / order).log()
        return decimal_above(bound.max(arb(0)))


def _best_order_excess(rho: float, log_inverse_delta: float) -> float:
    """a - 1 at the minimum of P10.2: the derivative is ρ - ln(1/(a d))/(a - 1)², so `ρ e² = ln(1/d) - ln(1 + e)`.

    The left side grows and the right side falls, so there is one root; any positive answer gives a valid bound.
    """

    def is_beyond(log_excess: float) -> bool:
        excess = math.exp(min(log_excess, _LARGEST))
        return rho * excess * excess >= log_inverse_delta - math.log1p(excess)

    low, _ = bisect_floats(is_beyond, -_LARGEST, log_inverse_delta, turns=200)  # more turns than doubles can resolve
    return math.exp(min(low, _LARGEST))
