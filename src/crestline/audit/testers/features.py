"""Features: functions that map outcomes to a few kinds.

An event is a set of kinds under one feature. Bins of numbers and weights come from outcomes of both data sets, never
from the sample on which the event is tested.
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
    """`kind(outcome)` is the kind of an outcome, `say(kind)` describes a kind in words."""

    kind: Callable[[Outcome], Hashable]
    say: Callable[[Hashable], str]


def outcome_features(first: Sample, second: Sample, moved: Sequence[str]) -> Iterator[Feature]:
    """Every feature that suits these outcomes; the samples only place bins and weights."""
    pool = first + second
    yield Feature(lambda outcome: outcome.key, lambda kind: f"the answer is {kind_text(kind)}")
    if len({outcome.key for outcome in pool}) > _FEW:
        yield from _coarse_features(moved)
        yield _naive_bayes_feature(first, second)
    if any(outcome.numbers for outcome in pool):
        yield from _number_features(pool, moved)


def _coarse_features(moved: Sequence[str]) -> Iterator[Feature]:
    """Features with few kinds, for outcomes too numerous to repeat."""
    yield Feature(lambda outcome: frozenset(outcome.names), lambda kind: f"the items are {kind_text(kind)}")
    yield Feature(lambda outcome: outcome.names[:1], lambda kind: f"the first item is {kind_text(kind)}")
    yield Feature(lambda outcome: len(outcome.names), lambda kind: f"there are {kind} items")
    user_items = frozenset(moved)
    yield Feature(
        lambda outcome: sum(name in user_items for name in outcome.names),
        lambda kind: f"{kind} of the user's items are named",
    )
    for label in moved[:4]:
        yield _names(label)


def kind_text(kind: object) -> str:
    """Text of an outcome's key: `(a, b)`, `{a, b}, stopped`, `nothing, stopped`."""
    if isinstance(kind, tuple) and len(kind) == 2 and isinstance(kind[1], bool) and not isinstance(kind[0], str):
        return kind_text(kind[0]) + (", stopped" if kind[1] else "")
    if isinstance(kind, QueryAnswer):
        return "no answer" if kind.stopped else kind_text(kind.value)
    if isinstance(kind, tuple | frozenset) and not kind:
        return "nothing"
    if isinstance(kind, frozenset):
        return "{" + ", ".join(sorted(map(str, kind))) + "}"
    if isinstance(kind, tuple):
        return "(" + ", ".join(map(kind_text, kind)) + ")"
    return str(kind)


def _names(label: str) -> Feature:
    """Whether an outcome names an item."""
    return Feature(lambda outcome: label in outcome.names, lambda kind: f"{label!r} is {'' if kind else 'not '}named")


def _number_features(pool: Sample, moved: Sequence[str]) -> Iterator[Feature]:
    """Size and last bit of printed numbers: by position, by item, and of all of them."""
    for place in (0, 1):
        yield _bin(pool, lambda outcome, place=place: _nth(outcome.numbers, place), f"printed number {place + 1}")  # type: ignore[misc] # mypy cannot type a default in a lambda
        yield _last_bit_feature(place)
    for label in moved[:3]:
        yield _bin(pool, lambda outcome, label=label: number_of(outcome, label), f"the number of {label!r}")  # type: ignore[misc] # as above
    yield _bin(pool, _first_difference, "the first printed number less the second")
    yield _bin(pool, lambda outcome: _fold_numbers(outcome, min), "the smallest printed number")
    yield _bin(pool, lambda outcome: _fold_numbers(outcome, max), "the largest printed number")
    yield _bin(pool, lambda outcome: _fold_numbers(outcome, sum), "the sum of the printed numbers")


def _bin(pool: Sample, number: Callable[[Outcome], Number | None], words: str) -> Feature:
    """The bin of a number, together with the outcome's key if there are few keys."""
    values = sorted(float(value) for outcome in pool if (value := number(outcome)) is not None)
    edges = sorted({values[len(values) * i // _BINS] for i in range(1, _BINS)}) if values else []
    few = len({outcome.key for outcome in pool}) <= 8

    def bin_of(outcome: Outcome) -> Hashable:
        value = number(outcome)
        place = -1 if value is None else bisect_right(edges, float(value))
        return (place, outcome.key if few else None)

    def bin_text(kind: Hashable) -> str:
        assert isinstance(kind, tuple)
        place, beside = kind
        if place < 0:
            return f"there is no {words}"
        low = f"{edges[place - 1]:.3g}" if place else "-∞"
        high = f"{edges[place]:.3g}" if place < len(edges) else "∞"
        return f"{words} lies in [{low}, {high})" + (f" beside {kind_text(beside)}" if few and beside else "")

    return Feature(bin_of, bin_text)


def _last_bit_feature(place: int) -> Feature:
    """Position of a number's last bit, and the number's size: floating-point noise has a grid (Mironov 2012)."""

    def kind(outcome: Outcome) -> Hashable:
        number = _nth(outcome.numbers, place)
        return None if number is None else (_size(number), fineness(number))

    def say(kind: Hashable) -> str:
        if not isinstance(kind, tuple):
            return f"there is no printed number {place + 1}"
        size, fineness = kind
        return f"printed number {place + 1} is below 2^{size} with its last bit at 2^{-fineness}"

    return Feature(kind, say)


def _naive_bayes_feature(first: Sample, second: Sample) -> Feature:
    """Bin of the sum of the log ratios of an outcome's parts, learned from the samples (naive Bayes)."""
    weights = _log_ratio_weights(first, second)
    scores = sorted(_outcome_weight(outcome, weights) for outcome in first + second)
    edges = sorted({scores[len(scores) * i // _BINS] for i in range(1, _BINS)}) if scores else []

    def kind(outcome: Outcome) -> int:
        return bisect_right(edges, _outcome_weight(outcome, weights))

    return Feature(kind, lambda kind: f"the items' weight of evidence is in class {kind} of {len(edges) + 1}")


def _log_ratio_weights(first: Sample, second: Sample) -> dict[Hashable, float]:
    counts: tuple[Counter[Hashable], Counter[Hashable]] = (Counter(), Counter())
    for sample, tally in zip((first, second), counts, strict=True):
        for outcome, times in sample.items():
            for part in _outcome_parts(outcome):
                tally[part] += times
    return {
        part: math.log((counts[0][part] + 1) / (counts[1][part] + 1)) for part in counts[0].keys() | counts[1].keys()
    }


def _outcome_weight(outcome: Outcome, weights: dict[Hashable, float]) -> float:
    return math.fsum(weights.get(part, 0.0) for part in _outcome_parts(outcome))


def _outcome_parts(outcome: Outcome) -> Iterator[Hashable]:
    """Parts of an outcome: its length, its items, and the first four items with their positions."""
    yield ("length", len(outcome.names))
    for name in outcome.names:
        yield ("named", name)
    if outcome.ordered:
        yield from (("place", place, name) for place, name in enumerate(outcome.names[:4]))


def _nth(numbers: Sequence[Number], place: int) -> Number | None:
    return numbers[place] if place < len(numbers) else None


def number_of(outcome: Outcome, label: str) -> Number | None:
    """The number printed beside an item; None if there is none."""
    return _nth(outcome.numbers, outcome.names.index(label)) if label in outcome.names else None


def _fold_numbers(outcome: Outcome, fold: Callable[[list[float]], float]) -> float | None:
    return fold([float(number) for number in outcome.numbers]) if outcome.numbers else None


def _first_difference(outcome: Outcome) -> float | None:
    return float(outcome.numbers[0] - outcome.numbers[1]) if len(outcome.numbers) > 1 else None


def _size(number: Number) -> int:
    return math.frexp(float(number))[1] if math.isfinite(number) else 9999


def fineness(number: Number) -> int:
    """Binary place of the last bit of a number; for a denominator that is no power of two, its bit length less one."""
    if not math.isfinite(number):
        return 9999
    whole, parts = number.as_integer_ratio()
    if parts > 1:
        return parts.bit_length() - 1
    return -((whole & -whole).bit_length() - 1) if whole else 9998
