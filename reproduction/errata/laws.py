"""Laws of small mechanisms, written down outcome by outcome, and how far two of them are apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any

import numpy as np

from crestline.audit.neighbours import Counts
from crestline.audit.testers.exact import WorstPair, worst_pair
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Label
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest
from crestline.mechanisms.numerics.order_law import order_chances, peeling_chances
from crestline.mechanisms.selection import Selection, select_list
from crestline.randomness.laws.law import Law
from crestline.randomness.unit_points import Floats, Points

OutputLaw = Mapping[Any, float]


@dataclass(frozen=True)
class ReflectedGumbel:
    """Minus a Gumbel noise: what an argmin sees when Gumbel noise is added instead of subtracted."""

    name: str = "reflected gumbel"

    def quantile(self, points: Points) -> Floats:
        raise NotImplementedError("nothing is sampled here")

    def ball(self, arrival: Any) -> Any:
        raise NotImplementedError("nothing is sampled here")

    def cdf(self, x: Floats) -> Floats:
        return -np.expm1(-np.exp(x))

    def survival(self, x: Floats) -> Floats:
        return np.exp(-np.exp(x))

    def density(self, x: Floats) -> Floats:
        return np.exp(x - np.exp(x))


def losses(first: OutputLaw, second: OutputLaw) -> list[float]:
    """`ln P/Q` of every outcome that both can give."""
    return [math.log(chance / second[outcome]) for outcome, chance in first.items() if chance and second.get(outcome)]


def loss(first: OutputLaw, second: OutputLaw) -> float:
    """The largest log ratio, in either direction; infinite where only one of them can give an outcome."""
    possible = [{outcome for outcome, chance in law.items() if chance > 0} for law in (first, second)]
    return max(map(abs, losses(first, second))) if possible[0] == possible[1] else math.inf


def spread(first: OutputLaw, second: OutputLaw) -> float:
    """The length of the interval that holds every log ratio: bounded range."""
    found = losses(first, second)
    return max(found) - min(found)


def worst(law: Callable[[Counts], OutputLaw], pairs: Iterable[tuple[Counts, Counts]], epsilon: float) -> WorstPair:
    """The neighbouring pair that needs the largest δ at ε."""
    return worst_pair(law, pairs, epsilon)


def pair_text(finding: WorstPair) -> str:
    """Both tables of a finding, without the items that nobody has."""
    kept = [{label: count for label, count in side.items() if count} for side in (finding.first, finding.second)]
    return f"{kept[0]} against {kept[1]}"


def first_of(scores: Sequence[float], noise: Law, scale: float = 1.0) -> list[float]:
    """The chance of each key `score + scale · noise` to be the largest."""
    orders = np.arange(len(scores), dtype=np.int64)[:, None]
    return [float(one) for one in order_chances(np.array(scores, dtype=np.float64), noise, orders, scale)]


def softmax(scores: Mapping[Any, float]) -> dict[Any, float]:
    """The exponential mechanism: chances proportional to exp(score)."""
    top = max(scores.values())
    weights = {outcome: math.exp(score - top) for outcome, score in scores.items()}
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def peeling(scores: Mapping[Any, float], k: int) -> dict[tuple[Any, ...], float]:
    """The ordered list of the k largest keys with Gumbel noise."""
    names = list(scores)
    values = np.array([scores[name] for name in names])
    orders = np.array(list(permutations(range(len(names)), k)), dtype=np.int64)
    chances = peeling_chances(values, orders).tolist()
    return {
        tuple(names[slot] for slot in order): chance for order, chance in zip(orders.tolist(), chances, strict=True)
    }


def subsets(counts: Sequence[float], k: int, score: Callable[[tuple[int, ...]], float]) -> dict[Any, float]:
    """The exponential mechanism over all k-subsets of positions."""
    return softmax({chosen: score(chosen) for chosen in combinations(range(len(counts)), k)})


def select_and_test(
    histogram: Histogram, selected: Mapping[tuple[int, ...], float], test: GapTest
) -> dict[Selection, float]:
    """The framework: slots in the order in which they were selected, tested until the first failure."""
    gaps = (histogram.array - (histogram.next_count or 0) - 1).astype(np.float64)
    law: dict[Selection, float] = {}
    for slots, chance in selected.items():
        names: list[Label] = [histogram.name(slot) for slot in slots]
        lengths = test.pass_count_law(gaps, np.array([slots], dtype=np.int64))[0].tolist()
        for length, passing in enumerate(lengths):
            said = select_list(names[:length], len(slots))
            law[said] = law.get(said, 0.0) + chance * passing
    return law
