"""OpenDP's noisy top-k, as `crestline audit` takes it. The promise is what OpenDP's own privacy map says.

    crestline audit reproduction/audits/opendp_top_k.py:under_zcdp

Counts move in one direction when a user is added, so the metric is the monotonic one. OpenDP draws its own randomness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from typing import Any

import crestline as cl


@dataclass(frozen=True)
class NoisyTopK:
    """`make_noisy_top_k` over a public list of counts."""

    measure: str
    scale: float
    k: int = 1
    domain = "known"

    @cached_property
    def measurement(self) -> Any:
        dp = import_module("opendp.prelude")
        dp.enable_features("contrib")
        space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int, monotonic=True)
        measure = dp.zero_concentrated_divergence() if self.measure == "zcdp" else dp.max_divergence()
        return dp.m.make_noisy_top_k(*space, measure, k=self.k, scale=self.scale)

    def guarantee(self) -> cl.ZCDP | cl.PureDP:
        stated = Fraction(self.measurement.map(1))
        return cl.ZCDP(stated) if self.measure == "zcdp" else cl.PureDP(stated)

    def release(self, histogram: cl.Histogram, entropy: object) -> cl.Selection:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: cl.Histogram, n: int, entropy: object) -> list[cl.Selection]:
        counts, choose = [int(count) for count in histogram.counts], self.measurement
        made: dict[tuple[int, ...], cl.Selection] = {}
        result = []
        for _ in range(n):
            chosen = tuple(choose(counts))
            if chosen not in made:
                made[chosen] = cl.Selection(tuple(histogram.items[place] for place in chosen), False)
            result.append(made[chosen])
        return result

    def second_item(self, draws: int = 20_000) -> float:
        """How often the second item comes up for scores (2, 0): it tells the two mechanisms apart."""
        return sum(int(self.measurement([2, 0])[0]) for _ in range(draws)) / draws


class ChargedAsBoundedRange(NoisyTopK):
    """What OpenDP's issue #2911 describes: permute-and-flip, which is ε-DP, charged ε²/8 as if it were ε-bounded range.

    No version does this (the page says which were looked at); it shows that the attack would see it.
    """

    def guarantee(self) -> cl.ZCDP:
        return cl.ZCDP(Fraction(self.measurement.map(1)) ** 2 / 8)


def under_zcdp() -> NoisyTopK:
    return NoisyTopK("zcdp", 1.0)


def under_zcdp_two_items() -> NoisyTopK:
    return NoisyTopK("zcdp", 1.0, k=2)


def under_pure_dp() -> NoisyTopK:
    return NoisyTopK("pure", 1.0)


def as_issue_2911_says() -> NoisyTopK:
    return ChargedAsBoundedRange("pure", 1.0)
