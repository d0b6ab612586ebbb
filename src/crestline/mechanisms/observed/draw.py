"""The k largest noisy scores of all observed items, as far as they exceed a threshold (P17.1, P17.2).

One draw gives the largest noise of a whole group of equal scores; which item of the group carries it is a uniform
choice. So the work grows with the number of different scores, not with the number of items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.groups import Groups, Indices
from crestline.histogram.observed import ObservedItems
from crestline.mechanisms.public_list.top_ranks import top_keys
from crestline.randomness.batches import batches
from crestline.randomness.compare import exceeding, rounded
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import fixed
from crestline.randomness.laws.law import Law
from crestline.randomness.reals import Real
from crestline.randomness.scores import Linear, Listed


@dataclass(frozen=True)
class Passed:
    """What one release names: the ranks of the items, best first, and their noisy scores in steps of the grid."""

    ranks: list[int]
    values: list[int]


@dataclass(frozen=True)
class Rule:
    """What a release names: the items with the `k` largest `score/unit + scale · noise` above `threshold`."""

    k: int
    law: Law
    scale: Fraction
    threshold: Fraction
    grid: Fraction


def passed(items: ObservedItems, rule: Rule, trials: int, entropy: Entropy) -> Iterator[Passed]:
    """What the rule names in each trial, largest noisy score first."""
    wanted = min(rule.k, items.size)
    if not wanted:
        yield from (Passed([], []) for _ in range(trials))
        return
    groups = Groups(items.scores, items.starts)
    scores = Linear(items.scores, Fraction(1, items.unit))
    bar = Listed([Real(rule.threshold)])
    for rows in batches(trials, max(groups.groups, wanted)):
        top = top_keys(groups, wanted, scores, rule.law, rows, entropy, rule.scale)
        above = exceeding(top.keys, fixed(bar, rows), top.columns)
        values = rounded(top.keys, rule.grid, top.columns)
        yield from _cut(top.ranks, values, above)


def _cut(ranks: Indices, values: Indices, above: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> Iterator[Passed]:
    """Every row up to its last key above the threshold; keys descend, so those are the first ones."""
    for row, value, many in zip(ranks.tolist(), values.tolist(), above.sum(axis=1).tolist(), strict=True):
        yield Passed(row[:many], value[:many])
