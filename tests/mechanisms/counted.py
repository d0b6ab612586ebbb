"""The law of one item with its published count, by direct integration: for mechanisms that publish counts."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from scipy.integrate import quad

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.limited_domain.additive import AdditiveNoise

Outcome = tuple[tuple[str, ...], int | None]


def counted_law(mechanism: AdditiveNoise, counts: Mapping[str, int], reach: int) -> dict[Outcome, float]:
    """For k = k_bar = 1: Pr[the item is named with this count], for every multiple of the grid within reach."""
    histogram = Histogram.from_counts(counts, 1)
    assert histogram.next_count is not None
    scale, stop, noise = float(mechanism.scale), float(mechanism.bottom_scale), mechanism.noise
    bottom = histogram.next_count + 1 + float(mechanism.bottom_height(1))
    count, grid = histogram.counts[0], mechanism.grid

    def inside(value: float) -> float:
        density = float(noise.density(np.array((value - count) / scale))) / scale
        return density * float(noise.cdf(np.array((value - bottom) / stop)))

    def mass(low: float, high: float) -> float:
        corners = sorted({low, high, *(p for p in (count, bottom) if low < p < high)})
        return float(sum(quad(inside, a, b, epsabs=1e-13)[0] for a, b in pairwise(corners)))

    law: dict[Outcome, float] = {}
    if count:
        name = (str(histogram.name(0)),)
        for place in range(-reach, reach + 1):
            law[name, place * grid] = mass((place - 0.5) * grid, (place + 0.5) * grid)
    law[(), None] = 1 - sum(law.values())
    return law
