from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from crestline.guarantees.accountants import total_epsilon
from crestline.guarantees.cost import repeat_step
from crestline.guarantees.gaussian import delta_of
from crestline.guarantees.guarantee import BoundedRange
from reproduction.bounded import sampler
from reproduction.peers.missing_mass import Plan, discovery, noisy_top, peeling, weights_of

PLAN = Plan(Fraction(1), Fraction(1, 10**6), Fraction(1, 2), 20, 3)


def test_every_user_weighs_one_in_all() -> None:
    users, items = np.array([0, 0, 0, 0, 1, 2, 2]), np.array([0, 1, 2, 3, 0, 0, 1])
    weights = weights_of(users, items, 5)
    assert weights.tolist() == pytest.approx([0.5 + 1 + math.sqrt(0.5), 0.5 + math.sqrt(0.5), 0.5, 0.5, 0])


def test_both_steps_together_stay_within_the_total() -> None:
    sigma, threshold = discovery(PLAN)
    half, delta = PLAN.epsilon / 2, PLAN.delta / 4
    assert float(delta_of(half, Fraction(1 / sigma**2))) <= float(delta) * (1 + 1e-9)
    passing = [1 - norm.cdf((threshold - 1 / math.sqrt(t)) / sigma) ** t for t in range(1, 21)]
    assert max(passing) == pytest.approx(float(delta), rel=1e-6)
    peeled = repeat_step(BoundedRange(Fraction(peeling(PLAN))), PLAN.k)
    assert total_epsilon(peeled, PLAN.delta / 2) <= half * Fraction(1_000_001, 1_000_000)


def test_clear_leaders_are_named_in_order_and_what_one_user_has_is_not() -> None:
    counts = np.array([9000, 7000, 5000, 3000, 1])
    weights = np.array([900.0, 700.0, 500.0, 300.0, 1.0])
    assert noisy_top(weights, counts, PLAN, sampler("clear")) == [0, 1, 2]
    assert noisy_top(weights[4:], counts[4:], PLAN, sampler("nothing")) == []
