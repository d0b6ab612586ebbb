"""Exact law of levels that are tested one after the other against one noisy threshold (P19.1).

A level passes when `ln W + Gumbel` exceeds its threshold plus `rate · ρ`, where ρ is exponential noise that all levels
share. Given ρ the levels are independent, which leaves one integral over ρ.
"""

from __future__ import annotations

import numpy as np

from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.randomness.unit_points import Floats

_NEVER = 45.0  # e^-45 is negligible next to a probability in doubles
_ALWAYS = 700.0  # the exponential of a larger number overflows


def first_pass_chances(weights: Floats, rates: Floats, shared: float) -> Floats:
    """Probability of each level to be the first that passes, and, last, that none does.

    `weights` are logarithms, less each level's threshold; `rates` and `shared`, the rate of ρ, are in the same unit.
    """
    furthest = min(_NEVER / shared, float(((weights + _NEVER) / rates).max()))  # beyond, nothing passes
    end = max(furthest, 1 / float(rates.max()))
    over = quadrature_between(0.0, end, (), 1 / max(shared, float(rates.max())))
    density = shared * np.exp(-shared * over.points)
    alive, chances = density, []
    for weight, rate in zip(weights.tolist(), rates.tolist(), strict=True):
        mean = np.exp(np.minimum(weight - rate * over.points, _ALWAYS))  # expected number of sets that pass
        chances.append(float(over.integral(alive * -np.expm1(-mean))))
        alive = alive * np.exp(-mean)
    return np.array([*chances, float(over.integral(alive)) + float(np.exp(-shared * end))])
