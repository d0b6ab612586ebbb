"""The order in which the slots of a selection are tested.

A tuple is tested in its order. A set has no order, so it gets a uniformly random one: never that of labels, of slots
or of counts (P1.5, P1.6).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np

from crestline.errors import MechanismError
from crestline.histogram.label_order import Label
from crestline.mechanisms.framework.framework import SlotLaw
from crestline.mechanisms.selection import Selection
from crestline.mechanisms.slot_checks import NO_SLOT, Slots
from crestline.randomness.entropy import Entropy
from crestline.randomness.sampling import draw_subsets


def chosen_slots(selection: Selection, slots: Mapping[Label, int]) -> list[int]:
    """Slots of a mechanism's items, in its order (of a set: by slot).

    Raises:
        MechanismError: It did not return a `Selection`, or an item is not in the histogram or occurs twice.
    """
    if not isinstance(selection, Selection):
        raise MechanismError("release() must return a Selection: items (a tuple or a frozenset) and stopped")
    places = [slots.get(label) for label in selection.items]
    found = [place for place in places if place is not None]
    if len(found) < len(places) or len(set(found)) < len(found):
        raise MechanismError(
            "the mechanism must choose among the items of the histogram it is given, each at most once"
        )
    return found if isinstance(selection.items, tuple) else sorted(found)


def orders_to_test(
    drawn: Sequence[Selection], slots: Sequence[Mapping[Label, int]], entropy: Entropy
) -> tuple[Slots, Slots]:
    """Slots of each selection in the order to be tested, and the number wanted; `slots` maps names to slots."""
    rows = [chosen_slots(selection, names) for selection, names in zip(drawn, slots, strict=True)]
    orders = _pad_rows(rows)
    sets = np.array([not isinstance(selection.items, tuple) for selection in drawn])
    if sets.any():
        orders[sets] = _shuffle_rows(orders[sets], entropy)
    return orders, _wanted_lengths(drawn, rows)


def order_law(law: Mapping[Selection, float], slots: Mapping[Label, int]) -> SlotLaw:
    """Law of those orders; every order of a set is equally likely."""
    drawn: list[Selection] = []
    rows: list[list[int]] = []
    chances: list[float] = []
    for selection, chance in law.items():
        chosen = chosen_slots(selection, slots)
        fixed = isinstance(selection.items, tuple)
        orders = [chosen] if fixed else [list(order) for order in permutations(chosen)]
        rows += orders
        drawn += [selection] * len(orders)
        chances += [chance if fixed else chance / math.factorial(len(chosen))] * len(orders)
    return SlotLaw(_pad_rows(rows), _wanted_lengths(drawn, rows), np.array(chances))


def _wanted_lengths(drawn: Sequence[Selection], rows: Sequence[list[int]]) -> Slots:
    """Number of slots; one more where the mechanism itself stopped, so that the result is a stop."""
    pairs = zip(drawn, rows, strict=True)
    return np.array([len(row) + one.stopped for one, row in pairs], dtype=np.int64)


def _pad_rows(rows: Sequence[list[int]]) -> Slots:
    """Rows of different lengths as one table, `NO_SLOT` after the last."""
    table = np.full((len(rows), max(map(len, rows), default=0)), NO_SLOT, dtype=np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def _shuffle_rows(orders: Slots, entropy: Entropy) -> Slots:
    """Each row in a uniformly random order, `NO_SLOT` kept last."""
    rows, width = orders.shape
    mixed = np.take_along_axis(orders, np.array(draw_subsets(width, width, rows, entropy)), axis=1)
    front = np.argsort(mixed == NO_SLOT, axis=1, kind="stable")
    return np.take_along_axis(mixed, front, axis=1)
