"""The canonical mechanism at gamma = 1: one class for each count that the lowest of k items can have (P8.2).

A class holds all k-subsets whose lowest rank has one count: with `q` the lowest rank less `k - 1`, from `a` to `b`, `Σ
C(q + k - 1, k - 1)` of them. Time and memory are proportional to the number of different counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.mechanisms.canonical.row_weights import split_by_density
from crestline.mechanisms.canonical.sizes import log_factorials, log_size_of_last, log_sum_groups, size, sizes_error
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import Keys
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import EstimatedScores, LinearScores
from crestline.randomness.unit_points import Floats

_CELLS = 1 << 18  # numbers held at once, which limits memory


@dataclass(frozen=True)
class LowestSizes(EstimatedScores):
    """Scores: logarithms of the sizes of the classes."""

    k: int
    first: Indices
    last: Indices

    @cached_property
    def _approx_and_error(self) -> tuple[Floats, float]:
        return split_by_density(self.first, self.last, self._dense_log_sizes, self._sparse_log_sizes)

    def _dense_log_sizes(self, a: Indices, b: Indices) -> tuple[Floats, float]:
        many = int(b[-1]) + 1
        factorials = log_factorials(many + self.k)
        per_rank = factorials[self.k - 1 : self.k - 1 + many] - (factorials[:many] + factorials[self.k - 1])
        error = 2.0**-49 * float(factorials.max())  # 16 roundings: of three factorials, and of sums of their quotients
        return (per_rank if many == len(a) else log_sum_groups(per_rank, a)), error

    def _sparse_log_sizes(self, a: Indices, b: Indices) -> tuple[Floats, float]:
        many = max(1, _CELLS // self.k)
        blocks = [
            log_size_of_last(a[start : start + many], b[start : start + many], self.k)
            for start in range(0, len(a), many)
        ]
        logs = np.concatenate(blocks)
        return logs, sizes_error(logs, b, self.k)

    def ball(self, row: int, column: int) -> arb:
        return arb(fmpz(size(int(self.first[column]), int(self.last[column]), self.k - 1))).log()


@dataclass(frozen=True)
class LowestClasses:
    """One class for each count that the lowest of k items can have."""

    scores: LinearScores
    sizes: LowestSizes

    def draw(self, law: Law, trials: int, entropy: Entropy) -> list[int]:
        """The class with the largest key, for each trial."""
        result: list[int] = []
        columns = len(self.sizes.first)
        for rows in batch_sizes(trials, columns):
            draws = OnePerKey(entropy.uniforms(rows, columns), self.sizes)
            result += largest_columns(Keys(self.scores, law, draws), 1).ravel().tolist()
        return result


def lowest_classes(domain: CountLevels, k: int, rate: Fraction) -> LowestClasses:
    """Classes of a public list with at least k items; scores are relative to the best k."""
    inside = int(np.searchsorted(domain.starts, k - 1, side="right")) - 1  # the count level that holds the k-th item
    starts = domain.starts[inside:].copy()
    starts[0] = k - 1
    counts = domain.counts[inside:]
    sizes = LowestSizes(k, starts[:-1] - (k - 1), starts[1:] - k)
    return LowestClasses(LinearScores(counts - counts[0], rate), sizes)
