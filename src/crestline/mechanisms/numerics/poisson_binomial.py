"""Exact law of the number of independent events that happen, counted up to a maximum."""

from __future__ import annotations

import numpy as np

from crestline.randomness.unit_points import Floats


def count_law(chances: Floats, most: int) -> Floats:
    """`result[n]`: probability of n events for n < `most`, and of `most` or more in the last row.

    `chances[event, node]` is the probability of each event, at each of several nodes at once.
    """
    result = np.zeros((most + 1, chances.shape[1]))
    result[0] = 1.0
    for chance in chances:
        up = result[:-1] * chance
        result[:-1] *= 1.0 - chance  # the last row keeps its probability
        result[1:] += up
    return result
