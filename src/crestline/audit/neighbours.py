"""Neighbouring data sets: pairs that an attack tries to distinguish (P0.2)."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from typing import Protocol

import numpy as np

from crestline.histogram.relation import Relation

Counts = dict[str, int]


@dataclass(frozen=True)
class HistogramShape:
    """How counts become a histogram: cut at `k_bar` and padded, or, if that is None, all items of a public list."""

    k_bar: int | None
    domain: tuple[str, ...] = ()


@dataclass(frozen=True)
class NeighbourPair:
    """Two data sets that differ by one user, and the reason to try them (`why`)."""

    with_user: Counts
    without: Counts
    shape: HistogramShape
    why: str

    @property
    def items_of_user(self) -> tuple[str, ...]:
        """Items of the user by whom the data sets differ."""
        return tuple(label for label, number in self.with_user.items() if number != self.without.get(label, 0))


def pairs_with_counts(counts: Counts, together: Sequence[str] = ()) -> Relation:
    """(user, item) pairs with these counts: one user has the items `together`, every other user has one item."""
    names = sorted(counts)
    items = [place for place, label in enumerate(names) for _ in range(counts[label] - (label in together))]
    users = list(range(1, len(items) + 1))
    shared = [names.index(label) for label in together]
    return Relation(
        np.array(users + [0] * len(shared), dtype=np.int64), np.array(items + shared, dtype=np.int64), names
    )


class PairGenerator(Protocol):
    """Generates neighbouring pairs of a shape, with at most `contribution` items of the user."""

    def __call__(self, shape: HistogramShape, contribution: int | None) -> Iterator[NeighbourPair]: ...


def labels(many: int) -> list[str]:
    """The first `many` of the labels `a … z`, `aa`, `ab`, …"""
    letters = string.ascii_lowercase
    names = ("".join(parts) for size in count(1) for parts in product(letters, repeat=size))
    return [name for name, _ in zip(names, range(many), strict=False)]


def make_pair(
    without: Counts, moved: Iterable[str], shape: HistogramShape, why: str, contribution: int | None = None
) -> NeighbourPair | None:
    """A data set and the same with one more user; None if the user has no item, or more than `contribution`."""
    items = list(moved)
    if not items or (contribution is not None and len(items) > contribution):
        return None
    with_user = dict(without)
    for label in items:
        with_user[label] = with_user.get(label, 0) + 1
    return NeighbourPair(with_user, {label: number for label, number in without.items() if number}, shape, why)


def small_histogram_pairs(
    labels: Sequence[str] = "abcd", most: int = 3, contribution: int | None = None
) -> Iterator[tuple[Counts, Counts]]:
    """Every pair of histograms with counts up to `most` that differ by one user: `(with the user, without)`.

    Includes every tie pattern, the empty histogram, and fewer items than any `k_bar`; with a contribution bound, only
    users with at most that number of items.
    """
    moves = [(count, up) for count in range(most + 1) for up in (0, 1) if count + up <= most]
    for rows in product(moves, repeat=len(labels)):
        moved = sum(up for _, up in rows)
        if moved and (contribution is None or moved <= contribution):
            without = {label: count for label, (count, _) in zip(labels, rows, strict=True)}
            with_user = {label: count + up for label, (count, up) in zip(labels, rows, strict=True)}
            yield with_user, without


def all_small_pairs(shape: HistogramShape, contribution: int | None) -> Iterator[NeighbourPair]:
    """`small_histogram_pairs` of the public list, or of more labels than slots; none for more than six labels."""
    names = list(shape.domain) or labels((shape.k_bar or 0) + 1 if (shape.k_bar or 0) > 3 else 4)
    most = {1: 3, 2: 3, 3: 3, 4: 3, 5: 2, 6: 1}.get(len(names))
    if most is not None:
        for with_user, without in small_histogram_pairs(names, most, contribution):
            yield NeighbourPair(with_user, without, shape, "small counts")
