"""What a promise means for somebody who guesses: the odds an attacker can gain, from the definition and Bayes' rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from crestline.guarantees.guarantee import Guarantee

PRIORS = (0.01, 0.1, 0.5)
_CONVERTED = Fraction(1, 10**9)  # the δ at which a promise without one (zCDP) is read


@dataclass(frozen=True)
class BeliefBounds:
    """How far a belief can move: `before` the answer, and `low` to `high` after it, that a certain user is in the data.

    It holds whatever the answer was and whatever else is known, unless the answer differs from that of an ideal ε-DP
    procedure, which has probability at most δ/(1 + e^ε); docs/reference/odds.md has the proof.
    """

    before: float
    low: float
    high: float


def as_approximate_dp(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    """The promise as one (ε, δ); a zero-concentrated one is converted at δ = 1e-9 (P10.2)."""
    if guarantee.epsilon is not None:
        return guarantee.epsilon, guarantee.delta
    from crestline.guarantees.conversion import zcdp_epsilon

    assert guarantee.rho is not None, "a promise without ε has ρ"
    return zcdp_epsilon(guarantee.rho, _CONVERTED), guarantee.delta + _CONVERTED


def belief_bounds(guarantee: Guarantee, priors: tuple[float, ...] = PRIORS) -> tuple[BeliefBounds, ...]:
    """The belief after the answer, for each belief before it."""
    epsilon, _ = as_approximate_dp(guarantee)
    return tuple(
        BeliefBounds(before, posterior(before, -float(epsilon)), posterior(before, float(epsilon))) for before in priors
    )


def posterior(before: float, shift: float) -> float:
    """The belief whose odds are `exp(shift)` times those of `before`, for 0 < before < 1 and any shift."""
    logit = math.log(before) - math.log1p(-before) + shift
    return 1 / (1 + math.exp(-logit)) if logit > -700 else math.exp(logit)


def best_guess_rate(guarantee: Guarantee) -> float:
    """How often the best attacker is right who must say "in" or "out" of a user who is in with probability 1/2.

    If they say "in" with probability t when it is so and f when it is not, the promise gives t ≤ e^ε f + δ and
    1 - f ≤ e^ε (1 - t) + δ; the largest (t + 1 - f)/2 is (e^ε + δ)/(e^ε + 1).
    """
    epsilon, delta = as_approximate_dp(guarantee)
    out = math.exp(-float(epsilon))
    return (1 + float(delta) * out) / (1 + out)
