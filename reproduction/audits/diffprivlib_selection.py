"""diffprivlib's selection and noise, as `crestline audit` takes them.

    crestline audit reproduction/audits/diffprivlib_selection.py:permute_and_flip

diffprivlib draws from the operating system's generator unless a `random_state` is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import crestline as cl


@dataclass(frozen=True)
class Selecting:
    """`Exponential` or `PermuteAndFlip` over a public list of counts, which are monotonic."""

    name: str
    epsilon: float = 1.0
    k: int = 1
    domain = "known"

    def guarantee(self) -> cl.PureDP:
        return cl.PureDP(self.epsilon)

    def release(self, histogram: cl.Histogram, entropy: object) -> cl.Selection:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: cl.Histogram, n: int, entropy: object) -> list[cl.Selection]:
        kind = getattr(import_module("diffprivlib.mechanisms"), self.name)
        utility = [float(count) for count in histogram.counts]
        chosen = kind(epsilon=self.epsilon, sensitivity=1, utility=utility, monotonic=True)
        made = [cl.Selection((item,), False) for item in histogram.items]
        return [made[chosen.randomise()] for _ in range(n)]


@dataclass(frozen=True)
class Counting:
    """Every count of a public list with noise of its own, printed as it comes; a user has one item."""

    name: str
    epsilon: float = 1.0
    domain = "known"
    contribution = 1

    def guarantee(self) -> cl.PureDP:
        return cl.PureDP(self.epsilon)

    def release(self, histogram: cl.Histogram, entropy: object) -> cl.Selection:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: cl.Histogram, n: int, entropy: object) -> list[cl.Selection]:
        noise = self._noise()
        names = tuple(sorted(histogram.items))
        whole = self.name == "Geometric"
        counts = [histogram.counts[list(histogram.items).index(name)] for name in names]
        values = [int(count) if whole else float(count) for count in counts]
        return [cl.Selection(names, False, tuple(noise.randomise(value) for value in values)) for _ in range(n)]

    def _noise(self) -> Any:
        kind = getattr(import_module("diffprivlib.mechanisms"), self.name)
        if self.name == "Snapping":
            return kind(epsilon=self.epsilon, sensitivity=1, lower=0, upper=1000)
        return kind(epsilon=self.epsilon, sensitivity=1)


def exponential() -> Selecting:
    return Selecting("Exponential")


def permute_and_flip() -> Selecting:
    return Selecting("PermuteAndFlip")


def laplace_counts() -> Counting:
    return Counting("Laplace")


def geometric_counts() -> Counting:
    return Counting("Geometric")


def snapping_counts() -> Counting:
    return Counting("Snapping")
