"""Weighted Gaussian domain discovery, then the k largest counts of what was discovered, as far as it can be rebuilt.

Dick, Joseph and Raman, *Missing Mass for Differentially Private Domain Discovery*, ICLR 2026, arXiv:2603.14016. Users
keep at most so many items, each of which weighs 1/√m; items whose noisy weight exceeds a threshold are the domain;
peeling with Gumbel noise names k of them by their numbers of users. The paper gives half of the budget to each step;
here every share is tried. Noise is NumPy's. What is spent is counted to its advantage: the exact curve of the Gaussian
mechanism, the exact power of the threshold, the best composition of peeling that we have.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from crestline.guarantees.accountants import per_step_epsilon
from crestline.guarantees.gaussian import sigma_for as gaussian_sigma

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """The total (ε, δ), the share of both for the discovery, the most items a user keeps, and k."""

    epsilon: Fraction
    delta: Fraction
    share: Fraction
    bound: int
    k: int


def weights_of(users: Numbers, items: Numbers, many: int) -> NDArray[np.float64]:
    """The weight of every item, of users who keep these items; zero for an item that nobody keeps."""
    kept = np.bincount(users)
    return np.bincount(items, weights=1 / np.sqrt(kept[users]), minlength=many).astype(np.float64)


def noisy_top(weights: NDArray[np.float64], counts: Numbers, plan: Plan, chance: np.random.Generator) -> list[int]:
    """The items that are named, best first. `counts` are the numbers of users before anything was left out."""
    sigma, threshold = discovery(plan)
    noisy = weights + sigma * chance.standard_normal(len(weights))
    found = np.flatnonzero((weights > 0) & (noisy > threshold))
    keys = peeling(plan) * counts[found] + chance.gumbel(size=len(found))
    named: list[int] = found[np.argsort(-keys)][: plan.k].tolist()
    return named


@lru_cache(maxsize=256)
def discovery(plan: Plan) -> tuple[float, float]:
    """σ and the threshold: half of the step's δ is for items that only one user has."""
    from scipy.special import ndtri

    delta = plan.delta * plan.share / 2
    sigma = float(gaussian_sigma(plan.epsilon * plan.share, delta))
    new = np.arange(1, plan.bound + 1)
    passing = -np.expm1(math.log1p(-float(delta)) / new)
    return sigma, float((1 / np.sqrt(new) - sigma * ndtri(passing)).max())


@lru_cache(maxsize=256)
def peeling(plan: Plan) -> float:
    """ε of one of k draws, which together are within what the discovery leaves."""
    rest = 1 - plan.share
    return float(per_step_epsilon(plan.k, plan.epsilon * rest, plan.delta * rest))
