"""Printed floats: what can be reached from a count can be told from what cannot."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from crestline.audit.neighbours import HistogramShape, NeighbourPair
from crestline.audit.outcomes import Outcome, OutcomeReader
from crestline.audit.testers.floating_point import is_reachable, reachability_features, usual_scales
from crestline.mechanisms.selection import Selection

PAIR = NeighbourPair({"a": 4, "b": 2}, {"a": 3, "b": 2}, HistogramShape(2), "one more")


def log_noise(scale: float, n: int) -> list[float]:
    u = (np.random.default_rng(1).integers(0, 2**53, n) + 0.5) * 2.0**-53 - 0.5
    return [float(v) for v in -np.sign(u) * np.log1p(-2 * np.abs(u)) * scale]


@pytest.mark.parametrize("count", [0, 1, 30])
@pytest.mark.parametrize("scale", [1.0, 0.5, 10.0])
def test_naive_noise_is_reachable_from_its_own_count_only(count: int, scale: float) -> None:
    ours = [is_reachable(count + noise, count, scale) for noise in log_noise(scale, 4_000)]
    others = [is_reachable(count + noise, count + 1, scale) for noise in log_noise(scale, 4_000)]
    assert sum(ours) >= 3_960  # a product with the scale rounds once more
    assert sum(others) <= 3_990


@pytest.mark.parametrize("count", [0, 3, 40])
def test_noise_by_numpy_is_reachable_too(count: int) -> None:
    drawn = np.random.default_rng(2).laplace(count, 2.0, 2_000).tolist()
    assert all(is_reachable(number, count, 2.0) for number in drawn)
    assert not all(is_reachable(number, count + 1, 2.0) for number in drawn)


def test_what_is_no_number_is_not_reached() -> None:
    assert not is_reachable(float("inf"), 3, 1.0)
    assert not is_reachable(float("nan"), 3, 1.0)


def outcomes(values: list[float] | list[Fraction]) -> Counter[Outcome]:
    read = OutcomeReader()
    return Counter(read(Selection(("a",), False, (value,))) for value in values)  # type: ignore[arg-type] # or a float


def test_a_feature_says_from_which_count() -> None:
    pool = outcomes([3 + noise for noise in log_noise(1.0, 300)])
    (feature,) = reachability_features(pool, PAIR, [1.0])
    kinds = Counter(feature.kind(outcome) for outcome in pool)
    assert {kind for kind in kinds if kind != (True, True)} == {(False, True)}
    assert feature.say((False, True)) == "the number of 'a' can be reached from 3 with noise of scale 1"
    assert "neither 4 nor 3" in feature.say((False, False))
    assert feature.kind(Outcome("nothing")) is None
    assert "no floating-point number" in feature.say(None)


def test_numbers_on_a_public_grid_are_left_alone() -> None:
    rounded = [round((3 + noise) * 1024) / 1024 for noise in log_noise(1.0, 300)]
    assert not list(reachability_features(outcomes(rounded), PAIR, [1.0]))
    assert not list(reachability_features(outcomes([Fraction(1, 3)]), PAIR, [1.0]))


def test_scales_come_from_the_promise() -> None:
    assert usual_scales(0.5, None) == (2.0, 4.0)
    assert usual_scales(1.0, 3) == (1.0, 2.0, 3.0)
    assert usual_scales(0.0, None) == ()
