"""Exact output law of peeling with a stop, and of its length (P3.1, P3.6 Q3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from crestline.errors import ParameterError
from crestline.histogram.label_order import Label
from crestline.mechanisms.numerics.order_law import noise_support
from crestline.mechanisms.numerics.poisson_binomial import count_law
from crestline.mechanisms.selection import Selection, select_list
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.unit_points import Floats

_MOST_OUTCOMES = 200_000  # more would take too long to list
_STEP = 0.04  # fine enough for hundreds of items: probabilities change over the inverse root of their number
_CERTAIN = 50.0  # a lead of this size is exceeded with probability exp(-e^50): no float is that small


def exact_law(scores: Floats, labels: Sequence[Label], k: int) -> Mapping[Selection, float]:
    """Probability of every selection. Columns are the labels, then ⊥ if there is one more column than labels."""
    logs, slots = scores.tolist(), len(labels)
    law: defaultdict[Selection, float] = defaultdict(float)
    pending: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
    while pending:
        drawn, chance = pending.pop()
        left = [column for column in range(len(logs)) if column not in drawn]
        if len(drawn) == k or not left or (drawn and drawn[-1] == slots):
            kept = [labels[column] for column in drawn if column != slots]
            law[select_list(kept, k)] += chance
            if len(law) > _MOST_OUTCOMES:
                raise ParameterError("the law has too many outcomes: it is for small histograms only")
            continue
        best = max(
            logs[column] for column in left
        )  # of those left: relative to a drawn leader their weights could underflow
        weights = [math.exp(logs[column] - best) for column in left]
        mass = math.fsum(weights)
        pending += [
            ((*drawn, column), chance * weight / mass) for column, weight in zip(left, weights, strict=True) if weight
        ]
    return dict(law)


def length_law(items: Floats, stop: float | None, k: int) -> list[float]:
    """Probability of 0, 1, …, k items with these scores, when a key of score `stop` ends the list (P3.6, Q3)."""
    most = min(k, len(items))
    if stop is None:  # no ⊥ and no empty slot: never short
        return [0.0] * most + [1.0] + [0.0] * (k - most)
    # The trapezoid rule converges exponentially here: the Gumbel density and all its derivatives vanish at both ends.
    below, above = noise_support(GUMBEL)
    nodes = np.arange(-below, above, _STEP)
    weight = _STEP * GUMBEL.density(nodes)
    reach = np.minimum(items[:, None] - stop - nodes, _CERTAIN)
    beats = -np.expm1(-np.exp(reach))  # given the key that stops, items exceed it independently
    return [float(value) for value in count_law(beats, most) @ weight] + [0.0] * (k - most)
