"""Sums of a count and floating-point noise that can occur at all (Mironov 2012).

Naive Laplace or exponential noise is the rounded logarithm of a multiple of 2^-53. Far from the centre its values are
sparse: a printed number that is reachable from one count is usually not reachable from the next. Few releases show
this, for small counts too, and more noise does not help.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice

from crestline.audit.neighbours import NeighbourPair
from crestline.audit.outcomes import Outcome
from crestline.audit.testers.features import Feature, Sample, fineness, number_of

_WORD = 2.0**53
_FINE = 24
"""Numbers whose last bit is at or before this binary place are taken to be on a public grid."""
_LOOKED_AT = 64
_ITEMS = 2


def usual_scales(epsilon: float, contribution: int | None) -> tuple[float, ...]:
    """Usual scales of Laplace noise for a promise of `epsilon`."""
    moved = {1.0, 2.0, float(contribution or 1)}
    return tuple(times / epsilon for times in sorted(moved)) if 0 < epsilon < math.inf else ()


def reachability_features(pool: Sample, pair: NeighbourPair, scales: Sequence[float]) -> Iterator[Feature]:
    """For the first items of the user: from which of its two counts an item's printed number is reachable."""
    if not any(_is_fine(outcome) for outcome in islice(pool, _LOOKED_AT)):
        return
    for label in pair.items_of_user[:_ITEMS]:
        for scale in scales:
            yield _reachability_feature(label, pair.with_user.get(label, 0), pair.without.get(label, 0), scale)


def _reachability_feature(label: str, with_user: int, without: int, scale: float) -> Feature:
    def kind(outcome: Outcome) -> Hashable:
        number = number_of(outcome, label)
        if not isinstance(number, float):
            return None
        return is_reachable(number, with_user, scale), is_reachable(number, without, scale)

    def say(kind: Hashable) -> str:
        if not isinstance(kind, tuple):
            return f"no floating-point number is printed for {label!r}"
        counts = [str(count) for count, can in zip((with_user, without), kind, strict=True) if can]
        words = " and from ".join(counts) or f"neither {with_user} nor {without}"
        return f"the number of {label!r} can be reached from {words} with noise of scale {scale:g}"

    return Feature(kind, say)


def is_reachable(number: float, count: int, scale: float) -> bool:
    """Whether `number` is the rounded sum of `count` and a rounded `± scale * log` of a multiple of 2^-53.

    Allows the error of library logarithms, which is one unit in the last place.
    """
    distance = number - count
    if not math.isfinite(distance):
        return False
    nearest = round(math.exp(-abs(distance) / scale) * _WORD)
    for word in range(max(1, nearest - 1), nearest + 2):
        noise = math.copysign(scale * math.log(word / _WORD), distance)
        if number in (count + noise, count + math.nextafter(noise, math.inf), count + math.nextafter(noise, -math.inf)):
            return True
    return False


def _is_fine(outcome: Outcome) -> bool:
    """Whether a printed floating-point number has bits beyond a public grid."""
    return any(isinstance(number, float) and _FINE < fineness(number) < 9_000 for number in outcome.numbers)
