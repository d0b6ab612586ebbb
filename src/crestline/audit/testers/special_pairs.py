"""Pairs built on purpose: ties, thresholds, empty data, items of one user, k = k_bar, users with every item.

`levels` are counts from which the mechanism names items (`find_naming_levels`): privacy is lost at a threshold, at the
cut, and where an item appears.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

import numpy as np

from crestline.audit.neighbours import Counts, HistogramShape, NeighbourPair, labels, make_pair


@dataclass(frozen=True)
class SpecialPairs:
    """The few pairs that break most broken mechanisms."""

    k: int
    levels: tuple[int, ...]

    def __call__(self, shape: HistogramShape, contribution: int | None) -> Iterator[NeighbourPair]:
        slots = shape.k_bar or len(shape.domain)
        names = list(shape.domain) or labels(slots + 2)
        high = 2 * max(self.levels, default=0) + 20
        families = (
            _moves_from_nothing(names, slots, contribution, high),
            _moves_at_the_cut(names, slots, contribution, high),
            _moves_at_the_top(names, slots, high),
            _moves_at_levels(names, slots, self.k, self.levels),
            _ladder_moves(names, slots, self.levels),
            _moves_by_letter(names, slots, high) if not shape.domain else (),
        )
        for turn in zip_longest(*families):  # alternate, so that a short attack includes some of each family
            for without, moved, why in filter(None, turn):
                pair = make_pair(without, moved, shape, why, contribution)
                if pair is not None:
                    yield pair


_Move = tuple[Counts, Sequence[str], str]


def _moves_from_nothing(names: list[str], slots: int, contribution: int | None, high: int) -> Iterator[_Move]:
    """Empty data, items of one user, newcomers among popular items (P0.6, P1.6 c)."""
    many = names[: min(slots, contribution or slots)]
    for moved in (names[:1], many, names[: min(len(names), slots + 1)]):
        yield {}, moved, "nothing but one user"
    for popular in sorted({1, slots - 1, slots} - {0}):
        for newcomer, rest in ((names[0], names[1:]), (names[-1], names[:-1])):
            yield dict.fromkeys(rest[:popular], high), [newcomer], "a newcomer among popular items"


def _moves_at_the_cut(names: list[str], slots: int, contribution: int | None, high: int) -> Iterator[_Move]:
    """Ties across the cut, in either label order; the next count alone; all slots replaced at once (P1.6 b, d)."""
    if slots >= len(names):
        return
    inside, outside = names[:slots], names[slots:]
    for tied in (1, 3, high):
        for swapped in sorted({1, min(slots, contribution or slots, len(outside)), slots}):
            popular = dict.fromkeys(inside[: slots - swapped], high + tied + 1)
            ties = dict.fromkeys(inside[slots - swapped :], tied)
            yield popular | ties | dict.fromkeys(outside, tied), outside[:swapped], "a tie across the cut"
            yield popular | ties | dict.fromkeys(outside, tied - 1), outside[:1], "the next count alone moves"
        last = names[-slots:]
        for swapped in (1, len(names) - slots):
            popular = dict.fromkeys(last[swapped:], high + tied + 1)
            ties = dict.fromkeys(last[:swapped], tied)
            lower = dict.fromkeys(names[: len(names) - slots], tied - 1)
            yield popular | ties | lower, list(lower)[:swapped], "a tie across the cut, the newcomer first by name"
    yield dict.fromkeys(inside, 2) | {outside[0]: 1}, [outside[0]], "every slot ties with the next count"


def _moves_at_the_top(names: list[str], slots: int, high: int) -> Iterator[_Move]:
    """Ties between popular items, and users with every item (P1.6 e)."""
    visible = names[:slots]
    for base in (high, 18, 2):
        level = dict.fromkeys(visible, base)
        yield level, [visible[-1]], "ties between popular items"
        yield level, [visible[0]], "ties between popular items"
        yield level, visible, "a user in every item shown"
        yield level | dict.fromkeys(names[slots:], max(0, base - 3)), names, "a user in every item"
        if slots > 1:
            yield level | {visible[0]: base + 1}, [visible[1]], "a tie is made at the top"
            yield level | {visible[1]: base - 1}, [visible[1]], "a tie is made at the top"
            yield level, visible[: slots // 2], "half of the ties move"


def _moves_at_levels(names: list[str], slots: int, k: int, levels: Sequence[int]) -> Iterator[_Move]:
    """Counts around those from which the mechanism names items."""
    for level in levels:
        for size in sorted({1, min(k, slots), slots}):
            subset = names[:size]
            for count in (level - 1, level):
                if count >= 0:
                    yield dict.fromkeys(subset, count), subset, "at the edge of being named"
                    yield dict.fromkeys(subset, count), subset[:1], "at the edge of being named"
            if slots < len(names):
                rest = dict.fromkeys(names[slots:], 0)
                yield dict.fromkeys(subset, level) | rest, names[slots:][:1], "the next count moves below the edge"
    if names and levels:
        yield {}, [names[-1]], "nothing but one user"
        for count in (levels[0] - 1, levels[0]):
            yield {names[-1]: max(0, count)}, [names[-1]], "at the edge of being named"


def _ladder_moves(names: list[str], slots: int, levels: Sequence[int]) -> Iterator[_Move]:
    """One item, then pairs, with wide gaps between, some of which grow while others shrink (P2.5)."""
    visible = names[: slots + 1]
    for wide in levels[-2:]:
        heights = [wide * (1 + (len(visible) - place) // 2) + 3 * (place % 2) for place in range(len(visible))]
        ladder = dict(zip(visible, heights, strict=True))
        lower = [name for place, name in enumerate(visible) if place and place % 2 == 0]
        yield ladder, [*visible[1:2], *lower], "gaps that move both ways"
        yield ladder, lower, "gaps that move both ways"
        yield ladder, visible[1::2], "gaps that move both ways"


def _moves_by_letter(names: list[str], slots: int, high: int) -> Iterator[_Move]:
    """Every letter once as the newcomer: a choice that depends on labels reveals itself (P1.6 a)."""
    for letter in string.ascii_lowercase:
        rest = [name for name in names if name != letter][: slots - 1]
        yield dict.fromkeys(rest, high), [letter], "one letter appears"


@dataclass(frozen=True)
class VariedPairs:
    """Random pairs: groups of items at counts near the thresholds, of which all, one or none move."""

    levels: tuple[int, ...]
    many: int
    seed: int

    def __call__(self, shape: HistogramShape, contribution: int | None) -> Iterator[NeighbourPair]:
        choose = np.random.default_rng(self.seed)
        slots = shape.k_bar or len(shape.domain)
        names = list(shape.domain) or labels(slots + 2)
        steps = sorted({0, 1, 2, 3, *self.levels, *(level + 1 for level in self.levels), *(2 * n for n in self.levels)})
        for _ in range(self.many):
            order = [names[i] for i in choose.permutation(len(names))]
            edges = sorted({0, *choose.integers(0, len(order), size=3).tolist(), len(order)})
            base = int(choose.choice([0, 0, 1, 5]))
            without: Counts = {}
            moved: list[str] = []
            for start, stop in pairwise(edges):
                group = order[start:stop]
                without |= dict.fromkeys(group, base + int(choose.choice(steps)))
                moved += group[: int(choose.choice([0, 0, 1, len(group), len(group)]))]
            pair = make_pair(without, moved[:contribution], shape, "a varied pair", contribution)
            if pair is not None:
                yield pair


def neighbouring_pairs(
    pair: NeighbourPair, contribution: int | None, steps: Sequence[int] = (1,)
) -> Iterator[NeighbourPair]:
    """Pairs with one small change: one count higher or lower, or one item of the user more or less."""
    names = list(dict.fromkeys([*pair.with_user, *pair.without]))[:8]
    moved = set(pair.items_of_user)
    for label in names:
        for step in (*steps, *(-step for step in steps)):
            level = pair.without.get(label, 0) + step
            if level >= 0:
                yield from _pairs_of_change(pair, {**pair.without, label: level}, moved, contribution)
        yield from _pairs_of_change(pair, pair.without, moved ^ {label}, contribution)


def _pairs_of_change(
    pair: NeighbourPair, without: Counts, moved: set[str], contribution: int | None
) -> Iterator[NeighbourPair]:
    neighbour = make_pair(without, sorted(moved), pair.shape, pair.why, contribution)
    if neighbour is not None:
        yield neighbour
