"""Uniforms: their bounds after a number of bits, and tables made of other tables."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

from crestline.randomness.entropy import replay
from crestline.randomness.uniforms import Uniforms, interleave, select_columns


@pytest.mark.parametrize("bits", [1, 2, 63, 64, 65, 200])
def test_a_ball_is_the_interval_that_the_bits_leave_open(bits: int) -> None:
    uniforms = replay("ball").uniforms(2, 3)
    with ctx.workprec(bits + 64):
        for index in range(6):
            ball, prefix = uniforms.ball(index, bits), arb(uniforms.prefix(index, bits))
            unit = arb(2) ** -bits
            for inside in (prefix * unit, (prefix + 1) * unit):
                assert ball.contains(inside)
            slightly = unit / 100
            for outside in (prefix * unit - slightly, (prefix + 1) * unit + slightly):
                assert not ball.contains(outside)


def test_some_words_are_those_of_all_words_whether_or_not_all_were_drawn() -> None:
    places = np.array([[0, 5], [3074, 1]])
    for table in (replay("w").uniforms(3, 1025), replay("w").uniforms(2, 600)):
        wanted = places % (table.shape[0] * table.shape[1])
        before = table.words_at(wanted)
        assert (before == table.words.ravel()[wanted]).all()
        assert (before == table.words_at(wanted)).all()


def test_groups_of_several_tables_stand_side_by_side() -> None:
    """Two columns for each of three groups from one table, one from another: words and tails alike."""
    wide, narrow = replay("wide").uniforms(4, 6), replay("narrow").uniforms(4, 3)
    both = interleave([wide, narrow], groups=3)
    assert both.shape == (4, 9)
    assert both.first_bits == 64
    for row in range(4):
        for group in range(3):
            ranks = [(wide, row * 6 + group * 2), (wide, row * 6 + group * 2 + 1), (narrow, row * 3 + group)]
            for rank, (table, index) in enumerate(ranks):
                assert both.prefix(row * 9 + group * 3 + rank, 150) == table.prefix(index, 150)


def test_picked_columns_keep_their_words_and_tails() -> None:
    """Three of five columns, others in each of three rows, one of them twice."""
    table, chosen = replay("picked").uniforms(3, 5), np.array([[4, 0, 2], [1, 1, 3], [0, 3, 4]])
    some = select_columns(table, chosen)
    assert some.shape == (3, 3)
    for row in range(3):
        for place in range(3):
            assert some.prefix(row * 3 + place, 200) == table.prefix(row * 5 + int(chosen[row, place]), 200)


def test_the_first_64_bits_are_known_without_more() -> None:
    def never(index: int, bits: int) -> int:
        raise AssertionError("no further bits were needed")

    table = Uniforms(np.array([[2**63 + 5, 7]], dtype=np.uint64), 64, never)
    assert [table.prefix(index, 64) for index in range(2)] == [2**63 + 5, 7]
    assert table.prefix(0, 62) == 2**61 + 1
