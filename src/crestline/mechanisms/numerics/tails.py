"""Noise tails (P2.3): the probability that an item which gained nothing passes a noisy test, as certified balls.

Each function takes the threshold as an exact rational and returns a ball that certainly contains the probability.
Rates are inverse scales: Laplace noise of rate a has scale 1/a.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import acb, arb

from crestline.guarantees.rounding import ball, precision
from crestline.precision import current_bits

_ENOUGH = arb(2) ** -60  # relative error aimed at; the ball holds the error reached
_ONE = Fraction(1)


def two_laplace(t: Fraction) -> arb:
    """`Pr[Lap > t + Lap] = e^-t (2 + t)/4`, both of scale 1, t ≥ 0."""
    return (-ball(t)).exp() * (2 + ball(t)) / 4


def two_rates(tested: Fraction, shared: Fraction, threshold: Fraction) -> arb:
    """`Pr[Lap(1/a) > T + Lap(1/b)]` with a = `tested`, b = `shared`, T ≥ 0."""
    if tested == shared:
        return two_laplace(tested * threshold)
    a, b, at = ball(tested), ball(shared), ball(threshold)
    top = ball(shared**2) * (-a * at).exp() - ball(tested**2) * (-b * at).exp()
    return top / ball(2 * (shared**2 - tested**2))


def one_sided_failure(epsilon1: Fraction, epsilon2: Fraction, threshold: Fraction) -> arb:
    """`Pr[-Exp(ε2) > T - Exp(ε1)] = ε2/(ε1 + ε2) · e^(-ε1 T)`, T ≥ 0: tests that stop at the first failure (P2.4)."""
    return ball(epsilon2 / (epsilon1 + epsilon2)) * (-ball(epsilon1 * threshold)).exp()


def one_sided_success(tested: Fraction, shared: Fraction, threshold: Fraction) -> arb:
    """`Pr[Exp(a) > T + Exp(b)] = b/(a + b) · e^(-a T)`, T ≥ 0: tests that stop at the first success (P2.5)."""
    return ball(shared / (tested + shared)) * (-ball(tested * threshold)).exp()


def two_gaussians(t: Fraction, shared: Fraction = _ONE) -> arb:
    """`Pr[N > t + s N] = 1 - Φ(t/√(1 + s²))` with s = `shared`, both of variance 1."""
    return (ball(t) / ball(2 * (1 + shared**2)).sqrt()).erfc() / 2


def laplace_union(m: int, t: Fraction) -> arb:
    """`E[1 - F(t + ρ)^m]`: one of m Laplace noises exceeds t plus a shared one, all of scale 1, t ≥ 0."""
    half, at = acb(0.5), acb(ball(t))
    chance = (-ball(t)).exp() / 2  # of one noise above t

    def middle_integrand(rho: acb, _: bool) -> acb:
        return half * rho.exp() * (1 - (1 - half * (-at - rho).exp()) ** m)

    # F changes its form at ρ = -t, the density of ρ at 0. The outer parts are elementary:
    # ∫ e^ρ/2 (1 - (e^(t+ρ)/2)^m) dρ below -t, and ∫ e^t (1 - (1-u)^m) du for u = 1 - F(t+ρ) from 0 to `chance`.
    low = chance * (1 - arb(2) ** -m / (m + 1))
    with precision(3 * current_bits()):  # cancels down to the square of `chance`: the ball holds the error
        chance = (-ball(t)).exp() / 2
        high = ball(t).exp() * (chance - (1 - (1 - chance) ** (m + 1)) / (m + 1))
    return low + acb.integral(middle_integrand, -at, 0, rel_tol=_ENOUGH).real + high


def gaussian_union(m: int, t: Fraction, shared: Fraction = _ONE) -> arb:
    """`E[1 - Φ(t + s ρ)^m]` with s = `shared`: one of m Gaussians exceeds t plus s times a common one."""
    root, height, at, slope = acb(2).sqrt(), 1 / (2 * acb.pi()).sqrt(), acb(ball(t)), acb(ball(shared))
    end = math.isqrt(2 * current_bits()) + 1  # where the tail begins

    def integrand(rho: acb, _: bool) -> acb:
        return (1 - (1 - ((slope * rho + at) / root).erfc() / 2) ** m) * (-rho * rho / 2).exp() * height

    return acb.integral(integrand, -end, end, rel_tol=_ENOUGH).real + _gaussian_remainder(end)


def _gaussian_remainder(end: int) -> arb:
    """Bound on the integral beyond ±end of an integrand that is at most the Gaussian density."""
    return (arb(end) / arb(2).sqrt()).erfc() * arb(0.5, 0.5)
