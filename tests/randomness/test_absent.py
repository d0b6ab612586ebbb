"""Keys that do not exist in some rows: how a draw leaves out what was drawn before."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare

from crestline.randomness.comparison import largest
from crestline.randomness.draws import Single
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import Equal


def drawn(absent: list[int], k: int, trials: int, first_bits: int = 64) -> np.ndarray:
    mask = np.zeros((trials, 5), dtype=np.bool_)
    mask[:, absent] = True
    draws = Single(replay("absent", first_bits=first_bits).uniforms(trials, 5), absent=mask)
    return largest(Keys(Equal(5), GUMBEL, draws), k)


def test_absent_columns_are_never_drawn_and_the_others_alike() -> None:
    """Significance 1e-9: uniform over the three columns that are there."""
    seen = np.bincount(drawn([0, 3], 1, 30_000)[:, 0], minlength=5)
    assert seen[0] == seen[3] == 0
    assert chisquare(seen[[1, 2, 4]]).pvalue > 1e-9
    assert chisquare(seen[[1, 2, 4]], 30_000 * np.array([1.1, 0.95, 0.95]) / 3).pvalue < 1e-9


@pytest.mark.parametrize("bits", [1, 7])
def test_fewer_bits_at_first_draw_the_same(bits: int) -> None:
    for k in (1, 2, 3):
        assert (drawn([1, 2], k, 50, bits) == drawn([1, 2], k, 50)).all()


def test_all_that_is_there_can_be_drawn() -> None:
    assert (np.sort(drawn([0, 3], 3, 50), axis=1) == [1, 2, 4]).all()
