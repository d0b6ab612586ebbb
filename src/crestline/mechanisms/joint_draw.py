"""One sequence by the joint exponential mechanism (P14.4): first its value, then a uniform sequence of that value."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np

from crestline.mechanisms.joint_values import Values
from crestline.mechanisms.universe import Indices
from crestline.randomness.choices import dealt, place, places, subsets
from crestline.randomness.comparison import exceeding, largest
from crestline.randomness.entropy import Entropy
from crestline.randomness.keys import fixed, keys
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.reals import Real
from crestline.randomness.scores import Equal, Listed
from crestline.randomness.trials import batches


def sequences(values: Values, trials: int, entropy: Entropy) -> Indices:
    """For each trial the ranks of one sequence of k different items."""
    result = np.zeros((trials, values.k), dtype=np.int64)
    columns = len(values.approx)
    start = 0
    for rows in batches(trials, columns):
        drawn = largest(keys(values, GUMBEL, entropy.uniforms(rows, columns)), 1).ravel()
        for column in np.unique(drawn).tolist():
            mine = start + np.flatnonzero(drawn == column)
            if column < len(values.values):
                result[mine] = _of_value(values, int(values.values[column]), len(mine), entropy)
            else:
                for trial in mine.tolist():
                    result[trial] = _from_beyond(values, entropy)
        start += rows
    return result


def _of_value(values: Values, value: int, trials: int, entropy: Entropy) -> Indices:
    """Uniform sequences of exactly this value, by the first place that attains it.

    Items that may stand at a place are the first so many ranks, and those of later places include those of earlier
    ones: so a shuffle that is dealt from a growing prefix deals every sequence alike.
    """
    inside, below = (np.array(numbers, dtype=np.int64) for numbers in values.within(value))
    upto = list(accumulate(values.first_attaining(value)))
    uniforms = entropy.uniforms(trials, 1)
    numbers = (place(uniforms, index, upto[-1]) for index in range(trials))
    first = np.array([bisect_right(upto, number) for number in numbers], dtype=np.int64)
    where = np.arange(values.k)
    at = where == first[:, None]
    sizes = np.where(where < first[:, None], below, np.where(at, inside - below, inside))
    choices = places(entropy.uniforms(trials, values.k), sizes) + np.where(at, below, 0)
    return np.array([dealt(row) for row in choices.tolist()], dtype=np.int64)


def _from_beyond(values: Values, entropy: Entropy) -> list[int]:
    """The column of all values beyond the horizon stands for every sequence, each with the weight of the horizon.

    A uniform sequence is kept with probability `exp(-rate · (value - horizon))` if its value does lie beyond; otherwise
    nothing was drawn, and all is drawn again. What is kept has the weight it should have.
    """
    ranks = subsets(values.universe.items, values.k, 1, entropy)[0]
    value = int((values.leading - values.universe.counts_at(np.array(ranks, dtype=np.int64))).max())
    if value > values.horizon:
        bar = fixed(Listed([Real(values.rate * (value - values.horizon))]), 1)
        if exceeding(keys(Equal(1), EXPONENTIAL, entropy.uniforms(1, 1)), bar).item():
            return ranks
    again: list[int] = sequences(values, 1, entropy)[0].tolist()
    return again
