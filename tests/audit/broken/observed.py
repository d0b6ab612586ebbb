"""Thresholds over observed items and one round of the sieve (P17.1, P18.1), broken in the ways that are easiest."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtri
from tests.audit.broken.drawing import Batched, Table, uniform

import crestline as cl
from crestline.guarantees.gaussian import largest_mu_squared
from crestline.histogram.relation import Relation
from crestline.histogram.view_kinds import PAIRS
from crestline.mechanisms.selection import Selection

EPSILON, DELTA = Fraction(1), Fraction(1, 20)


def _gaussian(entropy: Any, rows: int, columns: int) -> Table:
    noise: Table = ndtri(uniform(entropy, rows, columns))
    return noise


class CorrectThreshold(Batched):
    """Users with at most four items, which weigh √(2/m) each, or one: the two largest noisy scores above the threshold
    are named. Nothing is broken here."""

    k, view, contribution = 2, PAIRS, 4
    new = 4

    def __init__(self) -> None:
        self.sigma = math.sqrt(2 / largest_mu_squared(EPSILON, DELTA))
        passing = -np.expm1(math.log1p(-float(DELTA)) / np.arange(1, self.new + 1))
        weights = [CorrectThreshold.weight(self, items) for items in range(1, self.new + 1)]
        self.threshold = float((weights - self.sigma * ndtri(passing)).max())

    def guarantee(self) -> Any:
        return cl.ApproxDP(EPSILON, DELTA)

    def weight(self, items: int) -> float:
        return min(1.0, math.sqrt(2 / items))

    def release_many(self, pairs: Relation, n: int, entropy: Any) -> list[Any]:
        scores = self.scores(pairs)
        noisy = np.array(list(scores.values())) + self.sigma * _gaussian(entropy, n, len(scores))
        names = list(scores)
        order = np.argsort(-noisy, axis=1)[:, : self.k]
        return [
            self.listed([names[place] for place in row if values[place] > self.threshold])
            for row, values in zip(order.tolist(), noisy.tolist(), strict=True)
        ]

    def scores(self, pairs: Relation) -> dict[Any, float]:
        result: dict[Any, float] = {}
        for items in _by_user(pairs).values():
            for item in items:
                result[item] = result.get(item, 0.0) + self.weight(len(items))
        return result

    def listed(self, names: list[Any]) -> Selection:
        return Selection(tuple(names), len(names) < self.k)


class OneNewItem(CorrectThreshold):
    """The threshold is made for a user who brings one new item, not for one who brings several."""

    new = 1


class SkippedWhenEmpty(CorrectThreshold):
    """Where nothing is there the noise is not drawn, and the answer says so."""

    def release_many(self, pairs: Relation, n: int, entropy: Any) -> list[Any]:
        if not self.scores(pairs):
            return [Selection((), False)] * n
        return super().release_many(pairs, n, entropy)


class RoundedUpThreshold(CorrectThreshold):
    """Weights are rounded up, to whole numbers: four items of a user weigh one each."""

    def weight(self, items: int) -> float:
        return float(math.ceil(super().weight(items)))


class CorrectRound(Batched):
    """A round of the sieve over a public list: of two buckets those are kept whose noisy load exceeds ten, and what is
    on the list in a kept bucket is named. Nothing is broken here.

    `a` is in one bucket, all other items in the other: the promise holds for every fixed hash.
    """

    k, view, contribution, domain = 4, PAIRS, None, "known"
    sigma = 1 / math.sqrt(largest_mu_squared(EPSILON, DELTA))

    def guarantee(self) -> Any:
        return cl.ApproxDP(EPSILON, DELTA)

    def added(self, buckets: list[int]) -> dict[int, float]:
        """What a user adds to which bucket, whose items lie in these buckets."""
        different = set(buckets)
        return dict.fromkeys(different, 1 / math.sqrt(len(different)))

    def release_many(self, pairs: Relation, n: int, entropy: Any) -> list[Any]:
        loads = np.zeros(2)
        for items in _by_user(pairs).values():
            for bucket, weight in self.added([int(item == "a") for item in items]).items():
                loads[bucket] += weight
        kept = loads + self.sigma * _gaussian(entropy, n, 2) > 10
        return [_within(*row) for row in kept.tolist()]


class EveryItemLoads(CorrectRound):
    """Without `distinct`: items are counted in place of different buckets, and three in one bucket add √3 to it."""

    def added(self, buckets: list[int]) -> dict[int, float]:
        return {bucket: buckets.count(bucket) / math.sqrt(len(buckets)) for bucket in set(buckets)}


@cache
def _within(others: bool, first: bool) -> Selection:
    return Selection(tuple("a" * first + "bcdef" * others), False)


def _by_user(pairs: Relation) -> dict[int, list[Any]]:
    """The labels of every user's items."""
    result: dict[int, list[Any]] = {}
    for user, item in zip(*(part.tolist() for part in pairs.pairs()), strict=True):
        result.setdefault(user, []).extend(pairs._names([item]))
    return result
