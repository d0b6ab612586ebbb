"""Weight of one item of a user who has m items (P17.1, P17.5, P18.7).

Weights are whole multiples of 2^-20, rounded down from an exact integer computation, so that the weights of one user
never exceed the sensitivity that the noise covers. Engines receive them as a small table and only add them up.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

UNIT = 1 << 20
"""Weight of an item that is counted as one."""

Weights = NDArray[np.int64]


@lru_cache(maxsize=256)
def gaussian_weights(contribution: int, cap: int) -> Weights:
    """`min(1, sqrt(contribution/m))` for m = 1, …, cap, in units of 2^-20.

    The squares of one user's weights add up to at most `contribution`.
    """
    return _frozen_array([_root(contribution, m) for m in range(1, cap + 1)])


@lru_cache(maxsize=256)
def laplace_weights(contribution: int, cap: int) -> Weights:
    """`min(1, contribution/m)` for m = 1, …, cap, in units of 2^-20.

    One user's weights add up to at most `contribution`.
    """
    return _frozen_array([min(UNIT, UNIT * contribution // m) for m in range(1, cap + 1)])


def _root(contribution: int, m: int) -> int:
    """Whole part of `2^20 sqrt(contribution/m)`, at most 2^20."""
    return min(UNIT, math.isqrt(UNIT * UNIT * contribution // m))


def _frozen_array(weights: list[int]) -> Weights:
    """Read-only array, since several callers share it."""
    table = np.array(weights, dtype=np.int64)
    table.setflags(write=False)
    return table
