"""B6: certified from above, met from below by adversaries that exist, and equal to an independent computation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from crestline.guarantees.composition import adaptive_optimum, renyi_bounded_range
from crestline.guarantees.conversion import zcdp_epsilon
from crestline.guarantees.cost import RepeatedStep, Step
from crestline.guarantees.guarantee import ZCDP, BoundedRange, GaussianDP, LossInterval, PureDP
from crestline.guarantees.optimum import optimum as adaptive_optimum_module
from crestline.guarantees.optimum.grid import CurveGrid
from crestline.guarantees.optimum.loss import gaussian, randomised_response
from crestline.guarantees.optimum.optimum import _grid, adaptive_epsilon
from crestline.guarantees.optimum.step import LossIntervalStep

Floats = NDArray[np.float64]
DELTA = Fraction(1, 10**6)


def bisect(value: float, high: float, curve) -> float:  # type: ignore[no-untyped-def] # a curve is a float function
    """Where a decreasing curve falls to `value`."""
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > value else (low, middle)
    return high


# An independent computation for up to three steps: the single-step curve of P2.2, then all t tried on a dense grid.


def one_step(a: Floats, epsilon: float) -> Floats:
    inside = (1 - np.exp((np.clip(a, -epsilon, epsilon) - epsilon) / 2)) ** 2 / -math.expm1(-epsilon)
    return np.where(a < -epsilon, -np.expm1(np.minimum(a, 0)), np.where(a > epsilon, 0.0, inside))


def dense(a: Floats, epsilon: float, k: int, points: int = 301) -> Floats:
    if k == 1:
        return one_step(a, epsilon)
    t = np.linspace(0, epsilon, points)
    first = np.expm1(t - epsilon) / math.expm1(-epsilon)
    near, far = a[..., None] - t, a[..., None] - t + epsilon
    best: Floats = (first * dense(near, epsilon, k - 1) + (1 - first) * dense(far, epsilon, k - 1)).max(axis=-1)
    return best


def test_the_oracle_knows_the_printed_single_step() -> None:
    assert bisect(1e-6, 1.0, lambda a: one_step(np.array([a]), 1.0)[0]) == pytest.approx(0.998409247349, rel=5e-12)


@pytest.mark.long
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6"])
def test_up_to_three_steps_by_brute_force(k: int, epsilon: str, delta: str) -> None:
    size = float(epsilon)
    brute = bisect(float(delta), k * size, lambda a: dense(np.array([a]), size, k)[0])
    found = float(adaptive_optimum(k, Fraction(epsilon), Fraction(delta)))
    assert brute * (1 - 1e-6) <= found <= brute * (1 + 1e-3)


# Adversaries that exist: one that never adapts (B7), and one that adapts but keeps to a coarse grid of t.


def fixed_t(k: int, epsilon: float, t: float, delta: float) -> float:
    """The exact ε when all k steps have losses t and t - ε."""
    high = math.expm1(t - epsilon) / math.expm1(-epsilon)
    fewer = np.arange(k + 1)
    masses, losses = binom.pmf(fewer, k, 1 - high), k * t - fewer * epsilon
    return bisect(delta, k * epsilon, lambda a: float((masses * np.maximum(0, -np.expm1(a - losses))).sum()))


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (10, 0.1), (10, 1.0), (100, 0.05), (400, 0.2)])
def test_no_adversary_without_memory_does_better(k: int, epsilon: float) -> None:
    best = max(fixed_t(k, epsilon, epsilon * part / 200, 1e-6) for part in range(1, 200))
    found = float(adaptive_optimum(k, Fraction(str(epsilon)), DELTA))
    assert best <= found <= 1.03 * best


def adversary(steps: list[tuple[float, list[float]]], delta: float, width: float, points: int) -> float:
    """What an adversary whose losses are multiples of `width` reaches, exactly: steps are (span, choices of t)."""
    grid = np.arange(-points, points + 1) * width
    values = np.maximum(0.0, -np.expm1(grid))
    for span, choices in reversed(steps):
        options = []
        for t in choices:
            high = math.expm1(t - span) / math.expm1(-span)
            down, up = round(t / width), round((span - t) / width)
            near = np.concatenate([-np.expm1(grid[0] - width * np.arange(down, 0, -1)), values])[: len(values)]
            far = np.concatenate([values, np.zeros(up)])[up:]
            options.append(high * near + (1 - high) * far)
        values = np.max(options, axis=0)
    index = int(np.flatnonzero(values <= delta)[0])
    return float(grid[index] - width)  # the point before is still above δ: a threshold that is beaten


@pytest.mark.parametrize(("k", "epsilon", "cells"), [(5, 0.5, 50), (20, 0.1, 40), (100, 0.05, 20)])
def test_an_adversary_on_a_coarse_grid_nearly_reaches_it(k: int, epsilon: float, cells: int) -> None:
    width = epsilon / cells
    reached = adversary([(epsilon, [width * j for j in range(cells + 1)])] * k, 1e-6, width, k * cells)
    found = float(adaptive_optimum(k, Fraction(str(epsilon)), DELTA))
    assert reached <= found <= 1.01 * reached


@pytest.mark.parametrize("first", [True, False])
def test_a_test_before_or_after_the_draws(first: bool) -> None:
    width, k = 0.05 / 20, 20
    draws = [(0.05, [width * j for j in range(21)])] * k
    test = (0.39, [0.3, 0.09])  # loss in [-0.09, 0.3] or in the mirror image
    reached = adversary([test, *draws] if first else [*draws, test], 1e-6, width, 2000)
    listed = [RepeatedStep(BoundedRange("0.05"), k), RepeatedStep(LossInterval("0.09", "0.3"))]
    found = adaptive_epsilon(listed[::-1] if first else listed, DELTA)
    assert found is not None
    assert reached <= found <= 1.01 * reached


def test_a_test_costs_less_than_two_sided_noise_of_its_size() -> None:
    draws = RepeatedStep(BoundedRange("0.05"), 50)
    tests: list[Step] = [LossInterval("0.09", "0.3"), PureDP("0.3")]
    one_sided, two_sided = (adaptive_epsilon([draws, RepeatedStep(test)], DELTA) for test in tests)
    assert one_sided is not None
    assert two_sided is not None
    assert one_sided < two_sided * Fraction(98, 100)


@pytest.mark.long
@pytest.mark.parametrize(("k", "epsilon"), [(3, "0.5"), (30, "0.1"), (200, "0.02")])
def test_a_finer_grid_changes_little_and_only_downwards(k: int, epsilon: str) -> None:
    coarse, fine = (
        adaptive_epsilon([RepeatedStep(BoundedRange(epsilon), k)], DELTA, fineness=times) for times in (1, 3)
    )
    assert coarse is not None
    assert fine is not None
    assert fine <= coarse <= fine * Fraction(1002, 1000)


def test_ranges_that_do_not_share_a_grid_are_rounded_up() -> None:
    mixed = adaptive_epsilon([RepeatedStep(BoundedRange("0.05"), 20), RepeatedStep(BoundedRange("0.0337"), 30)], DELTA)
    larger = adaptive_epsilon([RepeatedStep(BoundedRange("0.05"), 20), RepeatedStep(BoundedRange("0.035"), 30)], DELTA)
    smaller = adaptive_epsilon(
        [RepeatedStep(BoundedRange("0.05"), 20), RepeatedStep(BoundedRange("0.0325"), 30)], DELTA
    )
    assert mixed is not None
    assert larger is not None
    assert smaller is not None
    assert smaller < mixed < larger


kinds = st.one_of(
    st.integers(1, 40).map(lambda parts: BoundedRange(Fraction(parts, 50))),
    st.integers(1, 40).map(lambda parts: PureDP(Fraction(parts, 50))),
    st.integers(1, 20).map(lambda parts: GaussianDP(Fraction(parts, 50))),
    st.tuples(st.integers(1, 20), st.integers(1, 20)).map(
        lambda ends: LossInterval(Fraction(ends[0], 50), Fraction(ends[1], 50))
    ),
)
parts = st.builds(RepeatedStep, kinds, st.integers(1, 5))


@pytest.mark.long
@given(st.lists(parts, min_size=1, max_size=3), st.integers(2, 9))
@settings(max_examples=20)
def test_it_is_never_far_above_zcdp_nor_above_addition(steps: list[RepeatedStep], power: int) -> None:
    delta = Fraction(1, 10**power)
    found = adaptive_epsilon(steps, delta)
    assert found is not None
    assert found <= zcdp_epsilon(sum(part.step.rho * part.times for part in steps), delta) * Fraction(1001, 1000)
    if not any(isinstance(part.step, GaussianDP) for part in steps):
        assert found <= sum((part.step.epsilon or 0) * part.times for part in steps)


@pytest.mark.long
@given(st.lists(parts, min_size=1, max_size=2), parts, st.integers(2, 9))
@settings(max_examples=20)
def test_one_step_more_never_lowers_it(steps: list[RepeatedStep], extra: RepeatedStep, power: int) -> None:
    before, after = (adaptive_epsilon(listed, Fraction(1, 10**power)) for listed in (steps, [*steps, extra]))
    assert before is not None
    assert after is not None
    assert before <= after * Fraction(1002, 1000)  # the two grids differ


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_place_of_a_step_with_one_worst_pair_does_not_matter(place: int) -> None:
    others = [RepeatedStep(BoundedRange("0.1"), 5), RepeatedStep(LossInterval("0.1", "0.2"))]
    listed = [*others[:place], RepeatedStep(PureDP("0.3"), 2), *others[place:]]
    assert adaptive_epsilon(listed, DELTA) == adaptive_epsilon([RepeatedStep(PureDP("0.3"), 2), *others], DELTA)


def test_laws_on_a_grid_keep_both_masses() -> None:
    grid = CurveGrid(Fraction(1, 128), 100, 1)
    for law in (randomised_response(grid, Fraction("0.313"), 7), gaussian(grid, Fraction("0.2"), DELTA)):
        losses = (law.start + np.arange(len(law.masses))) / 128
        assert law.masses.sum() == pytest.approx(1, abs=1e-9)
        assert (law.masses * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-6)


def test_so_little_that_delta_covers_it() -> None:
    assert adaptive_epsilon([RepeatedStep(BoundedRange("1e-12"), 3)], DELTA) == 0  # a ten-thousandth of δ covers it
    assert adaptive_epsilon([RepeatedStep(PureDP("1e-12"))], DELTA) == 0
    assert adaptive_epsilon([RepeatedStep(BoundedRange("1e-6"), 3)], DELTA) == 0
    assert adaptive_epsilon([RepeatedStep(BoundedRange("1e-6"), 3), RepeatedStep(PureDP("1e-7"))], DELTA) == 0


def test_a_step_that_is_only_concentrated_has_no_worst_case_to_compute() -> None:
    assert adaptive_epsilon([RepeatedStep(BoundedRange("0.1"), 5), RepeatedStep(ZCDP("0.01"))], DELTA) is None


def test_too_much_to_compute_is_left_to_others() -> None:
    assert adaptive_epsilon([RepeatedStep(BoundedRange("0.5"), 10**6)], DELTA) is None
    assert adaptive_epsilon([RepeatedStep(PureDP("0.5"), 10**6)], DELTA) is None
    assert adaptive_optimum(10**6, "0.01", DELTA) == renyi_bounded_range(10**6, "0.01", DELTA)


@pytest.mark.parametrize(
    "idle", [RepeatedStep(BoundedRange(0), 3), RepeatedStep(BoundedRange("0.37"), 0), RepeatedStep(PureDP(1), 0)]
)
def test_steps_that_do_nothing_change_nothing(idle: RepeatedStep) -> None:
    steps = [RepeatedStep(BoundedRange("0.1"), 5), RepeatedStep(LossInterval("0.1", "0.2"))]
    assert adaptive_epsilon([idle, *steps], DELTA) == adaptive_epsilon(steps, DELTA)


def test_the_grid_is_as_fine_as_asked() -> None:
    steps = [RepeatedStep(BoundedRange("0.2"), 7)]
    assert (
        adaptive_epsilon(steps, DELTA)
        == adaptive_epsilon(steps, DELTA, fineness=1)
        != adaptive_epsilon(steps, DELTA, fineness=2)
    )


@pytest.mark.parametrize("ends", [("0.1", "0.2"), ("0.0913", "0.2177"), ("0.3", "0.1")])
def test_the_grid_reaches_as_far_as_its_steps_read(ends: tuple[str, str]) -> None:
    step = LossInterval(*ends)
    grid = _grid((RepeatedStep(BoundedRange("0.05"), 5), RepeatedStep(step)), Fraction(1), 1)
    assert grid is not None
    read = [abs(offset) for side in LossIntervalStep(grid, step.below, step.above)._sides for offset, _ in side]
    assert grid.reach == max(read)


def test_a_grid_without_moves_reaches_nowhere() -> None:
    grid = _grid((RepeatedStep(PureDP("0.1"), 2),), Fraction("0.2"), 1)
    assert grid is not None
    assert grid.reach == 0


def test_as_much_as_may_be_computed_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive_optimum_module, "_MOST_ATOMS", 3)
    monkeypatch.setattr(adaptive_optimum_module, "_MOST_WORK", 0)  # pure steps take none
    assert adaptive_epsilon([RepeatedStep(PureDP("0.123"), 3)], DELTA) is not None
    assert adaptive_epsilon([RepeatedStep(PureDP("0.123"), 4)], DELTA) is None
    assert adaptive_epsilon([RepeatedStep(BoundedRange("0.123"), 1)], DELTA) is None
