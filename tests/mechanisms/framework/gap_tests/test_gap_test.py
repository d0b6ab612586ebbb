"""The joint test, and what all tests share."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from crestline.errors import ParameterError
from crestline.guarantees.guarantee import BoundedRange
from crestline.mechanisms.framework.gap_tests.gap_test import GapTest, JointTest, margin, pass_chance
from crestline.mechanisms.framework.gap_tests.sparse import ExponentialTest, LaplaceTest
from crestline.randomness.entropy import replay

TESTS: list[GapTest] = [LaplaceTest(1, "1e-3"), ExponentialTest("0.7", "0.3", "1e-3"), JointTest(1, "1e-3")]


def joint_chance(gap: float, epsilon: float, delta: float) -> float:
    return 1 / (1 + (1 - delta) / delta * math.exp(-epsilon * gap))  # P9.3


@pytest.mark.parametrize("gaps", [[0.0], [6.0, 2.0], [4.0, 9.0, 5.0]])
def test_the_joint_test_passes_all_or_none_by_the_smallest_gap(gaps: list[float]) -> None:
    lengths = JointTest("0.5", "0.05").pass_count_law(np.array(gaps), np.arange(len(gaps))[None, :])[0]
    wanted = joint_chance(min(gaps), 0.5, 0.05)
    assert lengths[-1] == pytest.approx(wanted, abs=1e-14)
    assert lengths[0] == pytest.approx(1 - wanted, abs=1e-14)
    assert lengths[1:-1].tolist() == [0.0] * (len(gaps) - 1)


@pytest.mark.parametrize("step", [1, 3])
def test_the_joint_coin_is_exact(step: int) -> None:
    """Significance 1e-9, two-sided; odds 10% off are rejected. Gaps are divided by the step."""
    trials = 100_000
    gaps = np.tile(np.array([[9, 6, 12]], dtype=np.int64), (trials, 1)) * step
    passed = JointTest("0.5", "0.05").count_passes(gaps, step, replay("joint"))
    assert set(passed.tolist()) == {0, 3}
    hits = int((passed == 3).sum())

    def fit(chance: float) -> float:
        return float(2 * min(binom.cdf(hits, trials, chance), binom.sf(hits - 1, trials, chance)))

    wanted = joint_chance(6, 0.5, 0.05)
    assert fit(wanted) > 1e-9
    assert fit(wanted * 1.1) < 1e-9
    assert fit(joint_chance(6, 0.55, 0.05)) < 1e-9


@pytest.mark.long
def test_one_bit_at_first_gives_the_same_decisions() -> None:
    gaps = np.tile(np.array([[4, 2]], dtype=np.int64), (200, 1))
    for test in (LaplaceTest(1, "0.1"), ExponentialTest("0.7", "0.3", "0.1"), JointTest(1, "0.1")):
        reference = test.count_passes(gaps, 1, replay("bits"))
        for bits in (1, 7):
            assert (test.count_passes(gaps, 1, replay("bits", first_bits=bits)) == reference).all()


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_an_item_that_gained_nothing_passes_with_delta_at_most(test: GapTest) -> None:
    assert pass_chance(test, [0.0]) <= 1e-3 + 1e-12
    assert pass_chance(test, [0.0]) > 1e-3 - 1e-9  # and the threshold is no larger than it must be
    assert pass_chance(test, [-1.0]) < pass_chance(test, [0.0])


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_the_margin_for_a_chance_is_its_inverse(test: GapTest) -> None:
    for wanted in (1e-6, 0.3, 0.95):
        found = pass_chance(test, [margin(test, wanted) - 1])
        assert found == pytest.approx(wanted, rel=1e-9)
        assert found >= wanted, "of the two ends of the last bracket, the one that is enough"


@pytest.mark.parametrize("test", TESTS, ids=lambda test: type(test).__name__)
def test_the_margin_for_all_is_enough_for_all(test: GapTest) -> None:
    gap = test.margin_for_all(5, 0.95) - 1
    assert pass_chance(test, [gap] * 5) >= 0.95 - 1e-12
    assert pass_chance(test, [gap] * 5) <= 0.999


def test_the_margin_of_the_joint_test_is_exactly_enough() -> None:
    """All pass or none, by the smallest gap: nothing is lost to a union bound."""
    test = JointTest("0.5", "1e-3")
    for beta in (0.01, 0.3):
        assert pass_chance(test, [test.margin_for_all(5, 1 - beta) - 1] * 5) == pytest.approx(1 - beta, abs=1e-12)


def test_margins_are_those_of_the_note() -> None:
    """P5.6 at ε_R = 1, δ_R = 1e-6, β = 0.05, k = 50: one more than the gap, for the count above the next."""
    assert LaplaceTest(1, "1e-6").margin_for_all(50, 0.95) == pytest.approx(47.2, abs=0.05)
    assert ExponentialTest("0.7", "0.3", "1e-6").margin_for_all(50, 0.95) == pytest.approx(42.0, abs=0.05)
    assert ExponentialTest("0.59", "0.41", "1e-6").margin_for_all(50, 0.95) == pytest.approx(39.8, abs=0.05)


def test_the_joint_test_is_one_bounded_range_step() -> None:
    cost = JointTest("0.3", "1e-6").cost()
    assert cost.delta == Fraction(1, 10**6)
    assert cost.steps[0].step == BoundedRange("0.3", theorem="P9.3")
    assert cost.rho == Fraction(9, 800)  # P10.1: ε_R²/8


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LaplaceTest(0, "0.1"), "epsilon must be larger than zero"),
        (lambda: LaplaceTest(1, 0), "delta must be larger than zero"),
        (lambda: ExponentialTest(1, 0, "0.1"), "epsilon2 must be larger than zero"),
        (lambda: ExponentialTest(-1, 1, "0.1"), "epsilon1 must be larger than zero"),
        (lambda: JointTest(1, 1), "delta must be smaller than one"),
    ],
)
def test_bad_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        make()
