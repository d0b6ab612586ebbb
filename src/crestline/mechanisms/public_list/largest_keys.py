"""The k largest of `rate · count + noise` over a public list, in order, in time proportional to its count levels (D9).

One draw gives the largest noise of a whole count level. Only the k levels with the largest maxima can hold one of the
k largest keys; of those, further order statistics are drawn until the last one drawn of every level is not needed. The
items of a level that have them are a uniform choice.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import largest_columns
from crestline.randomness.draws import OnePerKey, OrderStatistics
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import Keys
from crestline.randomness.laws.law import Law
from crestline.randomness.sampling import LazyShuffle, draw_ints
from crestline.randomness.scores import LinearScores, LogScores
from crestline.randomness.uniforms import Uniforms, interleave, select_columns

_FIRST_DEPTH = 4  # order statistics of each level drawn at first


def draw_top_ranks(domain: CountLevels, k: int, rate: Fraction, law: Law, trials: int, entropy: Entropy) -> Indices:
    """For each trial the ranks of the items with the `k` largest keys, largest first; `k` items must exist."""
    tables = [
        _draw_batch(domain, k, LinearScores(domain.counts, rate), law, rows, entropy)
        for rows in batch_sizes(trials, max(domain.number_of_levels, k))
    ]
    return np.concatenate([np.zeros((0, k), dtype=np.int64), *tables])


def _draw_batch(domain: CountLevels, k: int, scores: LinearScores, law: Law, rows: int, entropy: Entropy) -> Indices:
    return draw_top_keys(domain, k, scores, law, rows, entropy).ranks


@dataclass(frozen=True)
class LargestKeys:
    """The `k` largest keys of every row, in order.

    keys      a table of keys that holds them
    columns   their columns in the table, largest first
    ranks     the items that have them, counted through all count levels
    """

    keys: Keys
    columns: Indices
    ranks: Indices


def draw_top_keys(
    domain: CountLevels,
    k: int,
    scores: LinearScores,
    law: Law,
    rows: int,
    entropy: Entropy,
    scale: Fraction = Fraction(1),
) -> LargestKeys:
    """The `k` largest of `score + scale · noise` for each trial; `scores` has one for each level of at least `k`
    items."""
    uniforms = entropy.uniforms(rows, domain.number_of_levels)
    copies = None if domain.items == domain.number_of_levels else LogScores(domain.sizes)
    maxima = Keys(scores, law, OnePerKey(uniforms, copies), scale)
    chosen = largest_columns(maxima, min(k, domain.number_of_levels))
    sizes = domain.sizes[chosen]
    if (sizes == 1).all():  # then these are k levels: no fewer than k items exist
        return LargestKeys(maxima, chosen, domain.starts[chosen])
    parts = [select_columns(uniforms, chosen)]
    keys, columns, depth = _draw_order_statistics(
        LinearScores(scores.counts[chosen], scores.rate), sizes, k, law, parts, entropy, scale
    )
    places_of, ranks = np.divmod(columns, depth)
    groups = np.take_along_axis(chosen, places_of, axis=1)
    members = domain.starts[groups] + draw_members(groups, ranks, domain.sizes[groups], entropy)
    return LargestKeys(keys, columns, members)


@dataclass(frozen=True)
class LargestKeysOfRows:
    """The `k` largest keys of every row of a table of classes, in order.

    keys      a table of keys that holds them
    columns   their columns in the table, largest first; columns without a key follow if a row has too few
    classes   the class of each, as a column of the table of classes
    ranks     its number among the order statistics of its class, from 0
    """

    keys: Keys
    columns: Indices
    classes: Indices
    ranks: Indices


def draw_top_of_rows(
    scores: LinearScores, sizes: Indices, k: int, law: Law, uniforms: Uniforms, entropy: Entropy, scale: Fraction
) -> LargestKeysOfRows:
    """The `k` largest of `score + scale · noise` of every row, where each row has its own classes of equal scores.

    `sizes` has the number of items of each class, zero for none; `uniforms` are those of the classes' maxima.
    """
    maxima = Keys(scores, law, OrderStatistics(uniforms, sizes, 1), scale)
    chosen = largest_columns(maxima, min(k, sizes.shape[1]))
    there = np.take_along_axis(sizes, chosen, axis=1)
    if k == 1 or (there <= 1).all():
        return LargestKeysOfRows(maxima, chosen, chosen, np.zeros_like(chosen))
    counts = LinearScores(np.take_along_axis(scores.counts, chosen, axis=1), scores.rate)
    keys, columns, depth = _draw_order_statistics(
        counts, there, k, law, [select_columns(uniforms, chosen)], entropy, scale
    )
    places, ranks = np.divmod(columns, depth)
    return LargestKeysOfRows(keys, columns, np.take_along_axis(chosen, places, axis=1), ranks)


def _draw_order_statistics(
    scores: LinearScores,
    sizes: Indices,
    k: int,
    law: Law,
    parts: list[Uniforms],
    entropy: Entropy,
    scale: Fraction,
) -> tuple[Keys, Indices, int]:
    """The `k` largest keys of the chosen levels: a table with `depth` ranks for each level, their columns, the depth.

    `parts` holds the uniforms of the levels' maxima; those of deeper ranks are drawn when they are needed.
    """
    rows, groups = sizes.shape
    deepest = min(k, int(sizes.max()))
    depth = min(_FIRST_DEPTH, deepest) if groups == k else deepest  # fewer levels than k: the maxima do not suffice
    have = 1
    while True:
        parts.append(entropy.uniforms(rows, groups * (depth - have)))
        have = depth
        draws = OrderStatistics(interleave(parts, groups), sizes, depth)
        keys = Keys(LinearScores(np.repeat(scores.counts, depth, axis=1), scores.rate), law, draws, scale)
        top = largest_columns(keys, min(k, keys.shape[1]))
        places_of, ranks = np.divmod(top, depth)
        more = np.take_along_axis(sizes, places_of, axis=1) > depth
        if depth == deepest or not (more & (ranks == depth - 1)).any():
            return keys, top, depth
        depth = min(2 * depth, deepest)


def draw_members(groups: Indices, ranks: Indices, sizes: Indices, entropy: Entropy) -> Indices:
    """The item of its level that has each order statistic: uniform, and never the same item twice."""
    result = draw_ints(entropy.uniforms(*groups.shape), sizes - ranks)
    repeated = np.flatnonzero(ranks.any(axis=1))
    for row in repeated:
        decks: defaultdict[int, LazyShuffle] = defaultdict(LazyShuffle)
        cards = zip(groups[row].tolist(), result[row].tolist(), strict=True)
        result[row] = [decks[name].next(choice) for name, choice in cards]
    return result
