"""Exact uniform choices, with and without repetition."""

from __future__ import annotations

import math
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from tests.randomness.test_compare import hard_uniforms

from crestline.randomness import sampling as choices
from crestline.randomness.entropy import replay
from crestline.randomness.sampling import LazyShuffle, draw_distinct_ints, draw_int, draw_ints, draw_subsets
from crestline.randomness.uniforms import Uniforms


@given(seed=st.integers(0, 10**6), size=st.integers(1, 2**62), first_bits=st.sampled_from([1, 7, 64]))
def test_a_place_is_the_whole_part_of_the_product(seed: int, size: int, first_bits: int) -> None:
    uniforms = hard_uniforms(1, 4, seed, first_bits)
    found = draw_ints(uniforms, np.array([size, 1, 2, 7]))
    for column, n in enumerate((size, 1, 2, 7)):
        assert found[0, column] == (n * uniforms.prefix(column, 1000)) >> 1000


def test_a_place_among_astronomically_many() -> None:
    size = math.comb(20_000, 1_000)
    uniforms = replay("astronomic").uniforms(1, 1)
    bits = 2 * size.bit_length()
    assert draw_int(uniforms, 0, size) == (size * uniforms.prefix(0, bits)) >> bits


def test_a_boundary_between_places_is_refined() -> None:
    """`3 · U` just above and just below one: 64 bits cannot tell, the next can."""
    word = np.array([[0x5555555555555555]], dtype=np.uint64)
    above = Uniforms(word, 64, lambda index, bits: 0x6 << (bits - 3) if bits >= 3 else 0x3 >> (2 - bits))
    below = Uniforms(word, 64, lambda index, bits: 0)
    assert draw_ints(above, np.array([3]))[0, 0] == 1
    assert draw_ints(below, np.array([3]))[0, 0] == 0


@pytest.mark.parametrize("size", [3, 7, 1001, 10**6 + 3])
@pytest.mark.parametrize("ones", [False, True])
def test_every_boundary_between_places_is_met_exactly(size: int, ones: bool) -> None:
    """The words around `j · 2^64 / size`, whose products doubles round to either side of j."""
    steps = range(1, size, max(1, size // 1000))
    words = [word for j in steps for word in (-(-(j << 64) // size) - 1, -(-(j << 64) // size))]
    tail = (1 << 300) - 1 if ones else 0
    uniforms = Uniforms(np.array([words], dtype=np.uint64), 64, lambda index, bits: tail >> (300 - bits))
    found = draw_ints(uniforms, np.full(len(words), size))
    assert found[0].tolist() == [(size * ((word << 300) | tail)) >> 364 for word in words]


def test_no_more_bits_are_asked_for_than_are_needed() -> None:
    """The last word below a boundary: all that may follow it stays below."""

    def never(index: int, bits: int) -> int:
        raise AssertionError("the first 64 bits decide")

    for size in (2, 4, 2**20, 2**63):
        words = np.array([[2**63 - 1, 2**63, 2**64 - 1]], dtype=np.uint64)
        uniforms = Uniforms(words, 64, never)
        assert [draw_int(uniforms, index, size) for index in range(3)] == [size // 2 - 1, size // 2, size - 1]


def test_more_bits_are_hardly_ever_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20 000 places among 7 about 10^-10 are that close to a boundary."""
    asked: list[int] = []
    monkeypatch.setattr(choices, "draw_int", lambda uniforms, index, size: asked.append(index) or 0)
    draw_ints(replay("rare").uniforms(100, 200), np.full(200, 7))
    assert asked == []


def test_places_so_close_to_a_boundary_that_a_double_might_err_are_decided_exactly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Within 2^-50 of the size, on either side: among 2^20, 2^14 words around a boundary."""
    asked: list[int] = []
    monkeypatch.setattr(choices, "draw_int", lambda uniforms, index, size: asked.append(index) or 0)
    words = np.array([[2**63 + off for off in (-(2**14) - 2**11, -(2**14), 2**14, 2**14 + 2**11)]], dtype=np.uint64)
    draw_ints(Uniforms(words, 64, lambda index, bits: 0), np.array([2**20]))
    assert asked == [1, 2]
    asked.clear()
    draw_ints(replay("few", first_bits=40).uniforms(2, 3), np.full(3, 7))
    assert asked == [0, 1, 2, 3, 4, 5]  # of fewer bits a double says nothing


@pytest.mark.statistics
def test_subsets_are_uniform_in_every_order() -> None:
    """Chi-square, significance 1e-9; with one order 10% more likely it is rejected."""
    drawn = Counter(map(tuple, draw_subsets(4, 3, 60_000, replay("subsets"))))
    orders = list(permutations(range(4), 3))
    assert set(drawn) == set(orders)
    counts = np.array([drawn[order] for order in orders], dtype=float)
    assert chisquare(counts).pvalue > 1e-9
    skewed = np.where(np.arange(24) % 2, 1.1, 1.0)
    assert chisquare(counts, skewed * counts.sum() / skewed.sum()).pvalue < 1e-9


def test_nothing_and_everything_are_subsets() -> None:
    assert draw_subsets(5, 0, 2, replay(0)) == [[], []]
    assert all(sorted(row) == [0, 1, 2, 3, 4] for row in draw_subsets(5, 5, 20, replay(0)))


def test_a_huge_deck_costs_what_is_dealt() -> None:
    found = draw_subsets(2**61, 100, 1, replay("huge"))[0]
    assert len(set(found)) == 100
    assert max(found) < 2**61


@pytest.mark.long
@given(st.data())
def test_cards_dealt_in_one_go_are_those_of_a_deck(data: st.DataObject) -> None:
    size = data.draw(st.sampled_from([12, 1000]))
    choices = [data.draw(st.integers(0, size - at - 1)) for at in range(data.draw(st.integers(0, 12)))]
    deck = LazyShuffle()
    assert draw_distinct_ints(choices) == [deck.next(choice) for choice in choices]


def test_a_deck_grows_with_its_prefix() -> None:
    """Dealt from the first two, then from the first three: every pair of different places comes up alike."""
    seen: Counter[tuple[int, ...]] = Counter()
    for first in range(2):
        for second in range(2):
            deck = LazyShuffle()
            seen[deck.next(first), deck.next(second)] += 1
    assert seen == {(0, 1): 1, (0, 2): 1, (1, 0): 1, (1, 2): 1}


@pytest.mark.parametrize("bits", [1, 7])
def test_fewer_bits_at_first_choose_the_same(bits: int) -> None:
    assert draw_subsets(50, 4, 30, replay("same", first_bits=bits)) == draw_subsets(50, 4, 30, replay("same"))
