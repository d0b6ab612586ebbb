"""The k largest noisy scores of all observed items that exceed a threshold (P17.1, P17.2).

One draw gives the largest noise among all items of equal score; the item that has it is a uniform choice. So the work
grows with the number of different scores, not with the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.histogram.observed_items import ObservedItems
from crestline.mechanisms.public_list.largest_keys import draw_top_keys
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold, round_to_grid
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import noiseless_keys
from crestline.randomness.laws.law import Law
from crestline.randomness.scores import LinearScores, RealScores


@dataclass(frozen=True)
class ReleasedRanks:
    """Items of one release.

    Attributes:
        ranks: Ranks of the items, largest noisy score first.
        values: Their noisy scores, in steps of the grid.
        bar: What a noisy score had to exceed: the threshold, or the largest noisy score above it that `k` left out.
    """

    ranks: list[int]
    values: list[int]
    bar: Fraction


@dataclass(frozen=True)
class ThresholdRule:
    """Rule that names the items with the `k` largest `score/unit + scale · noise` above `threshold`."""

    k: int
    law: Law
    scale: Fraction
    threshold: Fraction
    grid: Fraction

    def bar_at(self, value: int) -> Fraction:
        """What a noisy score had to exceed where the largest one that `k` left out has this value."""
        return max(self.threshold, value * self.grid)


def draw_releases(items: ObservedItems, rule: ThresholdRule, trials: int, entropy: Entropy) -> Iterator[ReleasedRanks]:
    """Items that the rule names in each trial, largest noisy score first.

    One item more than `k` is drawn: its noisy score is the bar that the last named item exceeded (P23.1).
    """
    wanted = min(rule.k + 1, items.size)
    if not wanted:
        yield from (ReleasedRanks([], [], rule.threshold) for _ in range(trials))
        return
    groups = CountLevels(items.scores, items.starts)
    scores = LinearScores(items.scores, Fraction(1, items.unit))
    bar = RealScores([Real(rule.threshold)])
    for rows in batch_sizes(trials, max(groups.number_of_levels, wanted)):
        top = draw_top_keys(groups, wanted, scores, rule.law, rows, entropy, rule.scale)
        above = exceeds_threshold(top.keys, noiseless_keys(bar, rows), top.columns)
        values = round_to_grid(top.keys, rule.grid, top.columns)
        yield from _cut_at_threshold(top.ranks, values, above, rule)


def _cut_at_threshold(
    ranks: Indices,
    values: Indices,
    above: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    rule: ThresholdRule,
) -> Iterator[ReleasedRanks]:
    """Every row up to its last key above the threshold; keys descend, so those are the first ones.

    A key that is not above the threshold is never read: it is no part of what may be released.
    """
    for row, value, many in zip(ranks.tolist(), values.tolist(), above.sum(axis=1).tolist(), strict=True):
        bar = rule.bar_at(value[rule.k]) if many > rule.k else rule.threshold
        yield ReleasedRanks(row[: min(many, rule.k)], value[: min(many, rule.k)], bar)
