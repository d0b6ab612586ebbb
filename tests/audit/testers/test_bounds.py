"""Clopper and Pearson's bounds cover what they promise, by exact summation rather than by simulation."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from crestline.audit.testers.bounds import lower_bound, upper_bound


@pytest.mark.parametrize("chance", [0.001, 0.03, 0.5, 0.9])
@pytest.mark.parametrize("error", [1e-2, 1e-7])
def test_the_bounds_miss_with_at_most_the_stated_probability(chance: float, error: float) -> None:
    trials = 200
    missed_low = sum(
        binom.pmf(hits, trials, chance) for hits in range(trials + 1) if lower_bound(hits, trials, error) > chance
    )
    missed_high = sum(
        binom.pmf(hits, trials, chance) for hits in range(trials + 1) if upper_bound(hits, trials, error) < chance
    )
    assert missed_low <= error
    assert missed_high <= error


def test_the_bounds_are_not_idle() -> None:
    assert lower_bound(500, 1_000, 0.025) == pytest.approx(0.4685, abs=1e-4)
    assert upper_bound(500, 1_000, 0.025) == pytest.approx(0.5315, abs=1e-4)
    assert upper_bound(0, 1_000, 0.05) == pytest.approx(1 - 0.05 ** (1 / 1_000))


def test_all_or_nothing() -> None:
    assert lower_bound(0, 10, 0.1) == 0.0
    assert upper_bound(10, 10, 0.1) == 1.0
