"""Exact chances of a good selection from a public list: TOP, GREAT and GOOD of ShekelyanLoukides2022.

The head of a selection is the number of best items it holds without a gap, its tail the lowest rank it reaches. Ranks
are those of the histogram, in which equal counts stand in the order of their labels: a tie is counted strictly, so
where the k-th and the next item have the same count, TOP has a chance of one half at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from crestline.errors import MechanismError
from crestline.histogram.count_levels import count_levels
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.canonical.canonical import Canonical
from crestline.mechanisms.public_list.lipschitz import Lipschitz
from crestline.mechanisms.routes.canonical_or_peeling import CanonicalOrPeeling
from crestline.mechanisms.slot_checks import unit_rate
from crestline.randomness.laws.exponential import EXPONENTIAL
from crestline.randomness.laws.gumbel import GUMBEL
from reproduction.canonical_chances import canonical_chance
from reproduction.canonical_exponential import exponential_chance
from reproduction.one_shot_chances import one_shot_chance

_SURE = 1 - 1e-9


@dataclass(frozen=True)
class Quality:
    """A selection is this good when its head is at least `head` and its tail at most `tail`; ranks from 1."""

    name: str
    head: int
    tail: int

    def met_by(self, ranks: list[int]) -> bool:
        """Whether a selection, given by its ranks counted from 0, is this good."""
        chosen = set(ranks)
        return all(rank in chosen for rank in range(self.head)) and max(chosen) < self.tail


def qualities(k: int) -> tuple[Quality, Quality, Quality]:
    """TOP: the best k. GREAT: h ≥ k/10, t ≤ 1.1 k. GOOD: h ≥ k/100, t ≤ 1.5 k."""
    return (
        Quality("TOP", k, k),
        Quality("GREAT", math.ceil(Fraction(k, 10)), math.floor(Fraction(11 * k, 10))),
        Quality("GOOD", math.ceil(Fraction(k, 100)), math.floor(Fraction(3 * k, 2))),
    )


Mechanism: TypeAlias = Lipschitz | Canonical | CanonicalOrPeeling


def chance(mechanism: Mechanism, histogram: Histogram, quality: Quality) -> float:
    """The exact probability that the mechanism's selection from a public list is this good.

    `Lipschitz` with any noise (with Gumbel noise it is peeling, P2.1), `Canonical` with Gumbel or exponential noise, or
    a choice between the two.
    """
    items, k = count_levels(histogram), mechanism.k
    if isinstance(mechanism, CanonicalOrPeeling):
        taken = mechanism.canonical_chance(histogram) if items.items > k else 1.0
        ways = chance(mechanism.canonical, histogram, quality), chance(mechanism.peeling, histogram, quality)
        return taken * ways[0] + (1 - taken) * ways[1]
    per_user = mechanism.epsilon if mechanism.monotone else mechanism.epsilon / 2
    if isinstance(mechanism, Lipschitz):
        rate = float(unit_rate(per_user / k, histogram))
        return one_shot_chance(items, k, rate, mechanism.noise, quality.head, quality.tail)
    of_sets = {GUMBEL.name: canonical_chance, EXPONENTIAL.name: exponential_chance}.get(mechanism.noise)
    if of_sets is None:
        raise MechanismError("exact chances of the canonical mechanism are for Gumbel and exponential noise")
    return of_sets(items, k, mechanism.gamma, unit_rate(per_user, histogram), quality.head, quality.tail)


def chances(mechanism: Mechanism, histogram: Histogram) -> dict[str, float]:
    """The exact probabilities of TOP, GREAT and GOOD; each contains the one before."""
    found: dict[str, float] = {}
    least = 0.0
    for quality in qualities(mechanism.k):
        if least < _SURE:
            least = max(least, chance(mechanism, histogram, quality))
        found[quality.name] = least
    return found


def epsilon_needed(
    make: Callable[[Fraction], Mechanism],
    histogram: Histogram,
    quality: Quality,
    wanted: float,
    *,
    digits: int = 4,
    span: int = 40,
) -> float:
    """The least ε at which the mechanism that `make` gives is this good with probability `wanted`, by bisection.

    The chance must rise with ε, which is sought from 2^-span to 2^span; infinite where even that does not suffice, as
    where ranks k and k + 1 are tied.
    """
    low, high = -float(span), float(span)  # binary logarithms
    if chance(make(Fraction(2) ** span), histogram, quality) < wanted:
        return math.inf
    while high - low > 10.0**-digits:
        middle = (low + high) / 2
        enough = chance(make(Fraction(2.0**middle)), histogram, quality) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return float(2.0**high)
