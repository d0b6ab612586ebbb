"""The exact attack: compare two output laws outcome by outcome."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from crestline.audit.neighbours import Counts

Law = Mapping[Any, float]


@dataclass(frozen=True)
class Finding:
    """The worst neighbouring pair found, and how much δ the claimed ε needs there."""

    delta: float
    first: Counts
    second: Counts


def hockey_stick(first: Law, second: Law, epsilon: float) -> float:
    """`Σ max(0, P - e^ε Q)`: the smallest δ for which P is within (ε, δ) of Q."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, chance - factor * second.get(outcome, 0.0)) for outcome, chance in first.items())


def tightest_epsilon(first: Law, second: Law, delta: float) -> float:
    """The smallest ε for which both laws are within (ε, δ) of each other; infinite when there is none."""
    low, high = 0.0, 1.0

    def enough(epsilon: float) -> bool:
        return max(hockey_stick(first, second, epsilon), hockey_stick(second, first, epsilon)) <= delta

    if enough(0.0):
        return 0.0
    while not enough(high):
        high *= 2
        if high > 512:
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def worst_pair(law_of: Callable[[Counts], Law], pairs: Iterable[tuple[Counts, Counts]], epsilon: float) -> Finding:
    """The pair, in either order, that needs the largest δ at this ε."""
    laws: dict[tuple[tuple[str, int], ...], Law] = {}

    def law(counts: Counts) -> Law:
        key = tuple(sorted(counts.items()))
        if key not in laws:
            laws[key] = law_of(counts)
        return laws[key]

    worst = Finding(0.0, {}, {})
    for with_user, without in pairs:
        for first, second in ((with_user, without), (without, with_user)):
            delta = hockey_stick(law(first), law(second), epsilon)
            if delta > worst.delta:
                worst = Finding(delta, first, second)
    return worst
