"""Exact law of a sparse vector that stops at its first success, and of a uniformly random subset (P2.5, P6.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from crestline.errors import ParameterError
from crestline.histogram.label_order import Label
from crestline.mechanisms.numerics.order_law import noise_support
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.mechanisms.selection import Selection, select_set
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats

_MOST_OUTCOMES = 20_000  # more would take too long to list


def first_success_law(gaps: Floats, threshold: float, tested: Fraction, shared: Fraction, noise: Law) -> list[float]:
    """Probabilities of no success, of the last gap, …, of the first one; gaps are tested in the order given.

    A gap passes when it and its noise, of rate `tested`, exceed the threshold and its noise, of rate `shared`, drawn
    once. Given that noise the tests are independent.
    """
    a, b = float(tested), float(shared)
    below, above = noise_support(noise)
    # The noise of the threshold in its own units: a gap's probability has a kink where gap and threshold are equal.
    grid = quadrature_between(-below, above, [0.0, *(b * (gaps - threshold)).tolist()], piece=min(1.0, b / a))
    weight = grid.weights * noise.density(grid.points)
    passes = noise.survival(a * (threshold + grid.points / b - gaps[:, None]))
    running, chances = weight, []
    for chance in passes:
        chances.append(float((running * chance).sum()))
        running = running * (1.0 - chance)
    return [float(running.sum()), *reversed(chances)]


def subset_law(labels: Sequence[Label], k: int) -> Mapping[Selection, float]:
    """Law of a uniformly random choice of k labels, or of all if there are no more."""
    size = min(k, len(labels))
    many = math.comb(len(labels), size)
    if many > _MOST_OUTCOMES:
        raise ParameterError("the law has too many outcomes: it is for small histograms only")
    return {select_set(chosen, k): 1.0 / many for chosen in combinations(labels, size)}
