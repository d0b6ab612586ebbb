"""Selection: the output of a mechanism, a list or a set of items and whether it stopped early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from crestline.histogram.count_bounds import CountBounds
from crestline.histogram.coverage_counts import CoverageCounts
from crestline.histogram.histogram import Histogram
from crestline.histogram.histogram_table import HistogramTable
from crestline.histogram.label_order import Label, Padding, label_order
from crestline.histogram.route import Route

_END = int(np.iinfo(np.int64).max)  # no slot has this number
_SHARED = 32  # wider rows are hardly ever equal


@dataclass(frozen=True)
class Selection:
    """Output of one release.

    Attributes:
        items: Named items: a tuple in the released order, or a frozenset.
        stopped: Whether the mechanism stopped early, with fewer items than wanted.
        counts: One noisy count for each item, in the order of `items`, where the mechanism publishes them.
        bounds: The interval of each count, where the selection determines it; None where noise alone does.
        route: The choice of a mechanism that chose between two, and how it was made.
        coverage: Users with one of the named items, and without.
        needed: Approximate number of users an item needed, where released noisy numbers determine it.
    """

    items: tuple[Label, ...] | frozenset[Label]
    stopped: bool
    counts: tuple[Fraction, ...] | None = None
    route: Route | None = None
    coverage: CoverageCounts | None = None
    bounds: tuple[CountBounds, ...] | None = None
    needed: float | None = field(default=None, compare=False)  # explains a selection, and is no part of its identity

    def __len__(self) -> int:
        return len(self.items)


def select_list(labels: Sequence[Label], k: int) -> Selection:
    """Ordered selection from drawn labels: cut at the first empty slot (P0.6); fewer than `k` is a stop (P0.7)."""
    kept: list[Label] = []
    for label in labels:
        if isinstance(label, Padding):
            break
        kept.append(label)
    return Selection(tuple(kept), len(kept) < k)


def select_set(labels: Sequence[Label], k: int) -> Selection:
    """Set-valued selection: empty slots are dropped (P0.6); fewer than `k` is a stop."""
    kept = frozenset(label for label in labels if not isinstance(label, Padding))
    return Selection(kept, len(kept) < k)


def as_unordered(selection: Selection) -> Selection:
    """The same items as a set, where the order carries no information; counts follow their items in byte order."""
    if isinstance(selection.items, frozenset):
        return selection
    items = selection.items
    places = sorted(range(len(items)), key=lambda place: label_order(items[place]))
    return with_items(selection, frozenset(items), places)


def rank_by_counts(selection: Selection) -> Selection:
    """A list in the order of its counts, the largest first; equal counts keep their order, and so does a set."""
    counts, items = selection.counts, selection.items
    if counts is None or isinstance(items, frozenset):
        return selection
    places = sorted(range(len(items)), key=lambda place: -counts[place])
    return with_items(selection, tuple(items[place] for place in places), places)


def with_items(selection: Selection, items: tuple[Label, ...] | frozenset[Label], places: Sequence[int]) -> Selection:
    """The selection with these items; its counts and their bounds are taken from `places`."""
    counts = None if selection.counts is None else tuple(selection.counts[place] for place in places)
    bounds = None if selection.bounds is None else tuple(selection.bounds[place] for place in places)
    return replace(selection, items=items, counts=counts, bounds=bounds)


def select_ranks(histogram: Histogram, ranks: Sequence[int], k: int, *, ordered: bool) -> Selection:
    """Items at some ranks of a public list; fewer than `k` is a stop."""
    names = histogram.names(ranks)
    return Selection(names if ordered else frozenset(names), len(names) < k)


def select_rows(drawn: NDArray[np.int64], make: Callable[[list[int]], Selection]) -> list[Selection]:
    """One selection for each row of drawn columns; equal short rows share one, because selections are values."""
    if drawn.shape[1] > _SHARED:
        return [make(row) for row in drawn.tolist()]
    made: dict[bytes, Selection] = {}
    result: list[Selection] = []
    for row in np.ascontiguousarray(drawn):
        name = row.tobytes()
        if name not in made:
            made[name] = make(row.tolist())
        result.append(made[name])
    return result


@dataclass(frozen=True)
class GroupSelections:
    """Published selections of all groups, in the order of the groups' labels (P15.1).

    Of unknown groups it holds only those with a named item; of a public list of groups it holds all.
    """

    groups: tuple[tuple[Label, Selection], ...]

    def __len__(self) -> int:
        return sum(len(selection) for _, selection in self.groups)


def select_table_rows(table: HistogramTable, drawn: NDArray[np.int64], k: int) -> list[Selection]:
    """Ordered selections, one for each row of a table: cut at ⊥ (any column after the slots) or at an empty slot."""
    inside = np.logical_and.accumulate(drawn < table.filled_slots[:, None], axis=1)
    nothing = Selection((), True)
    result = [nothing] * len(drawn)
    lengths = inside.sum(axis=1)
    for row in np.flatnonzero(lengths).tolist():
        items = tuple(table.name(row, slot) for slot in drawn[row, : lengths[row]].tolist())
        result[row] = Selection(items, len(items) < k)
    return result


def select_ranked_rows(histogram: Histogram, drawn: NDArray[np.int64], slots: int, k: int) -> list[Selection]:
    """Ordered selections from rows of drawn columns: cut at ⊥ (any column after the slots) or at an empty slot."""
    outside = drawn >= min(slots, histogram.filled)
    rows, width = drawn.shape
    if rows > 1 and width > _SHARED:
        return _select_long_rows(histogram, drawn, outside, k)
    if outside.any():
        drawn = np.where(np.logical_or.accumulate(outside, axis=1), _END, drawn)

    def make(row: list[int]) -> Selection:
        items = histogram.names(row[: row.index(_END)] if _END in row else row)
        return Selection(items, len(items) < k)

    return select_rows(drawn, make)


def _select_long_rows(
    histogram: Histogram, drawn: NDArray[np.int64], outside: NDArray[np.bool_], k: int
) -> list[Selection]:
    """`select_ranked_rows` for many long rows: labels whole rows at once, then cuts each to its length."""
    width = drawn.shape[1]
    if not outside.any():
        return [Selection(items, width < k) for items in histogram.labels_of_rows(drawn)]
    lengths = np.where(outside.any(axis=1), outside.argmax(axis=1), width).tolist()
    inside = np.where(outside, 0, drawn)  # any slot: its label is cut off
    named = zip(histogram.labels_of_rows(inside), lengths, strict=True)
    return [Selection(items[:size], size < k) for items, size in named]
