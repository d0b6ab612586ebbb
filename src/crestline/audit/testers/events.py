"""Events: learn from samples of two neighbours which set of outcomes exceeds the promise most."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from crestline.audit.claims import TabulatedCeiling
from crestline.audit.outcomes import Outcome
from crestline.audit.testers.features import Feature, Sample, outcome_features

Tallies = NDArray[np.int64]


@dataclass(frozen=True)
class TellingEvent:
    """A set of kinds of outcomes under a feature.

    `likelier_on_second` states on which data set of the pair it is likelier.
    """

    feature: Feature
    kinds: tuple[Hashable, ...]
    likelier_on_second: bool

    def contains(self, outcome: Outcome) -> bool:
        """Whether an outcome lies in the event."""
        return self.feature.kind(outcome) in self._kind_set

    def hits(self, sample: Sample) -> int:
        """Number of outcomes of a sample that lie in the event."""
        return sum(times for outcome, times in sample.items() if self.contains(outcome))

    @cached_property
    def _kind_set(self) -> frozenset[Hashable]:
        return frozenset(self.kinds)

    def __str__(self) -> str:
        texts = [self.feature.say(kind) for kind in self.kinds[:3]]
        more = len(self.kinds) - len(texts)
        return ", or ".join(texts) + (f", or {more} more like these" if more else "")


@dataclass(frozen=True)
class BestEvent:
    """The best event, and by how many standard deviations it exceeds what the promise allows."""

    event: TellingEvent | None
    score: float


NOTHING = BestEvent(None, -math.inf)


@dataclass(frozen=True)
class Samples:
    """Samples of outcomes of the two data sets of a pair."""

    first: Sample
    second: Sample

    def __add__(self, other: Samples) -> Samples:
        return Samples(self.first + other.first, self.second + other.second)


def learn_event(
    order: Samples, cut: Samples, moved: Sequence[str], table: TabulatedCeiling, more: Iterable[Feature] = ()
) -> BestEvent:
    """Learn the event that exceeds the promise most.

    Args:
        order: Sample that orders the kinds of each feature by their ratio.
        cut: Sample that decides how many kinds the event has, and which feature it uses.
        moved: Items of the user by whom the data sets differ.
        table: What the claim allows.
        more: Features that depend on the pair.

    Returns:
        The best event, whose score is not a test: test it on a fresh sample.
    """
    best = NOTHING
    for feature in chain(outcome_features(order.first, order.second, moved), more):
        ordered = (_tally_kinds(order.first, feature), _tally_kinds(order.second, feature))
        cutting = (_tally_kinds(cut.first, feature), _tally_kinds(cut.second, feature))
        for swapped in (False, True):
            this, other = (1, 0) if swapped else (0, 1)
            kinds = _kinds_by_ratio(ordered[this], ordered[other])
            score, many = _best_prefix(cutting[this], cutting[other], kinds, table)
            if score > best.score:
                best = BestEvent(TellingEvent(feature, tuple(kinds[:many]), swapped), score)
    return best


def _tally_kinds(sample: Sample, feature: Feature) -> Counter[Hashable]:
    """Number of outcomes of each kind."""
    tally: Counter[Hashable] = Counter()
    for outcome, times in sample.items():
        tally[feature.kind(outcome)] += times
    return tally


def _kinds_by_ratio(this: Counter[Hashable], other: Counter[Hashable]) -> list[Hashable]:
    """Kinds that are likelier in this sample, the largest ratio first; ties by frequency."""
    share, rest = 1.0 / (this.total() + 1), 1.0 / (other.total() + 1)
    ratios = {kind: (times + 0.5) * share / ((other[kind] + 0.5) * rest) for kind, times in this.items()}
    return sorted((k for k, ratio in ratios.items() if ratio > 1), key=lambda k: (-ratios[k], -this[k]))


def _best_prefix(
    this: Counter[Hashable], other: Counter[Hashable], kinds: list[Hashable], table: TabulatedCeiling
) -> tuple[float, int]:
    """The largest score of an event of the first kinds, and their number."""
    if not kinds:
        return -math.inf, 0
    above = np.cumsum([this[kind] for kind in kinds])
    below = np.cumsum([other[kind] for kind in kinds])
    return _excess_scores(above, this.total(), below, other.total(), table)


def _excess_scores(above: Tallies, of: int, below: Tallies, others: int, table: TabulatedCeiling) -> tuple[float, int]:
    """The largest excess over the allowed probability in standard deviations, and the number of kinds that reaches it.

    Half a hit is added to both tallies, so that an event with few hits on one side only is not taken as certain.
    """
    p = np.asarray((above + 0.5) / (of + 1.0), dtype=np.float64)
    q = np.asarray((below + 0.5) / (others + 1.0), dtype=np.float64)
    slope = table.slope(q)
    deviation = np.sqrt(p * (1 - p) / of + slope**2 * q * (1 - q) / others)
    score = (p - table.largest_allowed_chance(q)) / deviation
    place = int(np.argmax(score))
    return float(score[place]), place + 1
