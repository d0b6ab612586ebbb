"""Margins and ends of keys: wide enough for what was rounded, and no wider than it may cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.randomness.entropy import replay
from crestline.randomness.keys import keys
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import Linear


@pytest.mark.parametrize("count", [10, 2**40, 2**60])
def test_the_margin_covers_the_last_place_of_large_scores(count: int) -> None:
    made = keys(Linear(np.array([count, 0]), Fraction(1)), GUMBEL, replay("large").uniforms(3, 2))
    assert made.margin >= count * 2.0**-52
    assert made.margin < 1e-6 + count * 2.0**-40


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(-3), Fraction(1, 7)])
@pytest.mark.parametrize("name", sorted(LAWS))
def test_ends_contain_the_key_and_are_narrow(name: str, scale: Fraction) -> None:
    """Held against balls of 300 bits: the ends lie outside, and within 2^-30 of each other."""
    made = keys(Linear(np.array([5, 1, 0]), Fraction(1, 3)), LAWS[name], replay("ends").uniforms(40, 3), scale=scale)
    for row in range(40):
        low, high = made.ends(row, [0, 1, 2])
        assert (high - low < 2.0**-30).all()
        for column in range(3):
            exact = made.ball(row, column, 300)
            assert float(low[column]) < exact < float(high[column])
            assert abs(float(exact.mid()) - made.rough[row, column]) <= made.margin
