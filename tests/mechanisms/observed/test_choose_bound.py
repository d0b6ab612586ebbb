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
    LastStep,
    SieveSetting,
    _forecast,
    best_last_step,
    best_setting,
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
        forecast = _forecast(users, popular, mu_squared, DELTA, SieveSetting(contribution, cap), 0)
        assert forecast.score() == pytest.approx(expected, rel=1e-9, abs=1e-12)
        share = passing(cells, popular, mu_squared, contribution, cap)
        assert forecast.passing.mean() == pytest.approx(share, rel=1e-9, abs=1e-12)
    best = max(known, key=lambda one: known[one])
    assert best_setting(users, popular, mu_squared, DELTA) == SieveSetting(best, cap)


def ranked_score(
    cells: Sequence[float], popular: float, mu_squared: float, contribution: int, k: int, items: int, share: float
) -> float:
    """The score of a threshold that names more than k items, whose counts put them in order (P28.2), with noise across
    of the variance of P23.6."""
    cap = crowd(cells).choose_cap()
    sigma = math.sqrt(contribution / (mu_squared * share))
    threshold = rough_threshold(contribution, cap, sigma, DELTA)
    mean, variation = weights(cells, contribution, cap)
    first = math.sqrt((sigma / mean) ** 2 + (0.3 * popular * variation) ** 2)
    b = min((2, 3, 4, 6), key=lambda b: b / 2 * (1 - math.sqrt(1 - 1 / b)) * (items - 1) + b)
    second = math.sqrt(b / 2 * (1 - math.sqrt(1 - 1 / b)) * items / (mu_squared * (1 - share)))
    cdf = NormalDist().cdf
    named = fmean(
        cdf((mean * count - threshold) / sigma) * cdf((count - popular * math.sqrt(k / items)) / first)
        for count in (popular / math.sqrt((j - 0.5) / 16) for j in range(1, 17))
    )
    return named - 0.4 / math.sqrt(first**-2 + second**-2) / popular


@pytest.mark.parametrize("cells", CROWDS)
@pytest.mark.parametrize(
    ("popular", "mu_squared", "k"), [(30.0, 0.05, 10), (400.0, 0.3, 1), (400.0, 0.3, 10), (4000.0, 0.3, 100)]
)
def test_the_last_step_is_split_where_the_forecast_of_that_is_better(
    cells: list[int], popular: float, mu_squared: float, k: int
) -> None:
    users = crowd(cells)
    cap = users.choose_cap()
    alone = best_setting(users, popular, mu_squared, DELTA)
    step = best_last_step(users, popular, mu_squared, DELTA, 0, k)
    if passing(cells, popular, mu_squared, alone.contribution, cap) < 0.95:
        assert step == LastStep(alone, Fraction(1), k)
        return
    ways = {
        (share, 1 << j, max(round(wider * k), k + 2)): ranked_score(
            cells, popular, mu_squared, 1 << j, k, max(round(wider * k), k + 2), share
        )
        for share in (0.15, 0.25, 0.35, 0.5, 0.65)
        for j in range(cap.bit_length())
        for wider in (1.25, 1.5, 2, 3)
    }
    best = max(ways, key=lambda way: ways[way])
    if ways[best] <= score(cells, popular, mu_squared, alone.contribution, cap):
        assert step == LastStep(alone, Fraction(1), k)
        return
    assert (float(step.share), step.setting, step.items) == (best[0], SieveSetting(best[1], cap), best[2])


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
