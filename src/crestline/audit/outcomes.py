"""Outcomes: the result of one release, split into a countable key and numbers that can be compared."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import SupportsFloat

import numpy as np

Number = float | Fraction


@dataclass(frozen=True)
class Outcome:
    """The result of one release.

    Attributes:
        key: The result without its printed numbers.
        names: The items in it.
        ordered: Whether `names` are in the released order.
        numbers: The printed numbers.
    """

    key: Hashable
    names: tuple[Hashable, ...] = ()
    ordered: bool = True
    numbers: tuple[Number, ...] = ()

    def __str__(self) -> str:
        return str(self.key)


class OutcomeReader:
    """Converts any value that a mechanism returns to an outcome; caches the outcome of a hashable value."""

    def __init__(self) -> None:
        self._known: dict[object, Outcome] = {}

    def __call__(self, value: object) -> Outcome:
        try:
            outcome = self._known.get(value)
        except TypeError:  # not hashable: read it every time
            return _read_outcome(value)
        if outcome is None:
            outcome = _read_outcome(value)
            if len(self._known) < 100_000:
                self._known[value] = outcome
        return outcome


def error_outcome(error: Exception) -> Outcome:
    """Outcome of a release that raised: the error's class, because it can reveal a user."""
    return Outcome(("raises", type(error).__name__))


def _read_outcome(value: object) -> Outcome:
    numbers: list[Number] = []
    if hasattr(value, "items") and hasattr(value, "stopped") and not callable(value.items):
        items = value.items
        ordered = not isinstance(items, set | frozenset)
        names = tuple(_split_numbers(item, numbers) for item in (items if ordered else sorted(items, key=repr)))
        numbers += [_to_number(count) for count in getattr(value, "counts", None) or ()]
        key_items = names if ordered else frozenset(names)
        return Outcome((key_items, bool(value.stopped)), names, ordered, tuple(numbers))
    key = _split_numbers(value, numbers)
    names = key if isinstance(key, tuple) else (key,)
    return Outcome(key, names, not isinstance(value, set | frozenset), tuple(numbers))


def _split_numbers(value: object, numbers: list[Number]) -> Hashable:
    """The value with floats, fractions and decimals replaced by `#`; appends them to `numbers`.

    A noisy number rarely repeats, so a value with one could not be counted.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float | Fraction | Decimal | np.floating):
        numbers.append(_to_number(value))
        return "#"
    if isinstance(value, list | tuple):
        return tuple(_split_numbers(part, numbers) for part in value)
    if isinstance(value, set | frozenset):
        return frozenset(_split_numbers(part, numbers) for part in sorted(value, key=repr))
    if isinstance(value, Mapping):
        return tuple(_split_numbers(part, numbers) for part in sorted(value.items(), key=repr))
    if isinstance(value, np.ndarray):
        return _split_numbers(value.tolist(), numbers)
    try:
        hash(value)
    except TypeError:
        return repr(value)
    result: Hashable = value
    return result


def _to_number(value: SupportsFloat) -> Number:
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() else float(value)
    return value if isinstance(value, Fraction) else float(value)
