"""One sequence by the joint exponential mechanism (P14.4): first its value, then a uniform sequence of that value."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np

from crestline.histogram.count_levels import Indices
from crestline.mechanisms.public_list.joint_values import SequenceValues
from crestline.randomness.batch_sizes import batch_sizes
from crestline.randomness.compare import exceeds_threshold, largest_columns
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import build_keys, noiseless_keys
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.sampling import draw_distinct_ints, draw_int, draw_ints, draw_subsets
from crestline.randomness.scores import EqualScores, LinearScores


def draw_sequences(values: SequenceValues, trials: int, entropy: Entropy) -> Indices:
    """For each trial the ranks of one sequence of k different items."""
    tables = [_draw_batch(values, rows, entropy) for rows in batch_sizes(trials, len(values.approx))]
    return np.concatenate([np.zeros((0, values.k), dtype=np.int64), *tables])


def _draw_batch(values: SequenceValues, trials: int, entropy: Entropy) -> Indices:
    result = np.zeros((trials, values.k), dtype=np.int64)
    drawn = largest_columns(build_keys(values, GUMBEL, entropy.uniforms(trials, len(values.approx))), 1).ravel()
    for column in np.unique(drawn).tolist():
        mine = np.flatnonzero(drawn == column)
        if column < len(values.values):
            result[mine] = _draw_of_value(values, int(values.values[column]), len(mine), entropy)
        else:
            result[mine] = _draw_beyond(values, len(mine), entropy)
    return result


def _draw_of_value(values: SequenceValues, value: int, trials: int, entropy: Entropy) -> Indices:
    """Uniform sequences of exactly this value, drawn by the first position that attains it.

    The items allowed at a position are a prefix of the ranks, and the prefixes of later positions contain those of
    earlier ones: so a shuffle of a growing prefix returns every sequence with the same probability.
    """
    inside, below = (np.array(numbers, dtype=np.int64) for numbers in values.candidates_at(value))
    upto = list(accumulate(values.first_attaining_counts(value)))
    uniforms = entropy.uniforms(trials, 1)
    numbers = (draw_int(uniforms, index, upto[-1]) for index in range(trials))
    first = np.array([bisect_right(upto, number) for number in numbers], dtype=np.int64)
    where = np.arange(values.k)
    at = where == first[:, None]
    sizes = np.where(where < first[:, None], below, np.where(at, inside - below, inside))
    choices = draw_ints(entropy.uniforms(trials, values.k), sizes) + np.where(at, below, 0)
    return np.array([draw_distinct_ints(row) for row in choices.tolist()], dtype=np.int64)


def _draw_beyond(values: SequenceValues, trials: int, entropy: Entropy) -> Indices:
    """Sequences of trials that drew the last column, which holds every sequence, each with the weight of the horizon.

    A uniform sequence is kept with probability `exp(-rate · (value - horizon))` if its value is beyond the horizon;
    otherwise the trial is drawn again from all columns. So every sequence beyond the horizon has its own weight.
    """
    ranks = np.array(draw_subsets(values.domain.items, values.k, trials, entropy), dtype=np.int64)
    short = values.leading - values.domain.counts_at(ranks)
    beyond = short.max(axis=1, keepdims=True) - values.horizon
    noisy = build_keys(LinearScores(-beyond, values.rate), EXPONENTIAL, entropy.uniforms(*beyond.shape))
    again = ((beyond <= 0) | ~exceeds_threshold(noisy, noiseless_keys(EqualScores(1), trials))).ravel()
    ranks[again] = draw_sequences(values, int(again.sum()), entropy)
    return ranks
