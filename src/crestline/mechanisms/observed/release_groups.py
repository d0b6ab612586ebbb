"""The largest noisy scores above a threshold, in all groups at once (P15.1, P17.2).

Only items above the threshold are named, so most classes of equal scores are excluded by one comparison of whole
numbers: the largest noise of n items exceeds x only if its uniform exceeds `F(x)^n`. In a group of many classes the
first k classes give a higher bound, because k keys certainly reach the least of their largest keys. The remaining
classes are arranged in tables with one row for each group; groups with similar numbers of classes share a table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.count_levels import Indices
from crestline.histogram.observed_table import ObservedTable, Pick
from crestline.mechanisms.observed.release import ThresholdRule
from crestline.mechanisms.public_list.largest_keys import draw_members, draw_top_of_rows
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold, round_to_grid
from crestline.randomness.draws import OrderStatistics
from crestline.randomness.entropy import Entropy
from crestline.randomness.exact_reals import Real
from crestline.randomness.keys import Keys, noiseless_keys
from crestline.randomness.scores import LinearScores, RealScores
from crestline.randomness.uniforms import WORD, Uniforms, rearrange
from crestline.randomness.unit_points import Floats

# Relative errors of doubles: of a distribution function far below one in a million, of its powers one rounding for each
# factor.
_SAFE, _PER_FACTOR = 0.999999, 1e-14
# From this multiple of k classes on, a bound for the group saves more time than it costs; the selection is the same.
_MANY = 2
# Classes further than this number of scales from the bound are treated as if at that distance: a few more are kept.
_FAR = 12.0
_NO_BARS: Floats = np.zeros(0)


@dataclass(frozen=True)
class ReleasedRanksByGroup:
    """Items named in all groups of a table: groups in order, and in each the largest noisy score first.

    row      group of each item, as a row of the table
    score    its score
    place    its number among the items of its group with that score
    values   its noisy score, in steps of the grid
    bars     what a noisy score of its group had to exceed, in users
    """

    row: Indices
    score: Indices
    place: Indices
    values: Indices
    bars: Floats

    @property
    def picks(self) -> list[Pick]:
        return list(zip(self.row.tolist(), self.score.tolist(), self.place.tolist(), strict=True))

    def rows_with_items(self) -> Iterator[tuple[int, slice]]:
        """Every row in which an item is named, and the slice of its items."""
        first = np.flatnonzero(np.diff(self.row, prepend=-1))
        ends = [*first[1:].tolist(), len(self.row)]
        yield from zip(self.row[first].tolist(), map(slice, first.tolist(), ends), strict=True)


def draw_in_groups(table: ObservedTable, rule: ThresholdRule, entropy: Entropy) -> ReleasedRanksByGroup:
    """Items that the rule names in every group, with independent noise.

    One item more than `k` is drawn in each group: its noisy score is the bar that the last named item exceeded (P23.1).
    """
    named, rule = rule, replace(rule, k=rule.k + 1)
    uniforms = entropy.uniforms(1, len(table.scores))
    near = np.flatnonzero(uniforms.words[0] >= _least_word(table, rule, _bars(table, rule, uniforms)))
    group = np.searchsorted(table.starts, near, side="right") - 1
    none = np.zeros(0, dtype=np.int64)
    drawn = [(none, none, none, none)]
    drawn += [_draw_part(table, rule, part, uniforms, entropy) for part in _tables(group, near)]
    row, score, place, values = (np.concatenate(column) for column in zip(*drawn, strict=True))
    order = np.argsort(row, kind="stable")
    return _cut_at_k(ReleasedRanksByGroup(row[order], score[order], place[order], values[order], _NO_BARS), named)


def _cut_at_k(drawn: ReleasedRanksByGroup, rule: ThresholdRule) -> ReleasedRanksByGroup:
    """The first `k` items of each group, with the bar that the next one, if it was drawn, has set."""
    first = np.searchsorted(drawn.row, drawn.row)
    rank = np.arange(len(drawn.row)) - first
    bars = np.full(len(drawn.row), float(rule.threshold))
    for last in np.flatnonzero(rank == rule.k).tolist():
        bars[first[last] : last] = float(rule.bar_at(int(drawn.values[last])))
    kept = rank < rule.k
    return ReleasedRanksByGroup(drawn.row[kept], drawn.score[kept], drawn.place[kept], drawn.values[kept], bars[kept])


@dataclass(frozen=True)
class _GroupClasses:
    """Some groups, by their rows, and their classes; -1 where a group has no further class."""

    rows: Indices
    classes: Indices


def _bars(table: ObservedTable, rule: ThresholdRule, uniforms: Uniforms) -> Floats:
    """For each group a number that every named key certainly reaches.

    It is the threshold or, in a group of many classes, the least of the largest keys of the first k if that is more.
    """
    bars = np.full(len(table), float(rule.threshold))
    wide, start = np.flatnonzero(np.diff(table.starts) > _MANY * rule.k), 0
    for size in batch_sizes(len(wide), rule.k):
        part = wide[start : start + size]
        start += size
        classes = table.starts[part][:, None] + np.arange(rule.k)
        scores = LinearScores(table.scores[classes], Fraction(1, table.unit))
        maxima = OrderStatistics(rearrange(uniforms, classes), table.sizes[classes], 1)
        keys = Keys(scores, rule.law, maxima, rule.scale)
        with np.errstate(divide="ignore", invalid="ignore"):  # words at the very ends are marked unreliable
            rough = keys.rough_keys(maxima.rough_points(), scores.approx)
        reached = np.where(maxima.unreliable(), -np.inf, rough).min(axis=1) - keys.error
        bars[part] = np.maximum(bars[part], reached)
    return bars


def _least_word(table: ObservedTable, rule: ThresholdRule, bars: Floats) -> NDArray[np.uint64]:
    """For each class the least word with which its largest key may reach the bound of its group."""
    bar = np.repeat(bars, np.diff(table.starts))
    away = (bar - table.scores / table.unit) / float(rule.scale)
    below = np.full(len(away), float(rule.law.cdf(np.array([_FAR]))[0]))
    close, several = np.flatnonzero(away < _FAR), np.flatnonzero(table.sizes > 1)
    below[close] = rule.law.cdf(away[close])
    below *= np.maximum(_SAFE - table.sizes * _PER_FACTOR, 0.0) * 2.0**WORD
    with np.errstate(under="ignore"):
        below[several] *= (below[several] / 2.0**WORD) ** (table.sizes[several] - 1)
    return below.astype(np.uint64)


def _tables(group: Indices, near: Indices) -> Iterator[_GroupClasses]:
    """The remaining classes in tables: groups with at most 1, 2, 4, … classes, a batch of groups at a time."""
    rows, first, many = np.unique(group, return_index=True, return_counts=True)
    width = np.int64(1) << np.ceil(np.log2(many)).astype(np.int64)
    for wide in np.unique(width).tolist():
        chosen, start = np.flatnonzero(width == wide), 0
        for size in batch_sizes(len(chosen), wide):
            part = chosen[start : start + size]
            start += size
            places = first[part][:, None] + np.arange(wide)
            there = np.arange(wide) < many[part][:, None]
            yield _GroupClasses(rows[part], np.where(there, near[np.where(there, places, 0)], -1))


def _draw_part(
    table: ObservedTable, rule: ThresholdRule, part: _GroupClasses, uniforms: Uniforms, entropy: Entropy
) -> tuple[Indices, Indices, Indices, Indices]:
    """Row, score, place and noisy score of each item that is named in some groups."""
    classes = part.classes
    sizes = np.where(classes >= 0, table.sizes[classes], 0)
    scores = LinearScores(table.scores[classes], Fraction(1, table.unit))
    maxima = rearrange(uniforms, np.maximum(classes, 0))
    top = draw_top_of_rows(scores, sizes, rule.k, rule.law, maxima, entropy, rule.scale)
    above = exceeds_threshold(top.keys, noiseless_keys(RealScores([Real(rule.threshold)]), len(classes)), top.columns)
    # Below the threshold nothing is named: the best key of the row, which always exists, is read there and not used.
    noisy = round_to_grid(top.keys, rule.grid, np.where(above, top.columns, top.columns[:, :1]))
    ranks, there = np.where(above, top.ranks, 0), np.take_along_axis(sizes, top.classes, axis=1)
    index = draw_members(top.classes, ranks, np.maximum(there, 1), entropy)
    score = np.take_along_axis(table.scores[classes], top.classes, axis=1)
    row = np.broadcast_to(part.rows[:, None], above.shape)
    return row[above], score[above], index[above], noisy[above]
