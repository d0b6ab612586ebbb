"""Logarithm of the total weight of all sets of one size: the score of their largest Gumbel key (P2.1, P19.1).

The largest of `score + Gumbel` over many sets is `ln Σ exp(score)` plus one Gumbel noise, and independent of which set
has it. So one key for each size decides whether any set of that size passes, and the set is drawn afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, fmpz

from crestline.histogram.count_levels import Indices
from crestline.mechanisms.canonical.sizes import ROUNDING, log_factorials, log_sum
from crestline.mechanisms.canonical.subset_classes import RowWeights, SubsetClasses
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.scores import EstimatedScores
from crestline.randomness.unit_points import Floats

_CELLS = 1 << 18  # numbers held at once, which limits memory


@dataclass(frozen=True)
class LowestTotals:
    """Scores: for each size i `ln Σ_t C(t - 1, i - 1) exp(rate · gap_t)`, where a set counts by its lowest rank t.

    `gaps` has one entry for each slot, the largest first; no size exceeds their number.
    """

    sizes: tuple[int, ...]
    gaps: Indices
    rate: Fraction

    @cached_property
    def approx(self) -> Floats:
        many = max(1, _CELLS // len(self.gaps))
        wanted = np.array(self.sizes, dtype=np.int64)
        blocks = [self._log_terms(wanted[start : start + many]) for start in range(0, len(wanted), many)]
        return np.concatenate([np.zeros(0), *blocks])

    def _log_terms(self, sizes: Indices) -> Floats:
        """Logarithms of the totals of some sizes."""
        factorials, before = log_factorials(len(self.gaps)), np.arange(len(self.gaps))
        inside = sizes[:, None] - 1  # members besides the lowest
        outside = before - inside
        logs = factorials[before] - factorials[inside] - factorials[np.abs(outside)]
        return log_sum(np.where(outside < 0, -np.inf, logs + self._scores))

    @cached_property
    def _scores(self) -> Floats:
        return np.multiply(self.gaps, float(self.rate), dtype=np.float64)

    @cached_property
    def error(self) -> float:
        """Bound on the roundings of three factorials, of the scores, and of a sum with one term for each slot."""
        slots = len(self.gaps)
        return ROUNDING * (4 * float(log_factorials(slots)[-1]) + 4 * float(np.abs(self._scores).max()) + slots)

    def ball(self, row: int, column: int) -> arb:
        inside, total = self.sizes[column] - 1, arb(0)
        for rank in range(inside, len(self.gaps)):
            total += arb(fmpz.bin_uiui(rank, inside)) * rational_ball(self.rate * int(self.gaps[rank])).exp()
        return total.log()


@dataclass(frozen=True)
class ClassTotal(EstimatedScores):
    """Scores: the total for all k-subsets when the items left out also matter; `best` is the score of the best k."""

    classes: SubsetClasses
    best: Fraction

    @cached_property
    def _approx_and_error(self) -> tuple[Floats, float]:
        rows, best = RowWeights(self.classes), float(self.best)
        total = log_sum(rows.approx) + best
        return np.atleast_1d(total), rows.error + ROUNDING * (self.classes.rows + abs(best) + abs(float(total)))

    def ball(self, row: int, column: int) -> arb:
        total = arb(0)
        for inner in range(self.classes.rows):
            total += self.classes.row_weight(inner)
        return total.log() + rational_ball(self.best)
