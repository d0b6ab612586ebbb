"""The order of labels, and the labels of empty slots.

Ties of counts are broken by a fixed order that does not depend on the data (P0.5): the bytes of the label. Any other
order (by locale, by insertion) violates privacy where a contribution bound is used (P1.1 b).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

Label: TypeAlias = Any


@dataclass(frozen=True, order=True)
class Padding:
    """Label of a slot without an item (P0.6): its count is zero, and it precedes every real label of count zero."""

    index: int

    def __repr__(self) -> str:
        return f"padding{self.index}"


def label_order(label: Label) -> tuple[Any, ...]:
    """Sort key of a label: by type, then numbers by value, text by its UTF-8 bytes, tuples part by part."""
    if isinstance(label, Padding):
        return (0, label.index)
    if isinstance(label, bool):
        return (1, int(label))
    if isinstance(label, int | float | Decimal):
        return _number_sort_key(label)
    if isinstance(label, str):
        return (3, label.encode("utf-8", "surrogatepass"))
    if isinstance(label, bytes):
        return (4, label)
    if isinstance(label, tuple):
        return (5, tuple(label_order(part) for part in label))
    return (6, type(label).__name__, str(label).encode("utf-8", "surrogatepass"))


def _number_sort_key(number: int | float | Decimal) -> tuple[Any, ...]:
    """Sort key by value, so that 1 and 1.0 are equal; NaN, which equals nothing, comes last."""
    if number != number:  # only a nan differs from itself; works for floats and decimals alike
        return (2, 1, struct.pack(">d", float("nan")))
    return (2, 0, number)
