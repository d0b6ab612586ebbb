"""Features: ways of looking at an outcome, each of which sorts outcomes into a few kinds.

An event is a set of kinds under one feature. A feature is made from pooled outcomes of both data sets (numbers must be
cut into bins somewhere), never from the outcomes it is later tested on.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from crestline.audit.outcomes import Number, Outcome
from crestline.mechanisms.stability.query import QueryAnswer

Sample = Counter[Outcome]

_BINS = 48
_FEW = 24


@dataclass(frozen=True)
class Feature:
    """`kind(outcome)` says which kind it is; `say(kind)` says so in words."""

    kind: Callable[[Outcome], Hashable]
    say: Callable[[Hashable], str]


def features(first: Sample, second: Sample, moved: Sequence[str]) -> Iterator[Feature]:
    """Every feature worth trying on these outcomes. The samples are only used to place bins and weights."""
    pool = first + second
    yield Feature(lambda outcome: outcome.key, lambda kind: f"the answer is {shown(kind)}")
    if len({outcome.key for outcome in pool}) > _FEW:
        yield from _coarser(moved)
        yield _weighed(first, second)
    if any(outcome.numbers for outcome in pool):
        yield from _of_numbers(pool, moved)


def _coarser(moved: Sequence[str]) -> Iterator[Feature]:
    """Answers that are many must be sorted into fewer kinds before they repeat."""
    yield Feature(lambda outcome: frozenset(outcome.names), lambda kind: f"the items are {shown(kind)}")
    yield Feature(lambda outcome: outcome.names[:1], lambda kind: f"the first item is {shown(kind)}")
    yield Feature(lambda outcome: len(outcome.names), lambda kind: f"there are {kind} items")
    held = frozenset(moved)
    yield Feature(
        lambda outcome: sum(name in held for name in outcome.names),
        lambda kind: f"{kind} of the user's items are named",
    )
    for label in moved[:4]:
        yield _names(label)


def shown(kind: object) -> str:
    """An outcome for people: `(a, b)`, `{a, b}, stopped`, `nothing, stopped`."""
    if isinstance(kind, tuple) and len(kind) == 2 and isinstance(kind[1], bool) and not isinstance(kind[0], str):
        return shown(kind[0]) + (", stopped" if kind[1] else "")
    if isinstance(kind, QueryAnswer):
        return "no answer" if kind.stopped else shown(kind.value)
    if isinstance(kind, tuple | frozenset) and not kind:
        return "nothing"
    if isinstance(kind, frozenset):
        return "{" + ", ".join(sorted(map(str, kind))) + "}"
    if isinstance(kind, tuple):
        return "(" + ", ".join(map(shown, kind)) + ")"
    return str(kind)


def _names(label: str) -> Feature:
    return Feature(lambda outcome: label in outcome.names, lambda kind: f"{label!r} is {'' if kind else 'not '}named")


def _of_numbers(pool: Sample, moved: Sequence[str]) -> Iterator[Feature]:
    """Sizes and last bits of printed numbers, by place, by item, and all together."""
    for place in (0, 1):
        yield _binned(pool, lambda outcome, place=place: _at(outcome.numbers, place), f"printed number {place + 1}")  # type: ignore[misc] # mypy cannot type a default in a lambda
        yield _last_bit(place)
    for label in moved[:3]:
        yield _binned(pool, lambda outcome, label=label: number_of(outcome, label), f"the number of {label!r}")  # type: ignore[misc] # as above
    yield _binned(pool, _difference, "the first printed number less the second")
    yield _binned(pool, lambda outcome: _folded(outcome, min), "the smallest printed number")
    yield _binned(pool, lambda outcome: _folded(outcome, max), "the largest printed number")
    yield _binned(pool, lambda outcome: _folded(outcome, sum), "the sum of the printed numbers")


def _binned(pool: Sample, number: Callable[[Outcome], Number | None], words: str) -> Feature:
    """The number's bin, together with the items beside it when those are few."""
    values = sorted(float(value) for outcome in pool if (value := number(outcome)) is not None)
    edges = sorted({values[len(values) * i // _BINS] for i in range(1, _BINS)}) if values else []
    few = len({outcome.key for outcome in pool}) <= 8

    def kind(outcome: Outcome) -> Hashable:
        value = number(outcome)
        place = -1 if value is None else bisect_right(edges, float(value))
        return (place, outcome.key if few else None)

    def say(kind: Hashable) -> str:
        assert isinstance(kind, tuple)
        place, beside = kind
        if place < 0:
            return f"there is no {words}"
        low = f"{edges[place - 1]:.3g}" if place else "-∞"
        high = f"{edges[place]:.3g}" if place < len(edges) else "∞"
        return f"{words} lies in [{low}, {high})" + (f" beside {shown(beside)}" if few and beside else "")

    return Feature(kind, say)


def _last_bit(place: int) -> Feature:
    """How fine the number's last bit is, by the number's size: floating point leaks through its grid (Mironov 2012)."""

    def kind(outcome: Outcome) -> Hashable:
        number = _at(outcome.numbers, place)
        return None if number is None else (_size(number), fineness(number))

    def say(kind: Hashable) -> str:
        if not isinstance(kind, tuple):
            return f"there is no printed number {place + 1}"
        size, fineness = kind
        return f"printed number {place + 1} is below 2^{size} with its last bit at 2^{-fineness}"

    return Feature(kind, say)


def _weighed(first: Sample, second: Sample) -> Feature:
    """All parts of an outcome at once: each part's log ratio in the sample, added up (naive Bayes)."""
    weights = _part_weights(first, second)
    scores = sorted(_weight(outcome, weights) for outcome in first + second)
    edges = sorted({scores[len(scores) * i // _BINS] for i in range(1, _BINS)}) if scores else []

    def kind(outcome: Outcome) -> int:
        return bisect_right(edges, _weight(outcome, weights))

    return Feature(kind, lambda kind: f"the items' weight of evidence is in class {kind} of {len(edges) + 1}")


def _part_weights(first: Sample, second: Sample) -> dict[Hashable, float]:
    counts: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    for sample, tally in zip((first, second), counts, strict=True):
        for outcome, times in sample.items():
            for part in _parts(outcome):
                tally[part] += times
    return {
        part: math.log((counts[0][part] + 1) / (counts[1][part] + 1)) for part in counts[0].keys() | counts[1].keys()
    }


def _weight(outcome: Outcome, weights: dict[Hashable, float]) -> float:
    return math.fsum(weights.get(part, 0.0) for part in _parts(outcome))


def _parts(outcome: Outcome) -> Iterator[Hashable]:
    yield ("length", len(outcome.names))
    for name in outcome.names:
        yield ("named", name)
    if outcome.ordered:
        yield from (("place", place, name) for place, name in enumerate(outcome.names[:4]))


def _at(numbers: Sequence[Number], place: int) -> Number | None:
    return numbers[place] if place < len(numbers) else None


def number_of(outcome: Outcome, label: str) -> Number | None:
    """The number printed beside an item."""
    return _at(outcome.numbers, outcome.names.index(label)) if label in outcome.names else None


def _folded(outcome: Outcome, fold: Callable[[list[float]], float]) -> float | None:
    return fold([float(number) for number in outcome.numbers]) if outcome.numbers else None


def _difference(outcome: Outcome) -> float | None:
    return float(outcome.numbers[0] - outcome.numbers[1]) if len(outcome.numbers) > 1 else None


def _size(number: Number) -> int:
    return math.frexp(float(number))[1] if math.isfinite(number) else 9999


def fineness(number: Number) -> int:
    """The power of two of the last bit, negated; for other fractions, the number of bits of the denominator."""
    if not math.isfinite(number):
        return 9999
    whole, parts = number.as_integer_ratio()
    if parts > 1:
        return parts.bit_length() - 1
    return -((whole & -whole).bit_length() - 1) if whole else 9998
