from __future__ import annotations

import pytest

from reproduction.peers.setting import Setting
from reproduction.peers.thresholds import _laplace, available, gaussian_setting, noisy_top

pytestmark = pytest.mark.skipif(not available(), reason="OpenDP is not installed")


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_large_counts_are_released_in_order_and_small_ones_are_not(noise: str) -> None:
    setting = Setting(epsilon=1.0, delta=1e-6, bound=4, noise=noise, k=3)
    assert noisy_top([1, 50_000, 1, 90_000, 70_000, 30_000, 2], setting) == [3, 4, 1]


def test_the_privacy_map_is_within_the_budget_and_not_far_below() -> None:
    reach = (4, 4.0, 1.0)
    epsilon, delta = _laplace(4, 1.0, 1e-6).map(reach)
    assert 0.999 < epsilon <= 1.0
    assert 1e-7 < delta <= 1e-6


def test_gaussian_noise_is_smaller_where_users_count_for_many_items() -> None:
    """At equal (ε, δ), by the thresholds. A count of 700 is nine standard deviations above that of Gaussian noise, and
    would pass that of Laplace noise, which is about 1,770, once in 10^5 releases; one of 400 less than once in 10^6."""
    setting = Setting(epsilon=1.0, delta=1e-6, bound=100, noise="gaussian", k=1)
    assert noisy_top([700], setting) == [0]
    assert noisy_top([400], Setting(1.0, 1e-6, 100, "laplace", 1)) == []
    assert gaussian_setting(100, 1.0, 1e-6) is gaussian_setting(100, 1.0, 1e-6)  # found once, then kept
