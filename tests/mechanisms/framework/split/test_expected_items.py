"""The estimate of how many items are named, against simulation with the production sampler."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.histogram.histogram import Histogram
from crestline.mechanisms.framework.gap_tests.gap_test import pass_chance
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest
from crestline.mechanisms.framework.gumbel import RestrictedGumbel
from crestline.mechanisms.framework.normal import RestrictedNormal
from crestline.mechanisms.framework.one_shot import RestrictedLaplace
from crestline.mechanisms.framework.one_shot_base import OneShotBase
from crestline.mechanisms.framework.split.expected_items import (
    RankedCounts,
    _chance_above,
    _falling_levels,
    _pass_chances,
    _survival_and_named,
    expected_items,
    power_law_counts,
)
from crestline.randomness.entropy import replay
from crestline.randomness.laws import GUMBEL, LAPLACE, Law
from crestline.randomness.unit_points import Floats

K, K_BAR = 30, 300
COUNTS = (900 * np.arange(1, K_BAR + 2) ** -0.6).astype(np.int64)
TEST = ExponentialTest("0.15", "0.05", "1e-4")
HEAD = RankedCounts(COUNTS[:-1].astype(float), np.ones(K_BAR), float(COUNTS[-1]))


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
def test_the_estimate_agrees_with_simulation(mechanism: OneShotBase, scale: float) -> None:
    """Within four standard errors of 2,000 releases, and three percent for the cut at k."""
    histogram = Histogram.from_counts({f"i{rank:03}": int(count) for rank, count in enumerate(COUNTS)}, K_BAR)
    lengths = [len(selection) for selection in mechanism.release_many(histogram, 2_000, replay("lengths"))]
    allowed = 4 * float(np.std(lengths)) / np.sqrt(2_000) + 0.03 * K
    estimate = expected_items(HEAD, K, mechanism.noise, scale, TEST)
    assert abs(estimate - np.mean(lengths)) < allowed
    off = expected_items(HEAD, K, mechanism.noise, scale, ExponentialTest("0.25", "0.05", "1e-4"))
    assert abs(off - np.mean(lengths)) > allowed  # another test would not agree


def test_groups_of_ranks_stand_for_their_members() -> None:
    grouped = power_law_counts(K_BAR, 0.6).scaled_by(900.0)
    assert grouped.sizes.sum() == K_BAR
    whole = expected_items(HEAD, K, RestrictedGumbel.noise, 20.0, TEST)
    assert expected_items(grouped, K, RestrictedGumbel.noise, 20.0, TEST) == pytest.approx(whole, rel=0.02)


def test_more_users_name_more_items() -> None:
    shape = power_law_counts(K_BAR, 0.6)
    found = [
        expected_items(shape.scaled_by(users), K, RestrictedGumbel.noise, 20.0, TEST)
        for users in (1.0, 300.0, 900.0, 3000.0, 30_000.0)
    ]
    assert found == sorted(found)
    assert found[0] < 0.1
    assert found[-1] == pytest.approx(K, rel=0.03)


def test_a_single_slot_is_a_legal_head() -> None:
    one = power_law_counts(1, 0.6).scaled_by(1e6)
    assert expected_items(one, 1, RestrictedGumbel.noise, 1.0, TEST) == pytest.approx(1, abs=0.01)
    assert Fraction(float(one.sizes.sum())) == 1


def integrated(counts: Floats, next_count: float, noise: Law, scale: float, test: ExponentialTest) -> float:
    """The exact mean when all slots are chosen in the end: an item is named if it passes and none above it fails.

    Given the threshold's noise, `Σ_i pass_i ∫ f_i(x) Π_{j ≠ i} (1 - fail_j S_j(x)) dx`, on plain grids.
    """
    first, second = float(test.epsilon1), float(test.epsilon2)
    levels = np.linspace(counts.min() - 12 * scale, counts.max() + 40 * scale, 2001)
    above = noise.survival((levels[:, None] - counts) / scale)
    density = noise.density((levels[:, None] - counts) / scale) / scale
    total = 0.0
    for quantile in (np.arange(60) + 0.5) / 60:
        over = counts - next_count - 1 - float(test.threshold_height) - np.log1p(-quantile) / first
        passing = np.maximum(0.0, -np.expm1(-second * over))
        clean = np.maximum(1 - (1 - passing) * above, 1e-300)  # zero where an item that fails was surely chosen
        inside = (passing * density / clean).sum(axis=1) * np.exp(np.log(clean).sum(axis=1))
        total += float(np.trapezoid(inside, levels)) / 60
    return total


@pytest.mark.long
@pytest.mark.parametrize(
    ("noise", "users", "test", "allowed"),
    [
        (GUMBEL, 3000.0, TEST, 0.005),
        (LAPLACE, 3000.0, ExponentialTest("0.7", "0.3", "0.05"), 0.005),
        (GUMBEL, 60.0, ExponentialTest("1.5", "1", "0.2"), 0.015),  # one user more or less is seen here
    ],
    ids=["many", "many, laplace", "few"],
)
def test_without_the_cut_at_k_the_mean_is_exact(
    noise: Law, users: float, test: ExponentialTest, allowed: float
) -> None:
    """Half a percent, against another integral; a next count of one user more would not agree."""
    counts = users * np.arange(1.0, 202.0) ** -0.6
    scale = users / 250
    head = RankedCounts(counts[:-1], np.ones(200), float(counts[-1]))
    exact = integrated(counts[:-1], float(counts[-1]), noise, scale, test)
    assert expected_items(head, 200, noise, scale, test) == pytest.approx(exact, rel=allowed)
    if users < 100:
        off = RankedCounts(head.counts, head.sizes, head.next_count + 1)
        assert expected_items(off, 200, noise, scale, test) != pytest.approx(exact, rel=0.05)


def test_the_chance_to_pass_is_that_of_the_test() -> None:
    """Sixteen quantiles of the threshold's noise, against the law of the test itself."""
    test = ExponentialTest("0.7", "0.3", "0.05")
    head = RankedCounts(np.array([20.0, 15.0, 11.0, 8.0]), np.ones(4), 1.0)
    passing, weight = _pass_chances(head, test)
    assert weight.sum() == pytest.approx(1, abs=1e-14)
    wanted = [pass_chance(test, [count - 2]) for count in head.counts.tolist()]
    assert passing @ weight == pytest.approx(wanted, abs=5e-5)


def test_a_power_law_in_groups() -> None:
    """Few ranks are groups of one; many keep their number, and each group lies between its first and last rank."""
    few = power_law_counts(5, 0.6)
    assert few.counts == pytest.approx(np.arange(1.0, 6.0) ** -0.6)
    assert few.next_count == pytest.approx(6**-0.6)
    many = power_law_counts(1000, 0.6)
    last = np.cumsum(many.sizes)
    assert last[-1] == 1000
    assert (many.counts >= last**-0.6 - 1e-12).all()
    assert (many.counts <= (last - many.sizes + 1) ** -0.6 + 1e-12).all()
    assert many.scaled_by(3).next_count == pytest.approx(3 * 1001**-0.6)


def test_an_item_that_is_surely_chosen_and_surely_fails() -> None:
    """Nothing is left to be named, and no logarithm is infinite (warnings are errors)."""
    head = RankedCounts(np.array([9.0, 8.0]), np.ones(2), 1.0)
    clean, named = _survival_and_named(head, np.array([[1.0], [0.0]]), np.array([[0.5, 0.5], [1.0, 1.0]]))
    assert clean.ravel() == pytest.approx([0.5, 0.0], abs=1e-15)
    assert named.ravel() == pytest.approx([0.5, 1.0])


def test_levels_fall_to_where_k_items_are_expected() -> None:
    head = power_law_counts(300, 0.6).scaled_by(900.0)
    for k in (1, 30, 299, 300, 400):  # no more than there are
        levels = _falling_levels(head, k, GUMBEL, 20.0)
        assert (np.diff(levels) < 0).all()
        above = _chance_above(head, levels, GUMBEL, 20.0) @ head.sizes
        assert above[0] < 0.02
        assert above[-1] == pytest.approx(min(k, 300), rel=0.01)
