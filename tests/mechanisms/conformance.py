"""What every mechanism of the catalogue must show, as functions that each mechanism's own test file calls.

Significance: a correct sampler fails `follows_its_law` with probability below 1e-9; with a fixed replay key it either
passes for ever or never. Power: `notices` must reject a twin whose scale is 10% off.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import chi2

from crestline.audit.neighbours import Counts, small_histogram_pairs
from crestline.audit.testers.exact import worst_pair
from crestline.histogram.histogram import Histogram
from crestline.mechanisms.mechanism import Mechanism
from crestline.mechanisms.selection import Selection
from crestline.randomness.entropy import replay

SIGNIFICANCE = 1e-9
TRIALS = 200_000
ROUNDING = 1e-9

VECTORS: dict[str, dict[str, Any]] = {
    vector["id"]: vector
    for vector in json.loads((Path(__file__).parent.parent / "vectors" / "test_vectors.json").read_text())
}


def merged(probabilities: Mapping[str, float]) -> dict[Any, float]:
    """A vector's outcomes as items: `(a,_)` is the tuple `("a",)`, `{a,b}` the frozenset; lists are cut at a dummy."""
    law: dict[Any, float] = {}
    for outcome, chance in probabilities.items():
        items = parse_outcome(outcome)
        law[items] = law.get(items, 0.0) + chance
    return law


def parse_outcome(outcome: str) -> tuple[str, ...] | frozenset[str]:
    parts = [part for part in outcome[outcome.find(":") + 1 :].strip("(){}").split(",") if part]
    if "{" in outcome:
        return frozenset(part for part in parts if not part.startswith("dummy"))
    kept: list[str] = []
    for part in parts:
        if part == "_" or part.startswith("dummy"):
            break
        kept.append(part)
    return tuple(kept)


def items_law(law: Mapping[Selection, float]) -> dict[Any, float]:
    """The law of the items alone."""
    result: dict[Any, float] = {}
    for selection, chance in law.items():
        result[selection.items] = result.get(selection.items, 0.0) + chance
    return result


def assert_law(law: Mapping[Selection, float], probabilities: Mapping[str, float], tolerance: float = 1e-10) -> None:
    """The written-down law equals the vector."""
    wanted, found = merged(probabilities), items_law(law)
    for items in wanted.keys() | found.keys():
        assert abs(wanted.get(items, 0.0) - found.get(items, 0.0)) <= tolerance, items


def p_value(drawn: Iterable[Any] | Mapping[Any, int], law: Mapping[Any, float]) -> float:
    """Pearson's chi-square of drawn outcomes against a law; rare outcomes are pooled to at least 10 expected."""
    observed = Counter(drawn)
    total = sum(observed.values())
    if observed.keys() - law.keys():
        return 0.0
    expected: list[float] = []
    seen: list[float] = []
    mean, count = 0.0, 0
    for share, hits in sorted((chance * total, observed[outcome]) for outcome, chance in law.items()):
        mean, count = mean + share, count + hits
        if mean >= 10:
            expected.append(mean)
            seen.append(count)
            mean, count = 0.0, 0
    expected[-1] += mean
    seen[-1] += count
    gap = np.array(seen) - np.array(expected)
    return float(chi2.sf(float(np.sum(gap**2 / np.array(expected))), max(1, len(expected) - 1)))


@lru_cache(maxsize=1)
def sampled(mechanism: Any, histogram: Histogram, key: str, trials: int) -> Counter[Any]:
    """How often each outcome was drawn; the last draw is kept, since it serves the law and the tests of power."""
    return Counter(selection.items for selection in mechanism.release_many(histogram, trials, replay(key)))


def follows_its_law(mechanism: Any, histogram: Histogram, *, key: str = "law", trials: int = TRIALS) -> None:
    """The production sampler follows the law."""
    sampled.cache_clear()  # what is tested here is drawn here
    assert p_value(sampled(mechanism, histogram, key, trials), items_law(mechanism.law(histogram))) > SIGNIFICANCE


def notices(mechanism: Any, twin: Any, histogram: Histogram, *, trials: int = TRIALS) -> None:
    """The same test rejects a twin whose scale is 10% off: the test has power. A twin of the same kind says its own
    law, which what was drawn does not follow; what is drawn of any other does not follow the law of the mechanism."""
    same = type(twin) is type(mechanism)
    drawn = sampled(mechanism, histogram, "law", trials) if same else sampled(twin, histogram, "twin", trials)
    assert p_value(drawn, items_law((twin if same else mechanism).law(histogram))) < SIGNIFICANCE


def is_equivariant(
    mechanism: Any, make: Callable[[Counts], Histogram], counts: Counts, renaming: dict[str, str]
) -> None:
    """Renaming the labels renames the law. `counts` must have no ties: rank order breaks those by label."""
    law = items_law(mechanism.law(make(counts)))
    other = items_law(mechanism.law(make({renaming[label]: count for label, count in counts.items()})))
    assert len(law) == len(other)
    for items, chance in law.items():
        renamed = type(items)(renaming[label] for label in items)
        assert abs(other[renamed] - chance) < 1e-12


def stays_within(
    mechanism: Any,
    make: Callable[[Counts], Histogram],
    *,
    contribution: int | None = None,
    pairs: Iterable[tuple[Counts, Counts]] | None = None,
) -> None:
    """On every neighbouring pair of small histograms the exact divergence is within the guarantee (P13.4)."""
    promise = mechanism.guarantee()
    finding = worst_pair(
        lambda counts: mechanism.law(make(counts)),
        small_histogram_pairs(contribution=contribution) if pairs is None else pairs,
        float(promise.epsilon),
    )
    assert finding.delta <= float(promise.delta) + ROUNDING, finding


def promised_epsilon(mechanism: Mechanism) -> float:
    """The ε of a mechanism that promises one."""
    epsilon = mechanism.guarantee().epsilon
    assert epsilon is not None
    return float(epsilon)
