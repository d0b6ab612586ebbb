"""Every generated pair differs by one user, and the special cases are all among them."""

from __future__ import annotations

from itertools import chain

import pytest

from crestline.audit.neighbours import (
    HistogramShape,
    NeighbourPair,
    all_small_pairs,
    labels,
    make_pair,
    small_histogram_pairs,
)
from crestline.audit.testers.special_pairs import SpecialPairs, VariedPairs, neighbouring_pairs

UNKNOWN = HistogramShape(3)
KNOWN = HistogramShape(None, tuple("abcd"))


def check(made: NeighbourPair, contribution: int | None) -> None:
    moves = {label: made.with_user[label] - made.without.get(label, 0) for label in made.with_user}
    assert set(made.without) <= set(made.with_user)
    assert set(moves.values()) <= {0, 1}
    assert sum(moves.values()) >= 1
    assert contribution is None or sum(moves.values()) <= contribution
    assert all(count >= 0 for count in made.without.values())
    assert made.items_of_user == tuple(label for label, move in moves.items() if move)


@pytest.mark.parametrize("shape", [UNKNOWN, KNOWN, HistogramShape(1), HistogramShape(40)])
@pytest.mark.parametrize("contribution", [None, 1, 2])
def test_every_pair_differs_by_one_user(shape: HistogramShape, contribution: int | None) -> None:
    special = list(SpecialPairs(2, (7, 9))(shape, contribution))
    varied = list(VariedPairs((7, 9), 60, seed=1)(shape, contribution))
    assert len(special) > 20
    assert len(varied) > 30
    for made in chain(special, varied, *(neighbouring_pairs(made, contribution) for made in special[:5])):
        check(made, contribution)
        assert set(made.with_user) <= set(shape.domain) or not shape.domain


def test_the_special_pairs_hold_every_special_case() -> None:
    pairs = list(SpecialPairs(2, (9,))(UNKNOWN, None))
    tables = [(made.with_user, made.without) for made in pairs]
    assert ({"a": 1}, {}) in tables  # empty data, and an item of one user
    assert any(not without and len(with_user) == 4 for with_user, without in tables)  # more items than slots
    assert ({"a": 2, "b": 2, "c": 2, "d": 2}, {"a": 2, "b": 2, "c": 2, "d": 1}) in tables  # P1.6 d
    assert any(len(made.items_of_user) == 5 for made in pairs)  # a user in every item
    assert {letter for made in pairs for letter in made.items_of_user} >= set("abcdefghijklmnopqrstuvwxyz")
    assert any(made.without == {"a": 9} and made.items_of_user == ("a",) for made in pairs)  # a threshold


def test_a_contribution_bound_is_kept() -> None:
    assert make_pair({}, "ab", UNKNOWN, "why", contribution=1) is None
    assert make_pair({}, "", UNKNOWN, "why") is None


def test_varied_pairs_are_the_same_for_the_same_seed() -> None:
    assert list(VariedPairs((5,), 20, 3)(UNKNOWN, None)) == list(VariedPairs((5,), 20, 3)(UNKNOWN, None))
    assert list(VariedPairs((5,), 20, 3)(UNKNOWN, None)) != list(VariedPairs((5,), 20, 4)(UNKNOWN, None))


def test_all_small_pairs() -> None:
    pairs = list(small_histogram_pairs())
    assert len(pairs) == 7**4 - 4**4  # seven moves for each item, less the pairs in which nobody moves
    assert len({(tuple(a.items()), tuple(b.items())) for a, b in pairs}) == len(pairs)
    assert sum(1 for _ in small_histogram_pairs(contribution=1)) == 4 * 3 * 4**3
    assert sum(1 for _ in all_small_pairs(UNKNOWN, None)) == len(pairs)
    assert sum(1 for _ in all_small_pairs(HistogramShape(30), None)) == 0


def test_labels_are_distinct() -> None:
    names = labels(800)
    assert names[:3] == ["a", "b", "c"]
    assert len(set(names)) == 800
