"""The analytic Gaussian mechanism: noise, ε and δ from each other (P2.6).

Seed        Balle & Wang 2018, arXiv:1805.06530, Theorem 8
Guarantee   L2-sensitivity s and noise N(0, σ²): with μ = s/σ, δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)
Numerics    certified: evaluated in balls; σ, ε and δ are rounded up, μ² down
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from crestline.exact_numbers import Exact, non_negative_number, positive_number, probability
from crestline.guarantees.root_finding import guess_root, largest_fitting, smallest_fitting
from crestline.guarantees.rounding import ball, decimal_above, precision

_FARTHEST = 10**4  # stands in for the logarithm of a probability of zero; its inverse, of one


def sigma_for(epsilon: Exact, delta: Exact, sensitivity_squared: Exact = 1) -> Fraction:
    """G(ε, δ, s): a σ, rounded up, whose Gaussian noise makes values of squared L2-sensitivity s² (ε, δ)-DP."""
    squared = positive_number(sensitivity_squared, "sensitivity_squared")
    ratio = largest_mu_squared(epsilon, delta)
    with precision():
        return decimal_above((ball(squared) / ball(ratio)).sqrt())


def largest_mu_squared(epsilon: Exact, delta: Exact) -> Fraction:
    """Largest μ² = s²/σ², rounded down, whose Gaussian mechanism is (ε, δ)-DP."""
    budget, slack = positive_number(epsilon, "epsilon"), probability(delta, "delta")
    near = guess_root(lambda squared: 1 / _exponent(_cached_delta(budget, squared)), 1 / _exponent(slack), budget)
    return largest_fitting(lambda squared: _cached_delta(budget, squared) <= slack, near=near)


def delta_of(epsilon: Exact, mu_squared: Exact) -> Fraction:
    """δ(ε), rounded up, of the Gaussian mechanism with μ² = s²/σ²."""
    return _cached_delta(non_negative_number(epsilon, "epsilon"), non_negative_number(mu_squared, "mu_squared"))


def epsilon_of(delta: Exact, mu_squared: Exact) -> Fraction:
    """ε(δ), rounded up, of the Gaussian mechanism with μ² = s²/σ²."""
    slack, squared = probability(delta, "delta"), non_negative_number(mu_squared, "mu_squared")
    near = guess_root(
        lambda budget: _exponent(_cached_delta(budget, squared)), _exponent(slack), squared or Fraction(1)
    )
    return smallest_fitting(lambda budget: _cached_delta(budget, squared) <= slack, near=near)


def _exponent(delta: Fraction) -> Fraction:
    """About `ln(1/δ)`, which grows nearly like `ε²/2μ²`: values that guide a search."""
    if not delta:
        return Fraction(_FARTHEST)
    return max(Fraction(math.log(delta.denominator) - math.log(delta.numerator)), Fraction(1, _FARTHEST))


def delta_ball(epsilon: arb, mu: arb) -> arb:
    """δ_G(ε; μ) of P2.6 as a ball, for any real ε: the largest `P(S) - e^ε Q(S)` for P = N(μ, 1) and Q = N(0, 1)."""
    if mu == 0:
        return (1 - epsilon.exp()).max(arb(0))
    return normal_cdf(mu / 2 - epsilon / mu) - epsilon.exp() * normal_cdf(-mu / 2 - epsilon / mu)


def normal_cdf(place: arb) -> arb:
    """Normal distribution function Φ, accurate in both tails."""
    return (-place / arb(2).sqrt()).erfc() / 2


@lru_cache(maxsize=4096)
def _cached_delta(epsilon: Fraction, mu_squared: Fraction) -> Fraction:
    """`delta_of` of checked arguments."""
    if mu_squared == 0:
        return Fraction(0)
    with precision():
        return min(decimal_above(delta_ball(ball(epsilon), ball(mu_squared).sqrt())), Fraction(1))
