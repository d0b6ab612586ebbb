"""Exact law of noisy keys in descending order until a stop, and of the number of keys before it (P4.3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from crestline.errors import ParameterError
from crestline.histogram.label_order import Label
from crestline.mechanisms.numerics.order_law import noise_support, order_chances
from crestline.mechanisms.numerics.poisson_binomial import count_law
from crestline.mechanisms.numerics.quadrature import quadrature_between
from crestline.mechanisms.selection import Selection, select_list
from crestline.mechanisms.slot_checks import ordered_choices
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats

_MOST_OUTCOMES = 20_000  # more would take too long to list


def ordered_law(scores: Floats, law: Law, scales: Floats, labels: Sequence[Label], k: int) -> Mapping[Selection, float]:
    """Probability of every selection. Columns are the labels, then ⊥ if there is one more column than labels."""
    slots = len(labels)
    most = min(k, slots)
    stops = len(scores) > slots
    if sum(math.perm(slots, length) for length in range(most + 1)) > _MOST_OUTCOMES:
        raise ParameterError("the law has too many outcomes: it is for small histograms only")
    result: defaultdict[Selection, float] = defaultdict(float)
    for length in range(0 if stops else most, most + 1):
        lists = list(ordered_choices(range(slots), length))
        ending = () if length == most else (slots,)  # after a shorter list, ⊥ comes next
        orders = np.array([(*order, *ending) for order in lists], dtype=np.int64)
        chances = order_chances(scores, law, orders, scales).tolist()
        for order, chance in zip(lists, chances, strict=True):
            result[select_list([labels[column] for column in order], k)] += chance
    return dict(result)


def length_law(items: Floats, stops: Floats, law: Law, scale: float, scales: Floats, k: int) -> list[float]:
    """Probability of 0, 1, …, k items; given the largest key that stops, they exceed it independently.

    `scale` is that of the items' noise, `scales` are those of the keys that stop.
    """
    most = min(k, len(items))
    if not len(stops):
        return [0.0] * most + [1.0] + [0.0] * (k - most)
    below, above = noise_support(law)
    kinks = [*items.tolist(), *stops.tolist()]
    start, end = float((stops - below * scales).min()), float((stops + above * scales).max())
    grid = quadrature_between(start, end, kinks, piece=min(scale, float(scales.min())))
    cdf, density = (part((grid.points - stops[:, None]) / scales[:, None]) for part in (law.cdf, law.density))
    # Density of the largest of the keys that stop: one of them is at the point, the others below.
    weight = sum(density[i] / scales[i] * np.prod(np.delete(cdf, i, axis=0), axis=0) for i in range(len(stops)))
    beats = law.survival((grid.points - items[:, None]) / scale)
    return [float(value) for value in grid.integral(count_law(beats, most) * weight)] + [0.0] * (k - most)
