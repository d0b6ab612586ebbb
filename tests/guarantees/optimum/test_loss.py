"""Laws of a loss on a grid are bounds: every sum is rounded outwards, held against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from flint import arb
from scipy.stats import norm

from crestline.guarantees.optimum.grid import TINY, CurveGrid
from crestline.guarantees.optimum.loss import LossLaw, gaussian, randomised_response
from crestline.guarantees.rounding import ball, precision

GRID = CurveGrid(Fraction(1, 32), 64, 1)


def random_law(seed: int, size: int) -> LossLaw:
    return LossLaw(-size // 2, np.random.default_rng(seed).dirichlet(np.ones(size)))


def exact(values: np.ndarray) -> list[Fraction]:  # type: ignore[type-arg] # floats of any shape
    return [Fraction(float(value)) for value in values]


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_is_never_below_the_exact_one(seed: int) -> None:
    law, values = random_law(seed, 31), np.sort(np.random.default_rng(seed).random(65))[::-1]
    value = law.apply_to(GRID, values)
    last = law.start + len(law.masses) - 1
    wide = exact(CurveGrid(GRID.width, GRID.top, max(1, last, -law.start)).extend(values))
    origin = (len(wide) - GRID.top - 1) // 2
    masses = exact(law.masses)
    for index in (0, 7, 40):
        mean = sum((mass * wide[origin + index - law.start - place] for place, mass in enumerate(masses)), Fraction(0))
        assert mean <= Fraction(value(index)) <= mean * (1 + Fraction(1, 10**9)) + Fraction(2 * TINY)


def test_what_underflows_is_not_nothing() -> None:
    assert random_law(1, 5).apply_to(GRID, np.zeros(65))(64) > 0


@pytest.mark.parametrize("seed", range(3))
def test_a_sum_of_losses_is_never_below_the_exact_one(seed: int) -> None:
    first, second = random_law(seed, 9), random_law(seed + 10, 14)
    both = first + second
    wanted = [Fraction(0)] * 22
    for i, mass in enumerate(exact(first.masses)):
        for j, other in enumerate(exact(second.masses)):
            wanted[i + j] += mass * other
    assert both.start == first.start + second.start
    assert all(
        low <= high <= low * (1 + Fraction(1, 10**9)) for low, high in zip(wanted, exact(both.masses), strict=True)
    )


def test_many_terms_need_more_room() -> None:
    """Errors of n sums grow with n, by 2^-53 each: beyond some thousand terms the fixed margin alone would not do."""
    law = LossLaw(0, np.full(12_000, 2.0**-13))
    both = law + LossLaw(0, np.full(12_000, 2.0**-13))
    assert both.masses[11_999] >= 12_000 * 2.0**-26 * (1 + 12_000 * 2.0**-52)
    assert law.apply_to(CurveGrid(Fraction(1, 32), 64, 1), np.ones(65))(0) >= 12_000 * 2.0**-13 * (
        1 + 12_000 * 2.0**-52
    )


def test_what_is_infinite_stays() -> None:
    assert LossLaw(0, np.array([0.5]), 0.25).apply_to(GRID, np.zeros(65))(64) >= 0.25
    assert (LossLaw(0, np.ones(1), 0.25) + LossLaw(0, np.ones(1), 0.5)).infinite >= 0.75


@pytest.mark.parametrize("mu_squared", ["0.05", "0.2", "1", "9"])
@pytest.mark.parametrize("delta", ["0.5", "1e-6"])
def test_no_mass_of_a_gaussian_is_lost(mu_squared: str, delta: str) -> None:
    """A millionth of δ lies beyond either end; the padding alone is far smaller than half of that."""
    law = gaussian(GRID, Fraction(mu_squared), Fraction(delta))
    kept = sum(exact(law.masses)) + Fraction(law.infinite)
    assert 1 <= kept <= 1 + Fraction(1, 10**8)
    assert law.infinite <= float(delta) / 10**6


def test_no_mass_of_randomised_response_is_lost() -> None:
    assert sum(exact(randomised_response(GRID, Fraction("0.313"), 7).masses)) >= 1


def test_the_losses_of_randomised_response_are_all_there_and_no_others() -> None:
    """Seven steps of three cells: losses from -21 to 21 cells, every sixth one, and a chord's other end below each."""
    law = randomised_response(GRID, Fraction(3, 32), 7)
    assert (law.start, len(law.masses)) == (-22, 44)
    assert np.flatnonzero(law.masses > 1e-300).tolist() == [1 + 6 * place for place in range(8)]


def test_randomised_response_is_binomial_rounded_up() -> None:
    """Between grid points a mass is shared so that both laws keep theirs; held against balls of 200 bits."""
    epsilon, times = Fraction("0.07"), 6
    law = randomised_response(GRID, epsilon, times)
    with precision(200):
        width, growth = ball(GRID.width), ball(epsilon).exp()
        wanted = [arb(0)] * len(law.masses)
        for fewer in range(times + 1):
            mass = comb(times, fewer) * growth ** (times - fewer) / (1 + growth) ** times
            place = math.floor(epsilon * (times - 2 * fewer) / GRID.width)
            rest = ball(epsilon * (times - 2 * fewer) - place * GRID.width)
            upwards = (-rest).expm1() / (-width).expm1()  # m0 + m1 = 1 and m0 + m1 e^-h = e^-rest
            wanted[place - law.start] += mass * (1 - upwards)
            wanted[place + 1 - law.start] += mass * upwards
        for mass, bound in zip(wanted, exact(law.masses), strict=True):
            assert mass <= ball(bound)
            assert ball(bound) <= mass * (1 + ball(Fraction(1, 10**11))) + ball(Fraction(2 * TINY))


@pytest.mark.parametrize("mu_squared", ["0.05", "0.2", "9", "400"])
def test_a_gaussian_is_followed_as_far_as_needed_and_as_finely(mu_squared: str) -> None:
    """At least 32 cells a deviation, or all there are, and less than twice as many; beyond the ends hardly less than a
    millionth of δ above, and of all below, because every cell costs time."""
    delta, mu = 1e-6, math.sqrt(float(mu_squared))
    law = gaussian(GRID, Fraction(mu_squared), Fraction(1, 10**6))
    used = np.flatnonzero(law.masses)
    (stride,) = set(np.diff(used).tolist())
    assert used[0] == 0
    assert used[-1] == len(law.masses) - 1
    assert stride == 1 or 32 * stride <= 32 * mu < 64 * stride
    assert stride > 1 or 32 * mu < 64
    assert delta / 10**10 < law.infinite < delta / 10**6
    below = norm.cdf((law.start / 32 - mu**2 / 2) / mu)
    assert 1e-10 < below < 1e-6


def test_one_loss_of_nought_changes_nothing() -> None:
    values = np.linspace(1.0, 0.0, 65)
    value = LossLaw(0, np.array([1.0])).apply_to(GRID, values)
    assert [value(index) for index in (0, 30, 64)] == pytest.approx([values[index] for index in (0, 30, 64)], rel=1e-11)
