"""A fixed threshold: noisy keys against a number that has no noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from crestline.randomness.compare import exceeds_threshold
from crestline.randomness.entropy import replay
from crestline.randomness.exact_reals import Real, ln
from crestline.randomness.keys import build_keys, noiseless_keys
from crestline.randomness.laws.constant import CONSTANT
from crestline.randomness.laws.logistic import LOGISTIC
from crestline.randomness.scores import EqualScores, RealScores

TRIALS = 200_000
SIGNIFICANCE = 1e-9


def passes(odds: int, first_bits: int = 64, trials: int = TRIALS) -> int:
    """How often logistic noise exceeds `ln odds`: a coin of probability 1/(1 + odds)."""
    noise = build_keys(EqualScores(1), LOGISTIC, replay("coin", first_bits=first_bits).uniforms(trials, 1))
    return int(exceeds_threshold(noise, noiseless_keys(RealScores([ln(odds)]), trials)).sum())


def two_sided(count: int, chance: float, trials: int = TRIALS) -> float:
    return float(2 * min(binom.cdf(count, trials, chance), binom.sf(count - 1, trials, chance)))


def test_a_logistic_key_against_a_constant_is_an_exact_coin() -> None:
    """Significance 1e-9; a threshold whose odds are 10% off is rejected."""
    assert two_sided(passes(3), 1 / 4) > SIGNIFICANCE
    assert two_sided(passes(3), 1 / (1 + 3.3)) < SIGNIFICANCE
    assert two_sided(passes(3), 1 / (1 + 2.7)) < SIGNIFICANCE


@pytest.mark.parametrize("bits", [1, 7])
def test_fewer_bits_at_first_decide_the_same(bits: int) -> None:
    assert passes(3, first_bits=bits, trials=200) == passes(3, trials=200)


def test_a_constant_key_is_its_score() -> None:
    threshold = noiseless_keys(RealScores([Real(), ln(2)]), 3)
    assert threshold.shape == (3, 2)
    assert np.allclose(threshold.rough_values, [[0.0, math.log(2)]] * 3)
    low, high = threshold.key_bounds(1, [0, 1])
    assert (low <= [0.0, math.log(2)]).all()
    assert (high >= [0.0, math.log(2)]).all()


def test_all_the_mass_is_at_zero() -> None:
    points = np.array([-1.0, 0.0, 1.0])
    assert CONSTANT.cdf(points).tolist() == [0.0, 1.0, 1.0]
    assert CONSTANT.survival(points).tolist() == [1.0, 0.0, 0.0]
    assert CONSTANT.density(points).tolist() == [0.0, math.inf, 0.0]
