"""Laws of a loss on a grid are bounds: every sum is rounded outwards, held against exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from crestline.guarantees.grid import TINY, Grid
from crestline.guarantees.loss_law import LossLaw, gaussian, randomised_response

GRID = Grid(Fraction(1, 32), 64, 1)


def random_law(seed: int, size: int) -> LossLaw:
    return LossLaw(-size // 2, np.random.default_rng(seed).dirichlet(np.ones(size)))


def exact(values: np.ndarray) -> list[Fraction]:  # type: ignore[type-arg] # floats of any shape
    return [Fraction(float(value)) for value in values]


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_is_never_below_the_exact_one(seed: int) -> None:
    law, values = random_law(seed, 31), np.sort(np.random.default_rng(seed).random(65))[::-1]
    value = law.before(GRID, values)
    last = law.start + len(law.masses) - 1
    wide = exact(Grid(GRID.width, GRID.top, max(1, last, -law.start)).extended(values))
    origin = (len(wide) - GRID.top - 1) // 2
    masses = exact(law.masses)
    for index in (0, 7, 40):
        mean = sum((mass * wide[origin + index - law.start - place] for place, mass in enumerate(masses)), Fraction(0))
        assert mean <= Fraction(value(index)) <= mean * (1 + Fraction(1, 10**9)) + Fraction(2 * TINY)


def test_what_underflows_is_not_nothing() -> None:
    assert random_law(1, 5).before(GRID, np.zeros(65))(64) > 0


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
    """Errors of n sums grow with n: beyond some thousand terms the fixed margin alone would not do."""
    law = LossLaw(0, np.full(12_000, 2.0**-13))
    both = law + LossLaw(0, np.full(12_000, 2.0**-13))
    assert both.masses[11_999] >= 12_000 * 2.0**-26 * (1 + 12_000 * 2.0**-51)
    assert law.before(Grid(Fraction(1, 32), 64, 1), np.ones(65))(0) >= 12_000 * 2.0**-13 * (1 + 12_000 * 2.0**-51)


def test_what_is_infinite_stays() -> None:
    assert LossLaw(0, np.array([0.5]), 0.25).before(GRID, np.zeros(65))(64) >= 0.25
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
