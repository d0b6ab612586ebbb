"""The exact law of noisy keys in descending order until a stop, and of how many come before it (P4.3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from crestline.errors import ParameterError
from crestline.histogram.labels import Label, Padding
from crestline.mechanisms.order_law import order_chances, support
from crestline.mechanisms.poisson_binomial import capped
from crestline.mechanisms.quadrature import between
from crestline.mechanisms.selection import Selection, listed
from crestline.mechanisms.slots import orderings
from crestline.randomness.laws.law import Law
from crestline.randomness.points import Floats

_MOST_OUTCOMES = 20_000


def ordered_law(scores: Floats, law: Law, scale: float, labels: Sequence[Label], k: int) -> Mapping[Selection, float]:
    """Probability of every selection. Columns are the labels, then ⊥ if there is one more column than labels."""
    slots = len(labels)
    most = min(k, slots)
    stops = len(scores) > slots
    if sum(math.perm(slots, length) for length in range(most + 1)) > _MOST_OUTCOMES:
        raise ParameterError("the law has too many outcomes: it is for small histograms only")
    result: defaultdict[Selection, float] = defaultdict(float)
    for length in range(0 if stops else most, most + 1):
        lists = list(orderings(range(slots), length))
        ending = () if length == most else (slots,)  # a shorter list is one where ⊥ comes next
        orders = np.array([(*order, *ending) for order in lists], dtype=np.int64)
        for order, chance in zip(lists, order_chances(scores, law, orders, scale).tolist(), strict=True):
            result[listed([labels[column] for column in order], k)] += chance
    return dict(result)


def length_law(scores: Floats, law: Law, scale: float, labels: Sequence[Label], k: int) -> list[float]:
    """Probability of 0, 1, …, k items. Given the largest key that stops, items beat it independently."""
    real = [column for column, label in enumerate(labels) if not isinstance(label, Padding)]
    stops = [column for column in range(len(scores)) if column not in set(real)]
    if not stops:
        return [0.0] * min(k, len(real)) + [1.0] + [0.0] * max(0, k - len(real))
    low, high = (reach * scale for reach in support(law))
    ends = scores[stops]
    grid = between(float(ends.min()) - low, float(ends.max()) + high, scores.tolist(), piece=scale)
    noise = (grid.points - scores[:, None]) / scale
    cdf, density = law.cdf(noise), law.density(noise) / scale
    # The density of the largest of the stopping keys: one of them is there, the others below.
    weight = np.zeros(len(grid.points))
    for column in stops:
        others = [other for other in stops if other != column]
        weight += density[column] * np.prod(cdf[others], axis=0)
    chances = capped(law.survival(noise[real]), min(k, len(real)))
    return [float(value) for value in grid.integral(chances * weight)] + [0.0] * max(0, k - len(real))
