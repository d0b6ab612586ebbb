"""Rounds of the sieve: which buckets of a public list of hash buckets hold the most weight (P28.1).

All rounds use the buckets of one hash. What a bucket has shown adds up over the rounds; after each of them those with
the most of it stay, and loads are taken again of the pairs in them, so that a user's weight falls on fewer buckets.
Which stay is a function of released numbers.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from crestline.histogram.count_levels import Indices
from crestline.histogram.relation import PairViews
from crestline.mechanisms.observed.noisy_query import noisy_query
from crestline.mechanisms.observed.weights import UNIT, Weights, gaussian_weights
from crestline.randomness.entropy import Entropy
from crestline.randomness.unit_points import Floats

ROUNDS = 4
_STAYS = Fraction(35, 100)  # share of the buckets that stays after each round
_WIDE = 2  # the 2k buckets with the most evidence stay always
_BELOW = 2  # after the last round so do those from two σ below the k-th on, as far as the share allows
_KEY_WORDS = 4


def keep_heavy_buckets(pairs: PairViews, k: int, buckets: int, mu_squared: Fraction, entropy: Entropy) -> PairViews:
    """The pairs whose items are in the buckets with the most weight; all rounds together spend `mu_squared`."""
    key, left = fresh_key(entropy), np.arange(buckets)
    evidence, variance = np.zeros(buckets), 0.0
    for round_number in range(1, ROUNDS + 1):
        loads = pairs.bucket_loads(key, buckets, _bucket_weights(buckets))[left]
        seen = noisy_query(loads, UNIT, mu_squared / ROUNDS, entropy)
        factor = math.sqrt(buckets / len(left))
        evidence, variance = evidence + factor * seen.values, variance + (factor * float(seen.sigma)) ** 2
        deviation = math.sqrt(variance) if round_number == ROUNDS else None
        chosen = strongest_buckets(evidence, k, deviation)
        left, evidence = left[chosen], evidence[chosen]
        kept = np.zeros(buckets, dtype=np.bool_)
        kept[left] = True
        pairs = pairs.pairs_in_buckets(key, kept)
    return pairs


def strongest_buckets(evidence: Floats, k: int, deviation: float | None = None) -> Indices:
    """Places of the buckets that stay: a share of them, those with the most evidence, and at least 2k.

    With the standard deviation of the evidence, as after the last round, only those of that share that may be among the
    k largest. Of equal evidence the first buckets stay.
    """
    ranked = np.argsort(-evidence, kind="stable")
    least = min(_WIDE * k, len(ranked))
    many = max(least, round(_STAYS * len(ranked)))
    if deviation is not None:
        bar = evidence[ranked[min(k, len(ranked)) - 1]] - _BELOW * deviation
        many = max(least, int((evidence[ranked[:many]] >= bar).sum()))
    return np.sort(ranked[:many])


def fresh_key(entropy: Entropy) -> bytes:
    """Key for one hash: 32 random bytes."""
    return entropy.words(_KEY_WORDS).tobytes()


@lru_cache(maxsize=4)
def _bucket_weights(buckets: int) -> Weights:
    """`1/sqrt(d)` for d = 1, …, buckets, rounded down."""
    return gaussian_weights(1, buckets)
