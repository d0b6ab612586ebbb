"""The authors' programs, written anew: their laws, and that one of them is not private."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from crestline.mechanisms.limited_domain.optimal_threshold import OptimalThreshold
from crestline.randomness.entropy import replay
from reproduction.as_published import (
    LimitedAsCoded,
    StableAsCoded,
    dong_durfee_rogers,
    durfee_rogers,
    per_step_scan,
)
from reproduction.simulate import ranked


def test_bounds_agree_with_the_certified_ones() -> None:
    """P10.3's table at d = 1e-6: B2 and B3, each cut at kε."""
    assert durfee_rogers(100, 0.1, 1e-6) == pytest.approx(3.12826, abs=1e-5)
    assert dong_durfee_rogers(100, 0.1, 1e-6) == pytest.approx(2.75324, abs=1e-5)
    assert dong_durfee_rogers(1, 0.5, 1e-6) == 0.5


def test_the_scan_stops_at_the_last_step_that_fits() -> None:
    step = per_step_scan(dong_durfee_rogers, 100, 1.0, 1e-6)
    assert dong_durfee_rogers(100, step, 1e-6) <= 1 < dong_durfee_rogers(100, step + 1e-4, 1e-6)
    assert step == pytest.approx(0.0373833, abs=1e-4)  # TV-S: Ind Eq12(total=1, k=100)


def test_the_gap_is_one_position_off() -> None:
    """With a wide gap behind rank 3 alone, two items are returned: ranks 1 and 2, whose own gap is nothing."""
    counts = np.array([1000, 1000, 1000, 0, 0, 0, 0], dtype=np.int64)
    mechanism = StableAsCoded(2, 1.0, 1e-3)
    drawn = mechanism.release_many(ranked(counts, mechanism.k_bar), 500, replay(1))
    assert Counter(selection.items for selection in drawn).most_common(1)[0][0] == (0, 1)
    honest = np.array([1000, 1000, 0, 0, 0, 0, 0], dtype=np.int64)  # the gap is where it belongs: nobody looks
    drawn = mechanism.release_many(ranked(honest, mechanism.k_bar), 500, replay(2))
    assert sum(len(selection) == 2 for selection in drawn) < 50


def test_k_bar_is_drawn_against_its_purpose() -> None:
    """Counts fall off after rank k + 1: every k_bar but k makes ⊥ low, and the program takes k all the same."""
    counts = np.array([520, 520, 520, 500] + 20 * [0], dtype=np.int64)
    coded = LimitedAsCoded(3, 1.0, 1e-3)
    drawn = coded.release_many(ranked(counts, coded.k_bar), 400, replay(3))
    assert np.mean([len(selection) for selection in drawn]) < 0.5
    meant = OptimalThreshold.for_budget(k=3, k_bar=15, epsilon=1, delta="1e-3")
    drawn = meant.release_many(ranked(counts, meant.k_bar), 400, replay(4))
    assert np.mean([len(selection) for selection in drawn]) > 2.9


def test_the_chance_to_return_one_item_is_that_of_two_laplace_variables() -> None:
    """StableAsCoded at k = 1 is one comparison: P2.3 with both rates; four standard errors of 40,000 trials.

    The same bound rejects a gap that is off by one user.
    """
    mechanism = StableAsCoded(1, 1.0, 0.05)
    counts = np.array([30, 20, 9, 0], dtype=np.int64)
    drawn = mechanism.release_many(ranked(counts, mechanism.k_bar), 40_000, replay(5))
    share = np.mean([len(selection) for selection in drawn])
    first, second = 0.37, 0.63 / 2
    height = math.log(1 / mechanism._query_delta(first / second)) / second

    def chance(gap: float) -> float:
        below = gap - 1 - height
        tail = (first**2 * math.exp(-second * abs(below)) - second**2 * math.exp(-first * abs(below))) / (
            2 * (first**2 - second**2)
        )
        return tail if below < 0 else 1 - tail

    error = 4 * math.sqrt(share * (1 - share) / 40_000)
    assert abs(share - chance(11)) < error
    assert abs(share - chance(12)) > error
