"""The law of the order of noisy keys, against the vectors, against peeling, and against plain simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm
from tests.mechanisms.conformance import SIGNIFICANCE, VECTORS, p_value

from crestline.mechanisms.numerics.order_law import noise_support, order_chances, peeling_chances
from crestline.randomness.compare import largest_columns
from crestline.randomness.entropy import replay
from crestline.randomness.keys import build_keys
from crestline.randomness.laws import EXPONENTIAL, GAUSSIAN, GUMBEL, LAWS, Law
from crestline.randomness.scores import LinearScores

COUNTS = np.array([4, 3, 1, 0])


def orders(k: int, slots: int = 4) -> np.ndarray:
    return np.array(list(permutations(range(slots), k)), dtype=np.int64)


@pytest.mark.parametrize(("name", "law"), [("TV-8.2-gumbel", GUMBEL), ("TV-8.2-exp", EXPONENTIAL)])
def test_the_law_is_the_vector(name: str, law: Law) -> None:
    found = order_chances(COUNTS / 2, law, orders(2))
    for order, chance in zip(orders(2), found, strict=True):
        outcome = "(" + ",".join("abcd"[slot] for slot in order) + ")"
        assert abs(chance - VECTORS[name]["probabilities"][outcome]) < 1e-12


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_integrated_gumbel_keys_are_peeling(k: int) -> None:
    scores = COUNTS * 0.7
    assert np.abs(order_chances(scores, GUMBEL, orders(k)) - peeling_chances(scores, orders(k))).max() < 1e-13


def test_peeling_does_not_lose_what_is_left_behind_a_giant() -> None:
    """Two equal slots far below the first: each is second with chance one half."""
    chances = peeling_chances(np.array([1000.0, 0.0, 0.0]), orders(2, 3))
    assert chances[:2] == pytest.approx([0.5, 0.5], abs=1e-12)


@pytest.mark.statistics
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_the_chances_add_up_and_the_engine_follows_them(law: Law) -> None:
    """Significance 1e-9; keys 10% further apart are rejected."""
    for k in (1, 2, 3, 4):
        assert abs(order_chances(COUNTS / 2, law, orders(k)).sum() - 1) < 1e-12
    found = order_chances(COUNTS / 2, law, orders(2))
    chances = {tuple(order): chance for order, chance in zip(orders(2).tolist(), found, strict=True)}

    def fit(rate: Fraction) -> float:
        table = build_keys(LinearScores(COUNTS, rate), law, replay("order").uniforms(60_000, 4))
        return p_value(map(tuple, largest_columns(table, 2).tolist()), chances)

    assert fit(Fraction(1, 2)) > SIGNIFICANCE
    assert fit(Fraction(11, 20)) < SIGNIFICANCE


def test_gaussian_pairs_have_a_closed_form() -> None:
    """Two Gaussian keys: the first is larger with chance Φ(difference/(σ√2))."""
    first = order_chances(np.array([3.0, 1.0]), GAUSSIAN, orders(2, 2), scale=2.0)[0]
    assert abs(first - norm.cdf(2 / (2 * np.sqrt(2)))) < 1e-14


def test_three_gaussian_keys_by_another_integral() -> None:
    scores, sigma = (2.0, 1.0, 0.0), 1.5
    # Given the middle key, the first lies above it and the last below.
    wanted = quad(
        lambda z: norm.pdf(z, 1, sigma) * norm.sf(z, 2, sigma) * norm.cdf(z, 0, sigma), -20, 20, epsabs=1e-13
    )[0]
    found = order_chances(np.array(scores), GAUSSIAN, orders(2, 3), scale=sigma)[0]
    assert abs(found - wanted) < 1e-11


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_what_lies_beyond_the_support_is_negligible(law: Law) -> None:
    """No more than 1e-18 on either side, and no more than one unit further out than that needs."""
    below, above = noise_support(law)
    assert float(law.cdf(np.array([-below]))[0]) <= 1e-18
    assert float(law.survival(np.array([above]))[0]) <= 1e-18
    for distance, tail in ((below, law.cdf), (above, law.survival)):
        sign = -1 if tail == law.cdf else 1
        assert distance == 0 or float(tail(np.array([sign * (distance - 1.0)]))[0]) > 1e-18
