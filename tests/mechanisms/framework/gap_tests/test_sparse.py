"""The tests that stop at the first failure, against their vectors and against another integral."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chisquare, laplace
from tests.mechanisms.conformance import SIGNIFICANCE, VECTORS

from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest, SparseTest
from crestline.randomness.entropy import replay

CASES = [("TV-5.6", ExponentialTest("0.7", "0.3", "0.05")), ("TV-5.7", LaplaceTest(1, "0.05"))]


def wanted(name: str) -> list[float]:
    values = VECTORS[name]["values"]
    return [values["fail_first"], values["pass_then_fail"], values["pass_both"]]


def gaps_of(name: str) -> list[float]:
    found: list[float] = VECTORS[name]["params"]["gaps"]
    return found


@pytest.mark.parametrize(("name", "test"), CASES, ids=lambda case: str(case)[:12])
def test_the_law_is_the_vector(name: str, test: SparseTest) -> None:
    lengths = test.pass_count_law(np.array(gaps_of(name)), np.array([[0, 1]]))[0]
    assert lengths == pytest.approx(wanted(name), abs=1e-10)


@pytest.mark.statistics
@pytest.mark.parametrize(("name", "test"), CASES, ids=lambda case: str(case)[:12])
@pytest.mark.parametrize("step", [1, 4])
def test_the_sampler_follows_the_vector_and_the_check_has_power(name: str, test: SparseTest, step: int) -> None:
    """Significance 1e-9; gaps 10% larger or smaller are rejected."""

    def fit(stretch: int) -> float:
        gaps = np.array(gaps_of(name)) * step * stretch
        table = np.tile(gaps.astype(np.int64), (200_000, 1))
        seen = Counter(test.count_passes(table, 10 * step, replay("sparse")).tolist())
        return float(chisquare([seen[i] for i in range(3)], 200_000 * np.array(wanted(name))).pvalue)

    assert fit(10) > SIGNIFICANCE
    assert fit(11) < SIGNIFICANCE
    assert fit(9) < SIGNIFICANCE


def test_the_laplace_chance_by_another_integral() -> None:
    test, gaps = LaplaceTest("0.8", "0.01"), [11.0, 3.0, 25.0]
    height = float(test.threshold(1, replay(0)).scores.approx[0])

    def integrand(z: float) -> float:
        return float(laplace.pdf(z) * np.prod([laplace.sf(height + z - 0.4 * gap) for gap in gaps]))

    points = sorted([0.0, *(0.4 * gap - height for gap in gaps)])
    found = quad(integrand, -60, 60, points=points, limit=400, epsabs=1e-13)[0]
    assert test.pass_count_law(np.array(gaps), np.array([[0, 1, 2]]))[0, -1] == pytest.approx(found, abs=1e-11)


def test_the_exponential_chance_is_a_polynomial_integral() -> None:
    """With u = e^{-ε2 z} the integral of P5.6 is one of a polynomial with weight u^{ε1/ε2 - 1}: expand it."""
    test, gaps = ExponentialTest("0.6", "0.2", "0.01"), [20.0, 14.0, 9.5]
    height = float(test.threshold(1, replay(0)).scores.approx[0])
    over = [gap - height for gap in gaps]
    assert min(over) > 0  # then the positive part plays no role
    polynomial = np.polynomial.Polynomial([1.0])
    for value in over:
        polynomial *= np.polynomial.Polynomial([1.0, -np.exp(-0.2 * value)])
    exact = sum(0.6 * c / (0.6 + 0.2 * j) for j, c in enumerate(polynomial.coef.tolist()))
    assert test.pass_count_law(np.array(gaps), np.array([[2, 0, 1]]))[0, -1] == pytest.approx(exact, abs=1e-13)


def test_a_test_of_many_items_keeps_its_digits() -> None:
    """A hundred equal gaps: the polynomial integral is a beta function."""
    from scipy.special import beta

    test = ExponentialTest("0.5", "0.5", "0.25")  # T = ln(1/2/(1/4))/0.5
    height = float(test.threshold(1, replay(0)).scores.approx[0])
    found = test.pass_count_law(np.full(100, height), np.arange(100)[None, :])[0, -1]
    assert found == pytest.approx(beta(1, 101), rel=1e-9)


@pytest.mark.parametrize(("first", "second"), [("4", "6"), ("9", "0.5"), ("0.5", "9")])
def test_small_noise_keeps_its_digits(first: str, second: str) -> None:
    """One item: it passes with chance 1 - e^{-ε2 (g - T)} ε1/(ε1 + ε2)."""
    test = ExponentialTest(first, second, "0.01")
    for over in (0.0, 0.125, 1.5):
        failing = np.exp(-float(second) * over) * float(first) / (float(first) + float(second))
        found = test.pass_count_law(np.array([float(test.threshold_height) + over]), np.array([[0]]))[0]
        assert found == pytest.approx([failing, 1 - failing], abs=1e-13)


@pytest.mark.parametrize("beta", [0.05, 0.3])
def test_the_margin_of_one_item_is_exact_and_of_many_a_union(beta: float) -> None:
    """P5.6: with that gap one item fails with chance β (one-sided: β ε1/(ε1 + ε2), the threshold moves down only)."""
    for test, share in ((LaplaceTest("0.8", "0.01"), 1.0), (ExponentialTest("0.6", "0.2", "0.01"), 0.75)):
        failing = test.pass_count_law(np.array([test.margin_for_all(1, 1 - beta) - 1]), np.array([[0]]))[0, 0]
        assert failing == pytest.approx(share * beta, abs=1e-9)
        assert test.margin_for_all(3, 1 - beta) == pytest.approx(test.margin_for_all(1, 1 - beta / 3), abs=1e-9)


def test_the_loss_interval_is_that_of_the_note() -> None:
    laplace_step = LaplaceTest(1, "1e-6").cost()
    assert laplace_step.epsilon == 1
    assert laplace_step.rho == Fraction(9, 4) / 8  # P10.1: (1.5 ε_R)²/8
    one_sided = ExponentialTest("0.7", "0.3", "1e-6").cost()
    assert one_sided.epsilon == 1
    assert one_sided.rho == Fraction(13, 10) ** 2 / 8  # P10.1: (ε1 + 2 ε2)²/8
    assert one_sided.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("test", [LaplaceTest(1, "0.05"), ExponentialTest("0.7", "0.3", "0.05")], ids=str)
def test_both_ends_of_the_loss_interval_hold(test: LaplaceTest | ExponentialTest) -> None:
    """P2.4 on a grid of gaps that all rise by one: the log ratio of every outcome lies in the interval."""
    step = test.cost().steps[0].step
    below, above = float(step.below), float(step.above)  # type: ignore[union-attr] # a LossInterval
    rng = np.random.default_rng(5)
    worst_low, worst_high = 0.0, 0.0
    for _ in range(300):
        gaps = rng.integers(-3, 25, size=3).astype(float)
        moved = gaps + rng.integers(0, 2, size=3).astype(float)
        with_user = test.pass_count_law(moved, np.array([[0, 1, 2]]))[0]
        without = test.pass_count_law(gaps, np.array([[0, 1, 2]]))[0]
        ratio = np.log(with_user / without)
        worst_low, worst_high = min(worst_low, ratio.min()), max(worst_high, ratio.max())
    assert -below - 1e-6 <= worst_low
    assert worst_high <= above + 1e-6
    assert worst_high > 0.5 * above  # the grid comes near the ends
