"""The forecast of the sieve, held against P18.4 as it is written: plain Python with every published number in sight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist, fmean

import numpy as np
import pytest

from crestline.mechanisms.observed.choose_bound import (
    ItemCountEstimate,
    SieveSetting,
    _setting_score,
    best_setting,
    share_passing,
)
from crestline.mechanisms.observed.noisy_query import NoisyQuery
from crestline.mechanisms.observed.thresholds import rough_threshold

DELTA = Fraction(4, 10**7)
MIDDLES = [1, *(2 ** (j - 0.42) for j in range(1, 13))]
# Users by number of items: light ones, mixed ones, heavy ones, and nobody who can be told from noise.
CROWDS: list[list[int]] = [[9000, 400, 20], [500, 800, 900, 700, 300, 80, 9], [0, 0, 0, 10, 90, 400, 0, 30], []]


def crowd(cells: Sequence[float]) -> ItemCountEstimate:
    return ItemCountEstimate(np.array([*cells, *[0] * (13 - len(cells))], dtype=np.float64))


def weights(cells: Sequence[float], contribution: int, cap: int) -> tuple[float, float]:
    """The mean weight over pairs and its coefficient of variation (P18.4, step 3): a user with more items than the cap
    keeps so many of them, and each of those weighs √(Δ/kept), at most 1."""
    if not cells:
        return math.floor(2**20 * min(1.0, math.sqrt(contribution / 4))) / 2**20, 0.0  # P18.7
    kept = [min(middle, cap) for middle in MIDDLES]
    each = [min(1, math.sqrt(contribution / k)) * k / m for k, m in zip(kept, MIDDLES, strict=True)]
    pairs = [users * middle for users, middle in zip(cells, MIDDLES, strict=False)]
    mean = math.fsum(n * w for n, w in zip(pairs, each, strict=False)) / math.fsum(pairs)
    square = math.fsum(n * w * w for n, w in zip(pairs, each, strict=False)) / math.fsum(pairs)
    return mean, math.sqrt(max(0, square - mean * mean)) / mean


def passing(cells: Sequence[float], popular: float, mu_squared: float, contribution: int, cap: int) -> float:
    sigma = math.sqrt(contribution / mu_squared)
    threshold = rough_threshold(contribution, cap, sigma, DELTA)
    mean, _ = weights(cells, contribution, cap)
    ranks = (popular / math.sqrt((j - 0.5) / 16) for j in range(1, 17))
    return fmean(NormalDist().cdf((mean * count - threshold) / sigma) for count in ranks)


def score(cells: Sequence[float], popular: float, mu_squared: float, contribution: int, cap: int) -> float:
    mean, variation = weights(cells, contribution, cap)
    noise = math.sqrt(contribution / mu_squared) / mean
    cost = 0.4 * math.sqrt(noise**2 + (0.3 * popular * variation) ** 2) / popular
    return passing(cells, popular, mu_squared, contribution, cap) - cost


@pytest.mark.parametrize("cells", CROWDS)
@pytest.mark.parametrize(("popular", "mu_squared"), [(1.0, 0.05), (30.0, 0.05), (30.0, 2.0), (400.0, 0.3)])
def test_scores_and_the_best_setting_are_those_that_are_written_down(
    cells: list[int], popular: float, mu_squared: float
) -> None:
    users = crowd(cells)
    cap = users.choose_cap()
    assert cap in (4, 16, 32, 128)
    known = {1 << j: score(cells, popular, mu_squared, 1 << j, cap) for j in range(cap.bit_length())}
    for contribution, expected in known.items():
        found = _setting_score(users, popular, mu_squared, DELTA, SieveSetting(contribution, cap))
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    best = max(known, key=lambda one: known[one])
    assert best_setting(users, popular, mu_squared, DELTA) == SieveSetting(best, cap)
    expected = passing(cells, popular, mu_squared, best, cap)
    assert share_passing(users, popular, mu_squared, DELTA) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("cells", "cap"),
    [
        ([], 16),  # nothing is known
        ([5], 4),  # the smallest there is
        ([0, 0, 0, 0, 98, 0, 2], 16),  # exactly two in a hundred have more
        ([0, 0, 0, 0, 97, 0, 3], 64),
        ([0] * 12 + [7], 4096),
        ([0, 0, 0, 1], 8),
    ],
)
def test_the_cap_leaves_two_in_a_hundred_above(cells: list[int], cap: int) -> None:
    assert crowd(cells).choose_cap() == cap


@pytest.mark.parametrize("cells", CROWDS[:3])
def test_the_mean_weight_is_that_of_a_pair_where_the_noise_covers_one_item(cells: list[int]) -> None:
    roots = math.fsum(n * math.sqrt(m) for n, m in zip(cells, MIDDLES, strict=False))
    assert crowd(cells).mean_weight() == pytest.approx(
        roots / math.fsum(n * m for n, m in zip(cells, MIDDLES, strict=False))
    )
    assert crowd([]).mean_weight() == 0


def test_a_cell_counts_only_where_it_stands_three_deviations_above_zero() -> None:
    steps = np.array([3 * 64, 3 * 64 + 1, -4 * 64, *[0] * 10])
    seen = ItemCountEstimate.from_query(NoisyQuery(steps, Fraction(2)))
    assert seen.cells.tolist() == [0, (3 * 64 + 1) / 32, 0, *[0] * 10]
    assert seen.is_known
    assert crowd([0.5]).is_known
    assert not ItemCountEstimate.from_query(NoisyQuery(steps * 0, Fraction(2))).is_known
