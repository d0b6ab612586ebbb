"""One k-subset of a public list by the canonical mechanism (P8.2), as ranks: first its class, then a member."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from crestline.histogram.groups import Groups, Indices
from crestline.mechanisms.canonical.classes import (
    Classes,
    ClassScores,
    ClassSizes,
    RowWeights,
    classes_of,
    every_class,
)
from crestline.mechanisms.canonical.lowest import LowestClasses, lowest_classes
from crestline.mechanisms.canonical.reveal import winning_class
from crestline.mechanisms.canonical.sizes import lowest
from crestline.randomness.batches import batches
from crestline.randomness.compare import largest
from crestline.randomness.draws import OneEach
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import Keys
from crestline.randomness.laws.law import Law
from crestline.randomness.sampling import distinct_ints, uniform_ints

# Up to so many classes each has a draw of its own, many trials at once; beyond, rows are drawn and few are revealed.
TABLE = 1 << 12  # up to here a table is quicker; both ways have the law


class Subsets:
    """Draws k-subsets of a public list with more than k items; weights and sizes are computed once, for all draws."""

    def __init__(self, domain: Groups, k: int, gamma: Fraction, rate: Fraction, behind: Fraction = Fraction(0)) -> None:
        """`behind` lowers the scores of all subsets but the best k; it needs a gamma below 1."""
        self._kind = _Lowest(domain, k, rate) if gamma == 1 else _Rows(classes_of(domain, k, gamma, rate, behind))

    def draw(self, law: Law, trials: int, entropy: Entropy) -> Indices:
        """For each trial the ranks of one subset, ascending."""
        return np.sort(self._kind.draw(law, trials, entropy), axis=1)


class _Lowest:
    """The classes for gamma = 1, where only the lowest count of a subset matters."""

    def __init__(self, domain: Groups, k: int, rate: Fraction) -> None:
        self._classes: LowestClasses = lowest_classes(domain, k, rate)
        self._k = k

    def draw(self, law: Law, trials: int, entropy: Entropy) -> Indices:
        rows, inside = self._classes.draw(law, trials, entropy), self._k - 1
        first, last = self._classes.sizes.first[rows], self._classes.sizes.last[rows]
        ranks = inside + _lowest_ranks(first, last, np.full(trials, inside), entropy)
        return np.column_stack([_inner(ranks, np.full(trials, inside), inside, entropy), ranks])


class _Rows:
    """The classes for gamma below 1, in rows of equal lowest count."""

    def __init__(self, classes: Classes) -> None:
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
        row, m = every_class(self._classes, range(self._classes.rows))
        scores, sizes = ClassScores(self._classes, row, m), ClassSizes(self._classes, row, m)
        best = [
            largest(Keys(scores, law, OneEach(entropy.uniforms(rows, len(row)), sizes)), 1).ravel()
            for rows in batches(trials, len(row))
        ]
        winners = np.concatenate([np.zeros(0, dtype=np.int64), *best])
        return row[winners], m[winners]

    def _members(self, row: Indices, m: Indices, entropy: Entropy) -> Indices:
        """A uniform member of each class: all ranks above the first left out, m of those below it, and the lowest."""
        k, inner = self._classes.k, np.maximum(row, 1) - 1
        lowest = _lowest_ranks(self._classes.first[inner], self._classes.last[inner], m, entropy)
        body = _inner(lowest + m, m, k - 1, entropy)
        out = (k - 1 - m)[:, None]  # the first rank left out
        place = np.arange(k - 1) - out
        drawn = out + 1 + np.take_along_axis(body, place, axis=1)  # a negative place is read from the end, and not used
        ranks = np.column_stack([np.where(place < 0, np.arange(k - 1), drawn), k + lowest])
        return np.where(row[:, None] == 0, np.arange(k), ranks)


def _lowest_ranks(first: Indices, last: Indices, m: Indices, entropy: Entropy) -> Indices:
    """For each trial the lowest rank, less its offset, of a uniform member of a class."""
    result, uniforms = first.copy(), entropy.uniforms(len(first), 1)
    for index in np.flatnonzero(first < last).tolist():
        result[index] = lowest(int(first[index]), int(last[index]), int(m[index]), uniforms, index)
    return result


def _inner(sizes: Indices, many: Indices, most: int, entropy: Entropy) -> Indices:
    """For each trial `many` different integers below its size, in the first columns of a table of `most`."""
    left = np.maximum(sizes[:, None] - np.arange(most), 1)
    result = uniform_ints(entropy.uniforms(len(sizes), most), left)
    for index in np.flatnonzero(many > 1).tolist():
        number = int(many[index])
        result[index, :number] = distinct_ints(result[index, :number].tolist())
    return result
