"""Noise in plain NumPy floats, many trials at once: how broken mechanisms are usually written."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]


class Batched:
    """One release is a batch of one."""

    def release(self, histogram: Any, entropy: Any) -> Any:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        raise NotImplementedError


def uniform(entropy: Any, rows: int, columns: int) -> Table:
    """Strictly between 0 and 1."""
    words = entropy.words(rows * columns).reshape(rows, columns)
    return (np.asarray(words >> np.uint64(11), dtype=np.float64) + 0.5) * 2.0**-53


def gumbel(entropy: Any, rows: int, columns: int) -> Table:
    return -np.log(-np.log(uniform(entropy, rows, columns)))


def exponential(entropy: Any, rows: int, columns: int) -> Table:
    return -np.log(uniform(entropy, rows, columns))


def laplace(entropy: Any, rows: int, columns: int) -> Table:
    u = uniform(entropy, rows, columns) - 0.5
    return -np.sign(u) * np.log1p(-2 * np.abs(u))


def ranked(keys: Table) -> NDArray[np.int64]:
    """Columns by falling key, row by row."""
    return np.argsort(-keys, axis=1)
