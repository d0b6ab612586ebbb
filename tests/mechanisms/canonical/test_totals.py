"""Total weights against sums over all sets, and the doubles against their balls."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from crestline.histogram.groups import equal_counts
from crestline.mechanisms.canonical.classes import classes_of
from crestline.mechanisms.canonical.totals import ClassTotal, LowestTotals
from crestline.precision import precision
from crestline.randomness.scores import Scores

GAPS = np.array([9, 7, 7, 4, 1, 1, -2], dtype=np.int64)
RATE = Fraction(3, 10)


def is_a_ball_around(scores: Scores, column: int) -> None:
    with precision(200):
        off = abs(scores.ball(0, column) - float(scores.approx[column]))
        assert off < scores.error
        assert off < 1e-9  # bounds are no excuse


@pytest.mark.parametrize("size", [1, 2, 4, 7])
def test_sets_by_their_lowest_member_are_all_sets(size: int) -> None:
    totals = LowestTotals((3, size), GAPS, RATE)
    wanted = math.log(math.fsum(math.exp(0.3 * min(chosen)) for chosen in combinations(GAPS.tolist(), size)))
    assert totals.approx[1] == pytest.approx(wanted, abs=1e-12)
    is_a_ball_around(totals, 1)


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_sets_that_mind_what_they_miss_are_all_sets(k: int) -> None:
    """κ = 1/2, that is γ = 2/3; the score of the best k is not zero here."""
    rate, gamma = Fraction(3, 10), Fraction(2, 3)
    total = ClassTotal(classes_of(equal_counts(GAPS), k, gamma, rate / gamma), rate * int(GAPS[k - 1]))
    weights = []
    for chosen in combinations(range(len(GAPS)), k):
        outside = max(int(GAPS[slot]) for slot in range(len(GAPS)) if slot not in chosen)
        missed = max(0, outside - int(GAPS[k - 1]))
        weights.append(math.exp(0.3 * (int(GAPS[chosen[-1]]) - missed / 2)))
    assert total.approx[0] == pytest.approx(math.log(math.fsum(weights)), abs=1e-12)
    is_a_ball_around(total, 0)


def test_large_tables_are_computed_in_blocks_and_stay_within_their_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = np.sort(np.random.default_rng(3).integers(0, 900, 400))[::-1].astype(np.int64)
    whole = LowestTotals(tuple(range(200, 0, -1)), gaps, RATE)
    for column in (0, 77, 199):
        is_a_ball_around(whole, column)
    monkeypatch.setattr("crestline.mechanisms.canonical.totals._CELLS", 1300)
    assert np.array_equal(LowestTotals(whole.sizes, gaps, RATE).approx, whole.approx)
