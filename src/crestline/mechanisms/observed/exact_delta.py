"""Certified bound on the exact δ of one threshold over observed items (P17.3, P17.4).

Let the user keep m items, of which t have no other user, and let s = t/m. With the threshold of P17.4 a new item
passes with probability `p ≤ 1 - (1-d)^s` (because `1 - F^m ≤ d` at t = m), and the shared items move the others'
scores by at most `nu = mu sqrt(1-s)`. The largest δ over all s in [0, 1] is at most

    max { p + (1-p) δ_G(ε - ln(1-p); nu),  δ_G(ε + ln(1-p); nu) },

which grows with p and with nu. A block s1 ≤ s ≤ s2 is therefore covered by p at s2 and nu at s1, and halving the
blocks proves the bound for all s, for every cap.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from crestline.guarantees.gaussian import delta_ball
from crestline.guarantees.rounding import ball, precision

_MOST_BLOCKS = 4000


@lru_cache(maxsize=1024)
def is_certainly_private(epsilon: Fraction, delta_new: Fraction, mu_squared: Fraction, limit: Fraction) -> bool:
    """Whether the mechanism is certainly (ε, limit)-DP, with `delta_new` = d and `mu_squared` = Δ/σ²."""
    blocks = [(Fraction(0), Fraction(1))]
    judged = 0
    with precision():
        while blocks:
            first, last = blocks.pop()
            judged += 1
            if _worst_delta(epsilon, delta_new, mu_squared, first, last) <= ball(limit):
                continue
            if judged > _MOST_BLOCKS:
                return False
            middle = (first + last) / 2
            blocks += [(middle, last), (first, middle)]
    return True


def _worst_delta(epsilon: Fraction, delta_new: Fraction, mu_squared: Fraction, first: Fraction, last: Fraction) -> arb:
    """Ball above the δ of every share of new items between `first` and `last`."""
    none_passes = ball(last) * (-ball(delta_new)).log1p()  # ln(1 - p)
    passing = -none_passes.expm1()
    moved = ball(mu_squared * (1 - first)).sqrt()
    leaves = passing + (1 - passing) * delta_ball(ball(epsilon) - none_passes, moved)
    joins = delta_ball(ball(epsilon) + none_passes, moved)
    return leaves.max(joins)
