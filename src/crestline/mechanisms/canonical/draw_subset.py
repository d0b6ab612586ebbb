"""One k-subset of a public list by the canonical mechanism (P8.2), as ranks: first its class, then a member."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.mechanisms.canonical.gamma_one import LowestClasses, lowest_classes
from crestline.mechanisms.canonical.lazy_winner import winning_class
from crestline.mechanisms.canonical.sizes import draw_lowest_rank
from crestline.mechanisms.canonical.subset_classes import (
    ClassScores,
    ClassSizes,
    RowWeights,
    SubsetClasses,
    all_classes,
    subset_classes,
)
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import Keys
from crestline.randomness.laws.law import Law
from crestline.randomness.sampling import draw_distinct_ints, draw_ints

# Up to this number of classes each is drawn separately, many trials at once, which is faster there; above it rows are
# drawn, and only few of their classes. Both ways have the same law.
TABLE = 1 << 12


class SubsetSampler:
    """Draws k-subsets of a public list with more than k items; weights and sizes are computed once, for all draws."""

    def __init__(
        self, domain: CountLevels, k: int, gamma: Fraction, rate: Fraction, behind: Fraction = Fraction(0)
    ) -> None:
        """`behind` lowers the scores of all subsets but the best k; it needs a gamma below 1."""
        self._kind = (
            _GammaOneSampler(domain, k, rate)
            if gamma == 1
            else _RowSampler(subset_classes(domain, k, gamma, rate, behind))
        )

    def draw(self, law: Law, trials: int, entropy: Entropy) -> Indices:
        """For each trial the ranks of one subset, ascending."""
        return np.sort(self._kind.draw(law, trials, entropy), axis=1)


class _GammaOneSampler:
    """Sampler of classes for gamma = 1, where only the lowest count of a subset matters."""

    def __init__(self, domain: CountLevels, k: int, rate: Fraction) -> None:
        self._classes: LowestClasses = lowest_classes(domain, k, rate)
        self._k = k

    def draw(self, law: Law, trials: int, entropy: Entropy) -> Indices:
        rows, inside = self._classes.draw(law, trials, entropy), self._k - 1
        first, last = self._classes.sizes.first[rows], self._classes.sizes.last[rows]
        ranks = inside + _draw_lowest_ranks(first, last, np.full(trials, inside), entropy)
        return np.column_stack([_distinct_integers(ranks, np.full(trials, inside), inside, entropy), ranks])


class _RowSampler:
    """Sampler of classes for gamma below 1, in rows of equal lowest count."""

    def __init__(self, classes: SubsetClasses) -> None:
        self._classes = classes
        self._weights = RowWeights(classes)

    def draw(self, law: Law, trials: int, entropy: Entropy) -> Indices:
        if (self._classes.rows - 1) * self._classes.k < TABLE:
            return self._members(*self._from_table(law, trials, entropy), entropy)
        pairs = [winning_class(self._classes, self._weights, law, entropy) for _ in range(trials)]
        row, m = np.array(pairs, dtype=np.int64).reshape(trials, 2).T
        return self._members(row, m, entropy)

    def _from_table(self, law: Law, trials: int, entropy: Entropy) -> tuple[Indices, Indices]:
        """The class with the largest key in each trial, with one draw for every class."""
        row, m = all_classes(self._classes, range(self._classes.rows))
        scores, sizes = ClassScores(self._classes, row, m), ClassSizes(self._classes, row, m)
        best = [
            largest_columns(Keys(scores, law, OnePerKey(entropy.uniforms(rows, len(row)), sizes)), 1).ravel()
            for rows in batch_sizes(trials, len(row))
        ]
        winners = np.concatenate([np.zeros(0, dtype=np.int64), *best])
        return row[winners], m[winners]

    def _members(self, row: Indices, m: Indices, entropy: Entropy) -> Indices:
        """A uniform member of each class: all ranks above the first left out, m of those below it, and the lowest."""
        k, inner = self._classes.k, np.maximum(row, 1) - 1
        lowest = _draw_lowest_ranks(self._classes.first[inner], self._classes.last[inner], m, entropy)
        body = _distinct_integers(lowest + m, m, k - 1, entropy)
        out = (k - 1 - m)[:, None]  # the first rank left out
        place = np.arange(k - 1) - out
        drawn = out + 1 + np.take_along_axis(body, place, axis=1)  # a negative place is read from the end, and not used
        ranks = np.column_stack([np.where(place < 0, np.arange(k - 1), drawn), k + lowest])
        return np.where(row[:, None] == 0, np.arange(k), ranks)


def _draw_lowest_ranks(first: Indices, last: Indices, m: Indices, entropy: Entropy) -> Indices:
    """Lowest rank, less its offset, of a uniform member of each trial's class."""
    result, uniforms = first.copy(), entropy.uniforms(len(first), 1)
    for index in np.flatnonzero(first < last).tolist():
        result[index] = draw_lowest_rank(int(first[index]), int(last[index]), int(m[index]), uniforms, index)
    return result


def _distinct_integers(sizes: Indices, many: Indices, most: int, entropy: Entropy) -> Indices:
    """For each trial `many` different integers below its size, in the first columns of a table of `most`."""
    left = np.maximum(sizes[:, None] - np.arange(most), 1)
    result = draw_ints(entropy.uniforms(len(sizes), most), left)
    for index in np.flatnonzero(many > 1).tolist():
        number = int(many[index])
        result[index, :number] = draw_distinct_ints(result[index, :number].tolist())
    return result
