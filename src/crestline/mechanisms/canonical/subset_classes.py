"""Classes of k-subsets with equal scores under the canonical mechanism (P8.2), in rows.

Row 0 is the class of the best k alone. Every other row holds the subsets whose lowest rank has one count: `k` classes,
class `m` being the subsets that leave out rank `k - 1 - m` first. Scores are relative to the best k; ranks count from
0. `behind` lowers the scores of all classes but the best k further than P8.2 does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.mechanisms.canonical.row_weights import row_weights
from crestline.mechanisms.canonical.sizes import ROUNDING, log_sizes, size, sizes, sizes_error
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.scores import EstimatedScores
from crestline.randomness.unit_points import Floats


@dataclass(frozen=True)
class SubsetClasses:
    """All k-subsets of a public list with more than k items, for `gamma` below one; `rate` is the `c` of P8.2."""

    k: int
    gamma: Fraction
    rate: Fraction
    misses: Indices  # for each m: users by which the count of the first rank left out exceeds the k-th
    gaps: Indices  # for each row but the first: users by which its count is below the k-th
    first: Indices  # its first lowest rank, less k
    last: Indices
    behind: Fraction = Fraction(0)  # subtracted from the scores of all other classes, besides their loss

    @property
    def rows(self) -> int:
        return len(self.gaps) + 1

    @cached_property
    def row_scores(self) -> Floats:
        """Best score in each row: the part that depends on the lowest rank."""
        result: Floats = np.concatenate([[0.0], self.gaps * -float(self.rate * self.gamma) - float(self.behind)])
        return result

    @cached_property
    def class_shifts(self) -> Floats:
        """Difference of class m to the row's best score: the part that depends on the first rank left out."""
        return np.multiply(self.misses, -float(self.rate * (1 - self.gamma)), dtype=np.float64)

    @cached_property
    def score_error(self) -> float:
        largest = float(self.misses.max()) + float(self.gaps.max())
        return ROUNDING * (largest * float(self.rate) + float(self.behind))

    def exact_score(self, row: int, m: int) -> Fraction:
        """`-c (LOSS - LOSS(top))`: zero for the best k, negative for all others."""
        if row == 0:
            return Fraction(0)
        loss = (1 - self.gamma) * int(self.misses[m]) + self.gamma * int(self.gaps[row - 1])
        return -self.rate * loss - self.behind

    def exact_size(self, row: int, m: int) -> int:
        return 1 if row == 0 else size(int(self.first[row - 1]), int(self.last[row - 1]), m)

    def row_weight(self, row: int) -> arb:
        """Total weight of a row, as a ball at the working precision."""
        if row == 0:
            return arb(1)
        total = arb(0)
        every = sizes(int(self.first[row - 1]), int(self.last[row - 1]), self.k)
        for m, number in enumerate(every):
            total += arb(fmpz(number)) * rational_ball(self.exact_score(row, m)).exp()
        return total


@dataclass(frozen=True)
class RowWeights(EstimatedScores):
    """Scores: the logarithm of each row's total weight, `ln Σ size · exp(score)`."""

    classes: SubsetClasses

    @cached_property
    def _approx_and_error(self) -> tuple[Floats, float]:
        found, error = row_weights(self.classes.first, self.classes.last, self.classes.class_shifts)
        approx = self.classes.row_scores + np.append(0.0, found)
        return approx, error + self.classes.score_error

    def ball(self, row: int, column: int) -> arb:
        return self.classes.row_weight(column).log()


@dataclass(frozen=True)
class ClassScores:
    """Scores of single classes: columns are `(row, m)` pairs.

    `with_sizes` adds the logarithm of the class's size.
    """

    classes: SubsetClasses
    row: Indices
    m: Indices
    with_sizes: bool = False
    shift: Fraction = Fraction(0)

    @cached_property
    def approx(self) -> Floats:
        scores = (
            self.classes.row_scores[self.row] + self.classes.class_shifts[self.m]
        )  # row 0 has m = 0, and misses nothing
        return (
            scores + float(self.shift) + (ClassSizes(self.classes, self.row, self.m).approx if self.with_sizes else 0.0)
        )

    @cached_property
    def error(self) -> float:
        own = self.classes.score_error + ROUNDING * abs(float(self.shift))
        return own + (ClassSizes(self.classes, self.row, self.m).error if self.with_sizes else 0.0)

    def ball(self, row: int, column: int) -> arb:
        place = int(self.row[column]), int(self.m[column])
        score = rational_ball(self.classes.exact_score(*place) + self.shift)
        return score + arb(fmpz(self.classes.exact_size(*place))).log() if self.with_sizes else score


@dataclass(frozen=True)
class ClassSizes:
    """Scores: logarithms of the sizes of single classes."""

    classes: SubsetClasses
    row: Indices
    m: Indices

    @cached_property
    def approx(self) -> Floats:
        different, place = np.unique(self.row, return_inverse=True)
        inner = different - 1  # for row 0 the last row is read, and not used
        table = log_sizes(self.classes.first[inner], self.classes.last[inner], self.classes.k)
        return np.where(self.row == 0, 0.0, table[place, self.m])

    @cached_property
    def error(self) -> float:
        return sizes_error(self.approx, self.classes.last[self.row - 1], self.classes.k)

    def ball(self, row: int, column: int) -> arb:
        return arb(fmpz(self.classes.exact_size(int(self.row[column]), int(self.m[column])))).log()


def subset_classes(
    domain: CountLevels, k: int, gamma: Fraction, rate: Fraction, behind: Fraction = Fraction(0)
) -> SubsetClasses:
    """Classes of a public list with more than k items."""
    leading = domain.leading_counts(k)
    inside = int(np.searchsorted(domain.starts, k, side="right")) - 1  # the count level that holds rank k
    counts, starts = domain.counts[inside:], domain.starts[inside:].copy()
    starts[0] = k
    if not gamma:  # the score does not depend on the lowest rank: one row
        counts, starts = counts[:1], starts[[0, -1]]
    return SubsetClasses(
        k=k,
        gamma=gamma,
        rate=rate,
        misses=leading[::-1] - leading[-1],
        gaps=(leading[-1] - counts),
        first=starts[:-1] - k,
        last=starts[1:] - 1 - k,
        behind=behind,
    )


def all_classes(classes: SubsetClasses, rows: Sequence[int]) -> tuple[Indices, Indices]:
    """The `(row, m)` pairs of some rows."""
    widths = [classes.k if row else 1 for row in rows]
    ends = np.cumsum(widths)
    row = np.repeat(np.array(rows, dtype=np.int64), widths)
    return row, np.arange(len(row)) - np.repeat(ends - widths, widths)
