"""The exact chance that a canonical draw holds the best `head` items and nothing beyond rank `tail` (P8.2).

With Gumbel noise a class is drawn in proportion to its weight. A class keeps the best h items, leaves out the next, and
reaches down to rank t; the classes with `h ≥ head` and `t ≤ tail` are the first columns of the first rows.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from crestline.histogram.count_levels import CountLevels
from crestline.mechanisms.canonical.row_weights import row_weights
from crestline.mechanisms.canonical.sizes import log_sum
from crestline.mechanisms.canonical.subset_classes import RowWeights, SubsetClasses, subset_classes


def canonical_chance(domain: CountLevels, k: int, gamma: Fraction, rate: Fraction, head: int, tail: int) -> float:
    """The chance that the first `head` ranks are chosen and none after `tail`; `head ≤ k ≤ tail`, ranks from 1."""
    if domain.items <= k:
        return 1.0
    classes = subset_classes(domain, k, gamma, rate)
    total = float(log_sum(RowWeights(classes).approx))
    return min(1.0, math.exp(np.logaddexp(0.0, log_weight(classes, head, tail)) - total))


def log_weight(classes: SubsetClasses, head: int, tail: int) -> float:
    """The logarithm of the weight of the classes that keep `head` and end by `tail`, besides the best k."""
    lowest = tail - classes.k - 1  # the largest q whose rank, k + q counted from 0, is within the tail
    rows = classes.first <= lowest
    if head >= classes.k or not rows.any():
        return -math.inf
    last = np.minimum(classes.last[rows], lowest)
    found, _ = row_weights(classes.first[rows], last, classes.class_shifts[: classes.k - head])
    return float(log_sum(classes.row_scores[1:][rows] + found))
