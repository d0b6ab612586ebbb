"""The estimate of how many items are named, against simulation with the production sampler."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.expected_items import Head, expected_items, power_law
from crestline.mechanisms.one_shot import OneShot
from crestline.mechanisms.restricted_gumbel import RestrictedGumbel
from crestline.mechanisms.restricted_normal import RestrictedNormal
from crestline.mechanisms.restricted_one_shot import RestrictedLaplace
from crestline.mechanisms.sparse_tests import ExponentialTest
from crestline.randomness.entropy import replay

K, K_BAR = 30, 300
COUNTS = (900 * np.arange(1, K_BAR + 2) ** -0.6).astype(np.int64)
TEST = ExponentialTest("0.15", "0.05", "1e-4")
HEAD = Head(COUNTS[:-1].astype(float), np.ones(K_BAR), float(COUNTS[-1]))


@pytest.mark.parametrize(
    ("mechanism", "scale"),
    [
        (RestrictedGumbel(K, K_BAR, "0.06", TEST), 1 / 0.06),
        (RestrictedGumbel(K, K_BAR, "0.2", TEST), 1 / 0.2),
        (RestrictedNormal(K, K_BAR, 15, TEST), 15.0),
        (RestrictedLaplace(K, K_BAR, 2, TEST), K / 2),
    ],
    ids=lambda case: type(case).__name__ if not isinstance(case, float) else f"{case:.0f}",
)
def test_the_estimate_agrees_with_simulation(mechanism: OneShot, scale: float) -> None:
    """Within four standard errors of 2,000 releases, and three percent for the cut at k."""
    histogram = Histogram.from_counts({f"i{rank:03}": int(count) for rank, count in enumerate(COUNTS)}, K_BAR)
    lengths = [len(selection) for selection in mechanism.release_many(histogram, 2_000, replay("lengths"))]
    allowed = 4 * float(np.std(lengths)) / np.sqrt(2_000) + 0.03 * K
    estimate = expected_items(HEAD, K, mechanism.noise, scale, TEST)
    assert abs(estimate - np.mean(lengths)) < allowed
    off = expected_items(HEAD, K, mechanism.noise, scale, ExponentialTest("0.25", "0.05", "1e-4"))
    assert abs(off - np.mean(lengths)) > allowed  # another test would not agree


def test_groups_of_ranks_stand_for_their_members() -> None:
    grouped = power_law(K_BAR, 0.6).times(900.0)
    assert grouped.sizes.sum() == K_BAR
    whole = expected_items(HEAD, K, RestrictedGumbel.noise, 20.0, TEST)
    assert expected_items(grouped, K, RestrictedGumbel.noise, 20.0, TEST) == pytest.approx(whole, rel=0.02)


def test_more_users_name_more_items() -> None:
    shape = power_law(K_BAR, 0.6)
    found = [
        expected_items(shape.times(users), K, RestrictedGumbel.noise, 20.0, TEST)
        for users in (1.0, 300.0, 900.0, 3000.0, 30_000.0)
    ]
    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[-1] == pytest.approx(K, rel=0.03)


def test_a_single_slot_is_a_legal_head() -> None:
    one = power_law(1, 0.6).times(1e6)
    assert expected_items(one, 1, RestrictedGumbel.noise, 1.0, TEST) == pytest.approx(1, abs=0.01)
    assert Fraction(float(one.sizes.sum())) == 1
