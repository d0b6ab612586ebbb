"""Over a public list (P8), broken in many ways."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from tests.audit.broken.drawing import Batched, Table, exponential, gumbel, laplace, ranked, uniform

import crestline as cl
from crestline.mechanisms.selection import Selection

Class: TypeAlias = tuple[float, float, list[tuple[int, ...]]]  # its score, the logarithm of its size, its members


class _Best(Batched):
    """The item with the largest noisy count."""

    domain = "known"
    epsilon = 1.0

    def guarantee(self) -> Any:
        return cl.PureDP(self.epsilon)

    def keys(self, histogram: Any, n: int, entropy: Any) -> Table:
        return self.epsilon * histogram.array + exponential(entropy, n, len(histogram.array))

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        best = np.argmax(self.keys(histogram, n, entropy), axis=1)
        made = [Selection((item,), False) for item in histogram.items]
        return [made[column] for column in best.tolist()]


class PermuteAndFlip(_Best):
    """Nothing is broken here."""


class NoisyMinimum(_Best):
    """The smallest noisy count: one-sided noise protects the maximum only."""

    def keys(self, histogram: Any, n: int, entropy: Any) -> Table:
        return -super().keys(histogram, n, entropy)


class TiesByPosition(_Best):
    """Whole-number noise, and ties go to whoever stands first."""

    def keys(self, histogram: Any, n: int, entropy: Any) -> Table:
        shape = n, len(histogram.array)
        steps = np.floor(exponential(entropy, *shape)) - np.floor(exponential(entropy, *shape))
        return np.asarray(histogram.array + steps, dtype=np.float64)


class PrintedSensitivity(_Best):
    """The sensitivity as printed, half the difference of both directions, is zero for counts: no noise (E-D1)."""

    def keys(self, histogram: Any, n: int, entropy: Any) -> Table:
        return super().keys(histogram, n, entropy) + 1e9 * histogram.array


class FixedSeed(_Best):
    """The generator is seeded alike every time."""

    def keys(self, histogram: Any, n: int, entropy: Any) -> Table:
        noise = np.random.default_rng(2026).gumbel(size=len(histogram.array))
        return np.tile(self.epsilon * histogram.array + noise, (n, 1))


class _Counts(Batched):
    """Noisy counts of every item, in the order of their names."""

    domain = "known"
    contribution: int | None = 1
    epsilon = 1.0

    def guarantee(self) -> Any:
        return cl.PureDP(self.epsilon)

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return laplace(entropy, n, columns) / self.epsilon

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        order = sorted(range(len(histogram.items)), key=lambda place: histogram.items[place])
        names = tuple(histogram.items[place] for place in order)
        values = histogram.array[order] + self.noise(entropy, n, len(order))
        return [Selection(names, False, tuple(row)) for row in values.tolist()]


class EveryItem(_Counts):
    """Nothing bounds how many items one user has."""

    contribution = None


class FloatGrid(_Counts):
    """Floating-point noise printed to the last bit: which bits can be set depends on the count (Mironov 2012)."""


class FloatTail(_Counts):
    """The same where every printed number is large, so that its size says nothing about its last bit."""

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        drawn = super().release_many(histogram, n, entropy)
        return [replace(one, counts=tuple(max(20.0, value) for value in one.counts)) for one in drawn]


class NumPyLaplace(_Counts):
    """NumPy's own Laplace noise, printed as it is."""

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        choose = np.random.default_rng(entropy.words(4))
        names = tuple(sorted(histogram.items))
        values = [histogram.counts[histogram.items.index(name)] for name in names]
        drawn = choose.laplace(values, 1 / self.epsilon, size=(n, len(values)))
        return [Selection(names, False, tuple(row)) for row in np.maximum(drawn, 20.0).tolist()]


class OnPublicGrid(_Counts):
    """Nothing is broken here: rounded to a grid that everybody knows."""

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return np.rint(super().noise(entropy, n, columns) * 1024) / 1024


class TwiceAlike(_Counts):
    """Both counts get the same noise: their difference is printed exactly."""

    def noise(self, entropy: Any, n: int, columns: int) -> Table:
        return np.repeat(super().noise(entropy, n, 1), columns, axis=1)


class _Canonical(Batched):
    """The canonical mechanism over k-subsets by classes (P8.2), k = 2; a law can be written down for Gumbel noise."""

    domain = "known"
    k = 2
    epsilon = 0.5

    def guarantee(self) -> Any:
        return cl.PureDP(self.epsilon)

    def classes(self, counts: Any) -> list[Class]:
        """Score, logarithm of the size that is used, and members of every class."""
        raise NotImplementedError

    def class_keys(self, scores: Table, logs: Table, n: int, entropy: Any) -> Table:
        return scores + logs + gumbel(entropy, n, len(scores))

    def release_many(self, histogram: Any, n: int, entropy: Any) -> list[Any]:
        classes = self.classes(histogram.counts)
        scores, logs = (np.array([row[part] for row in classes]) for part in (0, 1))
        won = ranked(self.class_keys(scores, logs, n, entropy))[:, 0].tolist()
        pick = uniform(entropy, n, 1)[:, 0].tolist()
        result = []
        for place, u in zip(won, pick, strict=True):
            members = classes[place][2]
            chosen = members[int(u * len(members))]
            result.append(Selection(frozenset(histogram.items[slot] for slot in chosen), False))
        return result


def _members(many: int, h: int, t: int) -> list[tuple[int, ...]]:
    """Pairs with `h` of the first places, not the next, and place `t` (from 1) as their lowest."""
    pairs = combinations(range(1, many + 1), 2)
    return [tuple(p - 1 for p in y) for y in pairs if y[1] == t and (y[0] == 1 if h else y[0] != 1)]


class ClassSizes(_Canonical):
    """γ = 1/2 with the class sizes as printed, (t-h-1)/(k-h-1) for (t-h-2)/(k-h-1) (E-D4)."""

    def classes(self, counts: Any) -> list[Class]:
        many = len(counts)
        rows: list[Class] = [(0.0, 0.0, [(0, 1)])]
        for t in range(3, many + 1):
            for h in (1, 0):
                size = 0.0 if h else math.log((t - 1) / 1)
                score = self.epsilon * (0.5 * counts[t - 1] - 0.5 * counts[h])
                rows.append((score, size, _members(many, h, t)))
        return rows


class _LowestCounts(_Canonical):
    """γ = 1: one class for each lowest place."""

    def classes(self, counts: Any) -> list[Class]:
        rows: list[Class] = []
        for t in range(2, len(counts) + 1):
            members: list[tuple[int, ...]] = [(first, t - 1) for first in range(t - 1)]
            rows.append((self.epsilon * counts[t - 1], math.log(t - 1), members))
        return rows


class CorrectCanonical(_LowestCounts):
    """Nothing is broken here."""


class UnscaledTop(_LowestCounts):
    """γ = 1 as printed: the top class has no ε before its count (E-D5)."""

    def classes(self, counts: Any) -> list[Class]:
        rows = super().classes(counts)
        return [(float(counts[1]), *rows[0][1:]), *rows[1:]]


class DecreasingInverse(_LowestCounts):
    """Laplace noise by the inverse as printed, which decreases: the largest of n draws becomes the smallest (E-D6)."""

    def class_keys(self, scores: Table, logs: Table, n: int, entropy: Any) -> Table:
        p = uniform(entropy, n, len(scores)) ** np.exp(-logs)
        return scores + np.sign(p - 0.5) * np.log1p(-np.abs(2 * p - 1))
