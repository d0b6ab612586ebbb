"""Bounded contributions, as every thresholding library needs them: a uniform sample of each user's items."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int64]


def sampler(key: str) -> np.random.Generator:
    """A generator for simulations, the same for the same key."""
    return np.random.default_rng(int.from_bytes(hashlib.sha256(key.encode()).digest(), "big"))


def bounded_pairs(users: Pairs, items: Pairs, bound: int, chance: np.random.Generator) -> tuple[Pairs, Pairs]:
    """A sample in which every user keeps at most `bound` items, chosen uniformly; pairs must be distinct."""
    order = np.lexsort((chance.random(len(users)), users))
    ranked = users[order]
    first = np.searchsorted(ranked, ranked, side="left")
    kept = order[np.arange(len(ranked)) - first < bound]
    return users[kept], items[kept]


def bounded_items(users: Pairs, items: Pairs, bound: int, chance: np.random.Generator) -> Pairs:
    """The items of such a sample alone."""
    return bounded_pairs(users, items, bound, chance)[1]
