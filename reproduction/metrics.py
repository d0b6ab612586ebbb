"""How good a selection is, for many releases at once.

Items are ranks (0 is the largest count), as `simulate` names them; ties were decided by the fixed order of the data.

returned      how many items were named
score_ratio   the sum of their counts over the sum of the k largest counts
proportion    how many of the true k they hold, over k
relative_sum  the sum of the counts of the true ones among them, over the sum of the k largest counts
f1            twice the true ones over k and the number named
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from reproduction.experiment import Estimate

Floats = NDArray[np.float64]
METRICS = ("returned", "score_ratio", "proportion", "relative_sum", "f1")


def score(selected: Sequence[Iterable[int]], counts: NDArray[np.int64], k: int) -> Mapping[str, Estimate]:
    """Mean and standard error of every metric over releases, each a collection of ranks; `counts` is ranked."""
    return {name: estimate(values) for name, values in by_release(selected, counts, k).items()}


def by_release(selected: Sequence[Iterable[int]], counts: NDArray[np.int64], k: int) -> Mapping[str, Floats]:
    """Every metric of every release."""
    rows = [tuple(ranks) for ranks in selected]
    sizes = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    ranks = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(sizes.sum()))
    release = np.repeat(np.arange(len(rows)), sizes)
    worth, true = counts[ranks].astype(np.float64), (ranks < k).astype(np.float64)
    hits, many = _sums(release, true, len(rows)), sizes.astype(np.float64)
    best = float(counts[:k].sum()) or 1.0
    return {
        "returned": many,
        "score_ratio": _sums(release, worth, len(rows)) / best,
        "proportion": hits / k,
        "relative_sum": _sums(release, worth * true, len(rows)) / best,
        "f1": 2 * hits / (k + many),
    }


def estimate(values: Floats) -> Estimate:
    """The mean and its standard error."""
    spread = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.inf
    return Estimate(float(values.mean()), spread)


def _sums(release: NDArray[np.int64], values: Floats, releases: int) -> Floats:
    totals: Floats = np.bincount(release, weights=values, minlength=releases).astype(np.float64)
    return totals
