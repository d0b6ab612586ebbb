"""The same chance as in `canonical_chances`, with exponential noise on every subset (P8.2, permute-and-flip on sets).

Let subset y have score `s_y ≤ 0`, the best k zero. The largest key lies at z, and is y's, with density
`u_y/(1 - u_y) · Π (1 - u)` over all subsets, where `u_y = exp(s_y - z)`. Logarithm and quotient are power series in u,
and `Σ u^j = e^(-jz) Σ exp(j s)` is the total weight of all subsets at j times the rate: one number for each j. Subsets
with scores near zero, for which the series converge slowly, are few where they matter, and are taken class by class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.mechanisms.canonical.sizes import log_sizes, log_sum
from crestline.mechanisms.canonical.subset_classes import RowWeights, SubsetClasses, all_classes, subset_classes
from crestline.randomness.unit_points import Floats
from reproduction.canonical_chances import log_weight

_TERMS = 16  # of the power series; the scores beyond `_NEAR` make each a seventh of the one before, or less
_NEAR = -2.0
_CROWDED = 14.0  # from this logarithm of all weights on the largest key is far above all scores: none is near
_NEGLIGIBLE = 46.0
_NODES = 12
_LARGEST = 600.0


@dataclass(frozen=True)
class _Near:
    """Classes with scores near zero: their scores, how many subsets they hold, and how many of these are wanted."""

    scores: Floats
    sizes: Floats
    wanted: Floats


def exponential_chance(domain: CountLevels, k: int, gamma: Fraction, rate: Fraction, head: int, tail: int) -> float:
    """The chance that the first `head` ranks are chosen and none after `tail`; `head ≤ k ≤ tail`, ranks from 1."""
    if domain.items <= k:
        return 1.0
    classes = subset_classes(domain, k, gamma, rate)
    crowd = float(log_sum(RowWeights(classes).approx))
    near = _near(classes, head, tail) if crowd < _CROWDED else _Near(*(np.zeros(0) for _ in range(3)))
    all_rest, wanted_rest = _rest(classes, near, head, tail)
    points, weights = _grid(crowd)
    powers = np.arange(1, _TERMS + 1)
    logs = np.stack([all_rest, wanted_rest], axis=1)[None] - np.outer(points, powers)[:, :, None]
    decay = np.exp(np.minimum(logs, _LARGEST))  # where it is more, no key is so low
    beaten, wanted = (decay[:, :, 0] / powers).sum(axis=1), decay[:, :, 1].sum(axis=1)
    own = np.exp(np.minimum(near.scores - points[:, None], -1e-300))
    log_free = np.log(-np.expm1(-points)) - beaten + np.log1p(-own) @ near.sizes
    hazards = np.exp(-points) / -np.expm1(-points) + (own / (1 - own)) @ near.wanted + wanted
    return min(1.0, float(weights @ (np.exp(log_free) * hazards)))


def _near(classes: SubsetClasses, head: int, tail: int) -> _Near:
    rows = np.flatnonzero(classes.row_scores > _NEAR)[1:]
    if not len(rows):
        return _Near(*(np.zeros(0) for _ in range(3)))
    row, m = all_classes(classes, rows.tolist())
    scores = classes.row_scores[row] + classes.class_shifts[m]
    kept = np.flatnonzero(scores > _NEAR)
    row, m, scores = row[kept], m[kept], scores[kept]
    first, last, lowest = classes.first[row - 1], classes.last[row - 1], tail - classes.k - 1
    sizes = _sizes(first, last, m, classes.k)
    inside = (m < classes.k - head) & (first <= lowest)
    wanted = np.where(inside, _sizes(first, np.maximum(first, np.minimum(last, lowest)), m, classes.k), 0.0)
    return _Near(scores, sizes, wanted)


def _sizes(first: Indices, last: Indices, m: Indices, k: int) -> Floats:
    result: Floats = np.exp(np.take_along_axis(log_sizes(first, last, k), m[:, None], axis=1)[:, 0])
    return result


def _rest(classes: SubsetClasses, near: _Near, head: int, tail: int) -> tuple[Floats, Floats]:
    """For each power the logarithms of the weight of all subsets that are not near, and of the wanted ones of them."""
    logs = np.full((_TERMS, 2), -np.inf)
    for place in range(_TERMS):
        faster = replace(classes, rate=classes.rate * (place + 1))
        own = np.exp((place + 1) * near.scores)
        totals = float(log_sum(RowWeights(faster).approx[1:])), log_weight(faster, head, tail)
        for column, (total, sizes) in enumerate(zip(totals, (near.sizes, near.wanted), strict=True)):
            logs[place, column] = _without(total, float(own @ sizes))
    return logs[:, 0], logs[:, 1]


def _without(total: float, part: float) -> float:
    """`ln(e^total - part)`, where rounding may leave nothing."""
    left = -math.expm1(min(0.0, math.log(part) - total)) if part else 1.0
    return total + math.log(left) if left > 1e-12 and total > -math.inf else -math.inf


def _grid(crowd: float) -> tuple[Floats, Floats]:
    """Points and weights for the largest key: closer together where it is likely, and near zero."""
    end, bulk = crowd + _NEGLIGIBLE, max(crowd, 0.0)
    edges = np.concatenate(
        [[0.0], np.geomspace(1e-9, 1.0, 40), np.arange(1.5, end, 0.5), bulk + np.arange(-8.0, 12.0, 0.25), [end]]
    )
    edges = np.unique(edges[edges >= 0])
    place, weight = np.polynomial.legendre.leggauss(_NODES)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half + half * place).ravel(), (half * weight).ravel()
