"""Values of sequences under the joint exponential mechanism, and the number of sequences of each value (P14.4).

A sequence of k different items has the value v = the largest amount by which one of its items is below the item of
that rank. With `n_i(v)` items of a count within v of the i-th (i from 0), `Π (n_i(v) - i)` sequences have a value of
at most v. Values beyond a public horizon are not listed: together they are one column, with a weight that is an upper
bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import mul

import numpy as np
from flint import arb, fmpz

from crestline.histogram.count_levels import CountLevels, Indices
from crestline.histogram.histogram import LARGEST_COUNT
from crestline.randomness.exact_reals import rational_ball
from crestline.randomness.unit_points import Floats

# Sixteen times the rounding of one operation, for each of the numbers that are added up.
ROUNDING = 2.0**-49
# All sequences beyond the horizon weigh less than e^-60 times the best one. The horizon affects time, not the law.
BEYOND = 60.0


@dataclass(frozen=True)
class SequenceValues:
    """Scores of all values up to the horizon: `ln(number of sequences) - rate · value`.

    If larger values exist, one last column is for all of them: `ln(all sequences) - rate · horizon`.
    """

    domain: CountLevels
    k: int
    rate: Fraction
    horizon: int

    @cached_property
    def leading(self) -> Indices:
        return self.domain.leading_counts(self.k)

    @cached_property
    def has_larger_values(self) -> bool:
        """Whether values larger than the horizon exist."""
        return int(self.domain.counts[0] - self.domain.counts[-1]) > self.horizon

    @cached_property
    def _value_table(self) -> tuple[Indices, Floats, int]:
        """The values, ascending; the logarithm of the number of sequences of each; and the count of numbers summed."""
        value, growth = self._growth_events()
        order = np.argsort(value, kind="stable")
        value, growth = value[order], growth[order]
        distinct, starts = np.unique(value, return_index=True)
        upto, steps = np.cumsum(growth), np.add.reduceat(growth, starts)
        ends = np.append(starts[1:], len(value)) - 1
        logs = upto[ends]
        logs[1:] += np.log(-np.expm1(-steps[1:]))  # N(v) - N(v-); for v = 0, all of N(0)
        return distinct, logs, len(value)

    def _growth_events(self) -> tuple[Indices, Floats]:
        """Values where `ln(n_i - i)` grows, and by how much: `k` events at zero, then one for each count level."""
        starts, counts, sizes = self.domain.starts, self.domain.counts, self.domain.sizes
        values, growths = [np.zeros(self.k, dtype=np.int64)], [np.zeros(self.k)]
        for i, count in enumerate(self.leading.tolist()):
            own = int(np.searchsorted(starts, i, side="right"))  # the first count level below that of rank i
            last = int(np.searchsorted(-counts, self.horizon - count, side="right"))
            growths[0][i] = math.log(int(starts[own]) - i)
            values.append(count - counts[own:last])
            # not the logarithm of a ratio near one: N(v) - N(v-) needs the last digits of a small growth
            growths.append(np.log1p(sizes[own:last] / (starts[own:last] - i)))
        return np.concatenate(values), np.concatenate(growths)

    @property
    def values(self) -> Indices:
        return self._value_table[0]

    @cached_property
    def approx(self) -> Floats:
        inside = self._value_table[1] - self.values * float(self.rate)
        return (
            np.append(inside, self._log_of_all - float(self.rate * self.horizon)) if self.has_larger_values else inside
        )

    @cached_property
    def error(self) -> float:
        return ROUNDING * (float(self.rate * self.horizon) + self._value_table[2] * self._log_of_all)

    @cached_property
    def _log_of_all(self) -> float:
        return log_sequences(self.domain.items, self.k)

    def ball(self, row: int, column: int) -> arb:
        if column == len(self.values):
            every = math.perm(self.domain.items, self.k)
            return arb(fmpz(every)).log() - rational_ball(self.rate * self.horizon)
        value = int(self.values[column])
        inside, below = self.candidates_at(value)
        number = math.prod(inside) - math.prod(below)
        return arb(fmpz(number)).log() - rational_ball(self.rate * value)

    def candidates_at(self, value: int) -> tuple[list[int], list[int]]:
        """`n_i - i` for every i: of items at most `value` below their rank, and of items less than `value` below it.

        The latter fall by at most one from position to position, so that one of them is 0 before any is negative.
        """
        places, counts = np.arange(self.k), -self.domain.counts
        upto = np.searchsorted(counts, value - self.leading, side="right")
        before = np.searchsorted(counts, value - self.leading, side="left")
        inside, below = ((self.domain.starts[ends] - places).tolist() for ends in (upto, before))
        return inside, below

    def first_attaining_counts(self, value: int) -> list[int]:
        """For each position the number of sequences of exactly this value that attain it there first (P14.4)."""
        inside, below = self.candidates_at(value)
        before = [1, *accumulate(below, mul)][: self.k]
        after = [1, *accumulate(reversed(inside), mul)][: self.k][::-1]
        numbers = zip(before, inside, below, after, strict=True)
        return [b * (n - m) * a for b, n, m, a in numbers]


def log_sequences(items: int, k: int) -> float:
    """Logarithm of the number of all sequences of `k` different items."""
    return sum(math.log(items - i) for i in range(k))


def sequence_values(domain: CountLevels, k: int, rate: Fraction) -> SequenceValues:
    """Values of a public list with at least k items; the horizon depends on public numbers only."""
    reach = Fraction(log_sequences(domain.items, k) + BEYOND) / rate
    return SequenceValues(domain, k, rate, min(LARGEST_COUNT, math.ceil(reach)))
