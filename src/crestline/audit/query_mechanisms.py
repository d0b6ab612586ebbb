"""Mechanisms that answer queries, adapted to histograms so that they can be attacked like any other (P14).

The queries are fixed functions of the histogram whose distances are known: counts, which one user increases, and the
lead of the first item, which the same user decreases. For a mechanism that assumes that all distances move in one
direction, the queries are the counts alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, runtime_checkable

from crestline.audit.claims import Law
from crestline.audit.neighbours import HistogramShape, NeighbourPair, labels, make_pair
from crestline.histogram.histogram import Histogram
from crestline.histogram.label_order import Padding
from crestline.mechanisms.stability.query import StableAnswer
from crestline.mechanisms.third_party import release_many_or_none
from crestline.randomness.entropy import Entropy

_MOST = 4
"""Most slots of the histogram, and so queries: with more, a law would have too many outcomes."""


@runtime_checkable
class QueryMechanism(Protocol):
    """A mechanism over queries: crestline's own (P14.2, P14.3), or one with the same interface."""

    @property
    def queries(self) -> int: ...

    def guarantee(self) -> object: ...

    def release_many(self, queries: Sequence[StableAnswer], n: int, entropy: Entropy) -> list[object]: ...


@dataclass(frozen=True)
class QueryAdapter:
    """A mechanism over queries as a mechanism over histograms of `k_bar` slots."""

    mechanism: QueryMechanism
    domain: str = "unknown"
    k: int = 1

    @property
    def answer_levels(self) -> tuple[int, ...]:
        """Distances around the threshold from which queries are answered; none if the mechanism states no threshold."""
        bar = getattr(self.mechanism, "threshold", None)
        return () if bar is None else tuple(sorted({max(1, int(bar) + step) for step in (-6, -3, 0, 3, 6)}))

    @property
    def k_bar(self) -> int:
        return min(_MOST, self.mechanism.queries)

    def guarantee(self) -> object:
        return self.mechanism.guarantee()

    def release(self, histogram: Histogram, entropy: Entropy) -> object:
        return self.release_many(histogram, 1, entropy)[0]

    def release_many(self, histogram: Histogram, n: int, entropy: Entropy) -> list[object]:
        many, queries = release_many_or_none(self.mechanism), self._queries_about(histogram)
        if many is None:
            one: Any = self.mechanism
            return [one.release(queries, entropy) for _ in range(n)]
        return self.mechanism.release_many(queries, n, entropy)

    def law(self, histogram: Histogram) -> Law:
        with_law: Any = self.mechanism
        result: Law = with_law.law(self._queries_about(histogram))
        return result

    def _queries_about(self, histogram: Histogram) -> list[StableAnswer]:
        if getattr(self.mechanism, "one_direction", False):
            return [StableAnswer(place, int(count)) for place, count in enumerate(histogram.counts)]
        return opposed_queries(histogram)


def opposed_queries(histogram: Histogram) -> list[StableAnswer]:
    """The counts from the last slot up to the second, then the first item with its lead less one (P14.1).

    A user with every item but the first increases all these distances and decreases the lead: the worst case for a
    sparse vector. The values of all queries but the last are public.
    """
    counts = [*histogram.counts, histogram.next_count or 0]
    first = histogram.items[0]
    lead = StableAnswer(None if isinstance(first, Padding) else first, max(0, int(counts[0] - counts[1] - 1)))
    return [*(StableAnswer(place, int(counts[place])) for place in range(len(counts) - 2, 0, -1)), lead]


def as_auditable(mechanism: object) -> object:
    """The mechanism itself, or, if it answers queries, its `QueryAdapter`."""
    if not isinstance(mechanism, QueryMechanism) or hasattr(mechanism, "k_bar") or callable(mechanism.queries):
        return mechanism
    return QueryAdapter(mechanism)


@dataclass(frozen=True)
class OpposedPairs:
    """Pairs around the counts at which queries are answered; the user has the first item, all others, or all."""

    levels: tuple[int, ...]

    def __call__(self, shape: HistogramShape, contribution: int | None) -> Iterator[NeighbourPair]:
        first, *rest = labels(shape.k_bar or 1)
        for level, lead in product(self.levels, self.levels):
            table = {first: level + lead, **dict.fromkeys(rest, level)}
            for moved in (rest, [first], [first, *rest]):
                pair = make_pair(table, moved, shape, "distances at the edge of an answer", contribution)
                if pair is not None:
                    yield pair
