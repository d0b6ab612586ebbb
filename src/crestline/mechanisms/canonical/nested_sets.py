"""Test the best set of each size k, k − 1, … against one noisy threshold (P19.1).

For a set y of i slots the score is `min_y x`, lowered by `κ` for each user by which the largest count outside exceeds
the k-th. At rate r that is the canonical score of P8.2 with `γ = 1/(1 + κ)` at rate `r/γ`, except that for i < k the
best i slots miss only the next one: all other sets fall behind them by `r κ (x_i - x_{i+1})` more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.count_levels import Indices, levels_of_counts
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.draw_subset import SubsetSampler
from crestline.mechanisms.canonical.log_weights_by_size import ClassTotal, LowestTotals
from crestline.mechanisms.canonical.subset_classes import subset_classes
from crestline.mechanisms.numerics.first_pass_law import first_pass_chances
from crestline.mechanisms.slot_checks import NO_SLOT, Slots
from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import build_keys
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import EqualScores, RealScores, Scores, SumScores, concat_scores
from crestline.randomness.uniforms import Uniforms


@dataclass(frozen=True)
class SizeLevel:
    """Sets of one size: the rate at which they are drawn, their threshold, both for one user, and κ."""

    size: int
    rate: Fraction
    threshold: Fraction
    kappa: Fraction


class NestedSets:
    """Sets of slots of one histogram, ready to be drawn; scores and samplers are computed once and kept.

    `levels` are in descending order of size; all but the first have one rate. `shared` is the rate of the thresholds'
    noise.
    """

    def __init__(self, histogram: Histogram, levels: Sequence[SizeLevel], shared: Fraction) -> None:
        self.slots = histogram.k_bar
        self._counts: Indices = histogram.array
        self._unit = histogram.unit
        self._next = histogram.next_count
        self._floor = (histogram.next_count or 0) + histogram.unit
        self._shared = shared
        self._levels = {level.size: level for level in levels}
        self._groups = levels_of_counts(self._counts)
        self._subsets: dict[int, SubsetSampler] = {}
        self._parts = [
            (part, self._scores(part)) for part in (levels[:1], levels[1:]) if part and self._next is not None
        ]

    @property
    def sizes(self) -> list[int]:
        """Sizes that are tested, in order: only the first if nothing was left out, since it always passes (P0.8)."""
        sizes = [min(size, self.slots) for size in self._levels]
        return sizes[:1] if self._next is None else sizes

    def draw(self, trials: int, entropy: Entropy) -> Slots:
        """For each trial the ranks of one set, ascending, after `NO_SLOT` for each missing item."""
        size = self._draw_size(trials, entropy)
        result = np.full((trials, self.sizes[0]), NO_SLOT, dtype=np.int64)
        for number in np.unique(size[size > 0]).tolist():
            rows = np.flatnonzero(size == number)
            result[rows, result.shape[1] - number :] = self._members(number, len(rows), entropy)
        return result

    def law(self) -> Iterator[tuple[list[int], float]]:
        """Ranks of every set and its probability; an empty list of ranks for no set."""
        for size, passed in self._size_law():
            for ranks, chance in self._member_law(size):
                yield ranks, passed * chance

    def _draw_size(self, trials: int, entropy: Entropy) -> Indices:
        """The first size that passes in each trial; 0 if none does."""
        if self._next is None:
            return np.full(trials, self.sizes[0])
        noise = entropy.uniforms(trials, 1)
        passed = np.hstack([self._levels_passed(part, scores, noise, entropy) for part, scores in self._parts])
        first = np.where(passed.any(axis=1), passed.argmax(axis=1), len(self.sizes))
        return np.array([*self.sizes, 0], dtype=np.int64)[first]

    def _levels_passed(
        self, levels: Sequence[SizeLevel], scores: Scores, noise: Uniforms, entropy: Entropy
    ) -> NDArray[np.bool_]:
        """Whether the largest key of each size passes; `noise` is the same for all sizes."""
        best = build_keys(scores, GUMBEL, entropy.uniforms(noise.shape[0], len(levels)))
        return exceeds_threshold(
            best, build_keys(EqualScores(1), EXPONENTIAL, noise, scale=levels[0].rate / self._shared)
        )

    def _scores(self, levels: Sequence[SizeLevel]) -> Scores:
        """Score of the largest key of each size, less the threshold that it must exceed, both in units of the noise."""
        bars = RealScores([Real(-level.rate * level.threshold) for level in levels])
        return SumScores(self._log_totals(levels), bars)

    def _log_totals(self, levels: Sequence[SizeLevel]) -> Scores:
        if not levels[0].kappa:
            rate, gaps = levels[0].rate / self._unit, self._counts - np.int64(self._floor)
            return LowestTotals(tuple(level.size for level in levels), gaps, rate)
        return concat_scores(*(self._total(level) for level in levels))

    def _total(self, level: SizeLevel) -> Scores:
        """Score of the largest key of one size, where sets have a penalty for leaders that they miss."""
        rate = level.rate / self._unit
        best = int(self._counts[level.size - 1]) - self._floor - level.kappa * self._largest_miss(level.size)
        if level.size == self.slots:
            return RealScores([Real(rate * best)])
        return ClassTotal(subset_classes(self._groups, level.size, *self._canonical_parameters(level)), rate * best)

    def _largest_miss(self, size: int) -> int:
        """Users by which the largest count outside the best set of this size exceeds the k-th."""
        most = min(max(self._levels), self.slots)
        return int(self._counts[size] - self._counts[most - 1]) if size < most else 0

    def _canonical_parameters(self, level: SizeLevel) -> tuple[Fraction, Fraction, Fraction]:
        """`γ`, the rate of P8.2, and by how much all other sets fall behind the best one in addition."""
        gamma, rate = 1 / (1 + level.kappa), level.rate / self._unit
        behind = int(self._counts[level.size - 1] - self._counts[level.size]) if level.size < max(self._levels) else 0
        return gamma, rate / gamma, rate * level.kappa * behind

    def _members(self, size: int, trials: int, entropy: Entropy) -> Slots:
        """Ranks of the set with the largest key, which are independent of that key's value."""
        if size == self.slots:
            return np.broadcast_to(np.arange(size), (trials, size))
        if size not in self._subsets:
            self._subsets[size] = SubsetSampler(self._groups, size, *self._canonical_parameters(self._levels[size]))
        return self._subsets[size].draw(GUMBEL, trials, entropy)

    def _size_law(self) -> list[tuple[int, float]]:
        if self._next is None:
            return [(self.sizes[0], 1.0)]
        weights = np.concatenate([scores.approx for _, scores in self._parts])
        rates = np.array([float(level.rate) for level in self._levels.values()])
        return list(
            zip([*self.sizes, 0], first_pass_chances(weights, rates, float(self._shared)).tolist(), strict=True)
        )

    def _member_law(self, size: int) -> Iterator[tuple[list[int], float]]:
        """Every set of one size by enumeration, with its probability."""
        if size in (0, self.slots):
            yield list(range(size)), 1.0
            return
        level, counts, kth = self._levels[size], self._counts, self._counts[min(max(self._levels), self.slots) - 1]
        sets = [list(ranks) for ranks in combinations(range(self.slots), size)]
        missed = [max(0, int(np.delete(counts, ranks).max() - kth)) for ranks in sets]
        short = np.array([int(counts[size - 1] - counts[ranks[-1]]) for ranks in sets])
        lost = short + float(level.kappa) * np.array(missed)
        weights = np.exp(-float(level.rate) * (lost - lost.min()) / self._unit)
        yield from zip(sets, (weights / weights.sum()).tolist(), strict=True)
