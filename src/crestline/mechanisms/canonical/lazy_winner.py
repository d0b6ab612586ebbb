"""The class with the largest key for any noise, without a draw for every class.

Every noise is an increasing function `phi` of a Gumbel value, and `phi(g) ≤ max(g, 0) + ceiling` for one constant. The
largest `score + g` of a whole row of classes is one draw, `ln(weight) + Gumbel`, for every noise. Rows whose draw is
too low cannot hold the largest key, and only the few others are drawn class by class, given that draw: one class,
chosen by weight, attains it; the values of the others arrive later, independently. The result has exactly the law of
one draw for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz
from numpy.typing import NDArray

from crestline.histogram.count_levels import Indices
from crestline.mechanisms.canonical.sizes import ROUNDING
from crestline.mechanisms.canonical.subset_classes import (
    ClassScores,
    ClassSizes,
    RowWeights,
    SubsetClasses,
    all_classes,
)
from crestline.randomness.compare import exceeds_threshold, largest_columns
from crestline.randomness.draws import STEEPEST, OnePerKey, UniformDraws
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.keys import Keys, noiseless_keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import EstimatedScores
from crestline.randomness.uniforms import Uniforms, select_columns
from crestline.randomness.unit_points import Floats, GumbelPoints, Points

# c with quantile(exp(-exp(-g))) < max(g, 0) + c for every g, slightly enlarged: for a large g the quantile of logistic
# noise tends to g itself, and a key must not be compared with its limit.
CEILINGS = {
    "exponential": Fraction("0.46"),
    "laplace": Fraction("-0.30"),
    "logistic": Fraction("0.01"),
    "half-logistic": Fraction("0.78"),
}
_ROWS_AT_ONCE = 1 << 20  # classes drawn at once, which limits memory


@dataclass(frozen=True)
class LazyClassNoise(UniformDraws):
    """Noise of some classes, given the largest `score + g` of each of their rows.

    The arrival time of a class of size n is `exp(score) · E_row/weight + E/n`; the second part is absent for the class
    that attains the row's largest.
    """

    classes: SubsetClasses
    weights: RowWeights
    row_uniforms: Uniforms  # one row of the table of rows
    uniforms: Uniforms
    row: Indices
    m: Indices
    attains: NDArray[np.bool_]

    @property
    def error(self) -> float:
        return STEEPEST * self._rounding_error

    @cached_property
    def _rounding_error(self) -> float:
        largest = float(np.abs(self.weights.approx).max())
        own = 2.0**-45 + ROUNDING * largest  # a Gumbel value of 64 bits is at most 45: three roundings, or five
        return self.weights.error + self._scores.error + self._sizes.error + own

    @cached_property
    def _scores(self) -> ClassScores:
        return ClassScores(self.classes, self.row, self.m)

    @cached_property
    def _sizes(self) -> ClassSizes:
        return ClassSizes(self.classes, self.row, self.m)

    def _class_gumbel(self, row_gumbel: Floats, gumbel: Floats, columns: slice | list[int]) -> Floats:
        """Gumbel value of each class, from that of its row and its own."""
        row = self.row[columns]
        since = self._scores.approx[columns] - (self.weights.approx[row] + row_gumbel)
        later = -(gumbel + self._sizes.approx[columns])
        result: Floats = -np.where(self.attains[columns], since, np.logaddexp(since, later))
        return result

    def rough_points(self) -> Points:
        rows = OnePerKey(self.row_uniforms).rough_points().gumbel[:, self.row]
        return GumbelPoints(self._class_gumbel(rows, OnePerKey(self.uniforms).rough_points().gumbel, slice(None)))

    def unreliable(self) -> NDArray[np.bool_]:
        of_row = OnePerKey(self.row_uniforms).unreliable()[:, self.row]
        return of_row | (OnePerKey(self.uniforms).unreliable() & ~self.attains)

    def point_bounds(self, row: int, columns: Sequence[int]) -> tuple[Points, Points]:
        chosen = list(columns)
        row_low, row_high = OnePerKey(self.row_uniforms).point_bounds(row, self.row[chosen].tolist())
        own_low, own_high = OnePerKey(self.uniforms).point_bounds(row, columns)
        low = self._class_gumbel(row_low.gumbel, own_low.gumbel, chosen)
        high = self._class_gumbel(row_high.gumbel, own_high.gumbel, chosen)
        return GumbelPoints(low - self._rounding_error), GumbelPoints(high + self._rounding_error)

    def arrival_ball(self, row: int, column: int, bits: int) -> arb:
        of_row, m = int(self.row[column]), int(self.m[column])
        since = OnePerKey(self.row_uniforms).arrival_ball(row, of_row, bits) / self.classes.row_weight(of_row)
        time = rational_ball(self.classes.exact_score(of_row, m)).exp() * since
        if self.attains[column]:
            return time
        return time + OnePerKey(self.uniforms).arrival_ball(row, column, bits) / arb(
            fmpz(self.classes.exact_size(of_row, m))
        )


@dataclass(frozen=True)
class Winner:
    """The class with the largest key among some rows, and that key, optionally shifted."""

    draws: LazyClassNoise
    law: Law

    def key(self, shift: Fraction = Fraction(0)) -> Keys:
        scores = ClassScores(self.draws.classes, self.draws.row, self.draws.m, shift=shift)
        return Keys(scores, self.law, self.draws)

    @property
    def row_and_class(self) -> tuple[int, int]:
        return self.draws.row.item(), self.draws.m.item()


def winning_class(classes: SubsetClasses, weights: RowWeights, law: Law, entropy: Entropy) -> tuple[int, int]:
    """The `(row, m)` of the class with the largest key, for one trial."""
    uniforms = entropy.uniforms(1, classes.rows)
    rows = Keys(weights, GUMBEL, OnePerKey(uniforms))
    top = int(largest_columns(rows, 1).item())
    if law.name == GUMBEL.name:
        (m,) = _draw_attaining_classes(classes, [top], entropy)
        return top, m
    best = _largest_class(classes, weights, [top], uniforms, law, entropy)
    bar = best.key(shift=-CEILINGS[law.name])
    high = (
        exceeds_threshold(rows, bar).ravel()
        | exceeds_threshold(noiseless_keys(_BestRowScores(classes), 1), bar).ravel()
    )
    high[top] = False
    others = np.flatnonzero(high).tolist()
    many = max(1, _ROWS_AT_ONCE // classes.k)
    for start in range(0, len(others), many):
        other = _largest_class(classes, weights, others[start : start + many], uniforms, law, entropy)
        if exceeds_threshold(other.key(), best.key()).item():
            best = other
    return best.row_and_class


@dataclass(frozen=True)
class _BestRowScores(EstimatedScores):
    """Scores: the best score in each row, without noise."""

    classes: SubsetClasses

    @property
    def _approx_and_error(self) -> tuple[Floats, float]:
        return self.classes.row_scores, self.classes.score_error

    def ball(self, row: int, column: int) -> arb:
        return rational_ball(self.classes.exact_score(column, 0))  # m = 0 misses nothing


def _draw_attaining_classes(classes: SubsetClasses, rows: list[int], entropy: Entropy) -> list[int]:
    """For each row the class that attains its largest `score + g`: chosen by weight."""
    result: list[int] = []
    for row in rows:
        if row == 0:
            result.append(0)
            continue
        scores = ClassScores(classes, *all_classes(classes, [row]), with_sizes=True)
        result.append(int(largest_columns(Keys(scores, GUMBEL, OnePerKey(entropy.uniforms(1, classes.k))), 1).item()))
    return result


def _largest_class(
    classes: SubsetClasses, weights: RowWeights, rows: list[int], uniforms: Uniforms, law: Law, entropy: Entropy
) -> Winner:
    """The class with the largest key among some rows."""
    row, m = all_classes(classes, rows)
    first = np.zeros(classes.rows, dtype=np.int64)
    first[rows] = _draw_attaining_classes(classes, rows, entropy)
    attains = first[row] == m
    draws = LazyClassNoise(classes, weights, uniforms, entropy.uniforms(1, len(row)), row, m, attains)
    best = largest_columns(Keys(ClassScores(classes, row, m), law, draws), 1).ravel()
    alone = replace(
        draws, uniforms=select_columns(draws.uniforms, best[None, :]), row=row[best], m=m[best], attains=attains[best]
    )
    return Winner(alone, law)
