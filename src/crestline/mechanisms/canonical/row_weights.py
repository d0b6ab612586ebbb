"""Logarithm of the total weight of each row of classes: `ln Σ_m size(a, b, m) · exp(shift_m)`.

Where all lowest ranks q = 0, 1, 2, … are needed, the sum `Σ_m (q + m)!/(q! m!) · exp(shift_m)` is a correlation of two
sequences. It is computed tile by tile: within a tile `ln (q + m)!` is nearly linear, so once its chord is subtracted
both sequences fit into doubles, and all terms are positive: nothing cancels, nothing overflows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from crestline.histogram.count_levels import Indices
from crestline.mechanisms.canonical.sizes import (
    ROUNDING,
    log_factorials,
    log_sizes,
    log_sum,
    log_sum_groups,
)
from crestline.randomness.unit_points import Floats

Way = Callable[[Indices, Indices], tuple[Floats, float]]

_TILE = 1 << 9  # the chord of ln j! over two tiles lies less than 400 above it: far from underflow
_COMBINED = 2.0**-48  # 32 roundings: of three factorials, the shift, and their sums and differences within a tile
_CELLS = 1 << 18  # numbers held at once, which limits memory
_SPARSE = 128  # neighbouring ranks whose computation together costs about as much as one separate row


def row_weights(a: Indices, b: Indices, shifts: Floats) -> tuple[Floats, float]:
    """Logarithm of every row's weight, and a bound on their error. `shifts` has one entry for each m.

    Rows must be ascending and disjoint.
    """
    return split_by_density(
        a, b, partial(_dense_row_weights, shifts=shifts), partial(_sparse_row_weights, shifts=shifts)
    )


def split_by_density(a: Indices, b: Indices, close: Way, apart: Way) -> tuple[Floats, float]:
    """Logarithms of all rows, and their error: `close` up to where ranks become sparse, `apart` from there on."""
    dense = np.flatnonzero(b - a[:1] < _SPARSE * np.arange(1, len(a) + 1))
    cut = int(dense[-1]) + 1 if len(dense) else 0
    parts = [way(a[rows], b[rows]) for way, rows in ((close, slice(cut)), (apart, slice(cut, None))) if len(a[rows])]
    return np.concatenate([logs for logs, _ in parts]), max(error for _, error in parts)


def _sparse_row_weights(a: Indices, b: Indices, shifts: Floats) -> tuple[Floats, float]:
    """Weights row by row, from ratios of sizes: for public lists with few different counts, of any length."""
    k = len(shifts)
    many = max(1, _CELLS // k)
    blocks = [
        log_sum(log_sizes(a[start : start + many], b[start : start + many], k) + shifts)
        for start in range(0, len(a), many)
    ]
    largest = k * math.log1p(float(b.max()))
    return np.concatenate(blocks), ROUNDING * (k * (1.0 + largest) + _largest_shift(shifts))


def _dense_row_weights(a: Indices, b: Indices, shifts: Floats) -> tuple[Floats, float]:
    """Weights of all lowest ranks at once, summed over the ranks of each row. Rows must be contiguous."""
    first, many = int(a[0]), int(b[-1]) - int(a[0]) + 1
    factorials = log_factorials(first + many + len(shifts))
    per_rank = log_correlation(factorials, shifts - factorials[: len(shifts)], first, many)
    per_rank -= factorials[first : first + many]
    each = _COMBINED + ROUNDING * (len(shifts) / _TILE)  # tiles are added up one by one
    error = each * (float(factorials.max()) + _largest_shift(shifts) + _TILE)
    return (per_rank if many == len(a) else log_sum_groups(per_rank, a - first)), error


def _largest_shift(shifts: Floats) -> float:
    return float(np.abs(shifts).max())


def log_correlation(values: Floats, others: Floats, first: int, many: int) -> Floats:
    """`ln Σ_m exp(values[q + m] + others[m])` for `many` q from `first` on; `values` must be convex."""
    result = np.full(many, -np.inf)
    for m in range(0, len(others), _TILE):
        part = others[m : m + _TILE]
        for start in range(0, many, _TILE):
            block = result[start : start + _TILE]
            np.logaddexp(block, _correlation_tile(values, part, first + start + m, len(block)), out=block)
    return result


def _correlation_tile(values: Floats, others: Floats, start: int, many: int) -> Floats:
    """One tile of the correlation: `values` from `start` on, against all of `others`."""
    window = values[start : start + many + len(others) - 1]
    places = np.arange(len(window))
    slope = (window[-1] - window[0]) / len(window)  # nearly that of the chord
    straight = window[0] + slope * places
    own = others + slope * places[: len(others)]
    top = own.max()
    sums = np.correlate(np.exp(window - straight), np.exp(own - top), mode="valid")
    result: Floats = np.log(sums) + (top + straight[:many])
    return result
