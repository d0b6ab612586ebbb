"""Bounds on the belief of an attacker who guesses whether a user is in the data, from the guarantee and Bayes' rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from crestline.guarantees.guarantee import Guarantee

PRIORS = (0.01, 0.1, 0.5)
_CONVERTED = Fraction(1, 10**9)  # the δ at which zCDP is converted


@dataclass(frozen=True)
class BeliefBounds:
    """Bounds on the belief that a user is in the data: `before` the answer, and from `low` to `high` after it.

    They hold for every answer and all other knowledge, unless the answer differs from that of an ideal ε-DP procedure,
    which has probability at most δ/(1 + e^ε); docs/reference/odds.md has the proof.
    """

    before: float
    low: float
    high: float


def as_approximate_dp(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    """The (ε, δ) of a guarantee; zCDP is converted at δ = 1e-9 (P10.2)."""
    if guarantee.epsilon is not None:
        return guarantee.epsilon, guarantee.delta
    from crestline.guarantees.conversion import zcdp_epsilon

    assert guarantee.rho is not None, "a promise without ε has ρ"
    return zcdp_epsilon(guarantee.rho, _CONVERTED), guarantee.delta + _CONVERTED


def belief_bounds(guarantee: Guarantee, priors: tuple[float, ...] = PRIORS) -> tuple[BeliefBounds, ...]:
    """Bounds on the belief after the answer, for each belief before it."""
    epsilon, _ = as_approximate_dp(guarantee)
    return tuple(
        BeliefBounds(before, posterior(before, -float(epsilon)), posterior(before, float(epsilon))) for before in priors
    )


def posterior(before: float, shift: float) -> float:
    """The belief whose odds are `exp(shift)` times those of `before`; requires 0 < before < 1."""
    logit = math.log(before) - math.log1p(-before) + shift
    return 1 / (1 + math.exp(-logit)) if logit > -700 else math.exp(logit)


def best_guess_rate(guarantee: Guarantee) -> float:
    """Largest probability with which an attacker guesses whether a user is in the data, if that has probability 1/2.

    If the attacker says "in" with probability t for a user who is in, and f for one who is not, the guarantee gives
    t ≤ e^ε f + δ and 1 - f ≤ e^ε (1 - t) + δ; the largest (t + 1 - f)/2 is (e^ε + δ)/(e^ε + 1).
    """
    epsilon, delta = as_approximate_dp(guarantee)
    out = math.exp(-float(epsilon))
    return (1 + float(delta) * out) / (1 + out)
