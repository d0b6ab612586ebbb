"""The odds: the bounds hold for every law that keeps the promise, and some law attains them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.answer.belief_bounds import as_approximate_dp, belief_bounds, best_guess_rate, posterior
from crestline.answer.promise_text import percent_rounded_up
from crestline.guarantees.guarantee import ZCDP, ApproxDP, BoundedRange, PureDP

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "odds.md"


def test_the_table_of_the_reference_page() -> None:
    rows = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("|")]
    epsilons = [cell.removeprefix("ε = ") for cell in rows[0][1:]]
    assert len(rows) == 5
    for row in rows[2:]:
        before = float(row[0].strip("%")) / 100
        found = [percent_rounded_up(belief_bounds(PureDP(epsilon), (before,))[0].high) for epsilon in epsilons]
        assert found == [cell.removeprefix("at most ") for cell in row[1:]]


def test_one_belief_by_hand() -> None:
    (line,) = belief_bounds(PureDP(1), (0.01,))
    assert line.high == pytest.approx(math.e / (99 + math.e))
    assert line.low == pytest.approx(1 / (99 * math.e + 1))
    assert best_guess_rate(PureDP(1)) == pytest.approx(math.e / (1 + math.e))


@given(
    weights=st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.01, 1)), min_size=2, max_size=6),
    before=st.floats(0.001, 0.999),
)
def test_no_answer_moves_a_belief_further(weights: list[tuple[float, float]], before: float) -> None:
    inside, outside = (np.array(column) / sum(column) for column in zip(*weights, strict=True))
    epsilon = float(np.abs(np.log(inside / outside)).max())
    (bound,) = belief_bounds(PureDP(epsilon), (before,))
    after = before * inside / (before * inside + (1 - before) * outside)
    assert bound.low - 1e-9 <= after.min()
    assert after.max() <= bound.high + 1e-9


@given(
    weights=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=6),
    epsilon=st.floats(0.0, 3.0),
)
def test_no_guess_is_right_more_often(weights: list[tuple[float, float]], epsilon: float) -> None:
    inside, outside = (np.array(column) / max(sum(column), 1e-9) for column in zip(*weights, strict=True))
    if not math.isclose(inside.sum(), 1) or not math.isclose(outside.sum(), 1):
        return
    factor = math.exp(epsilon)
    excess = [np.clip(a - factor * b, 0, None).sum() for a, b in ((inside, outside), (outside, inside))]
    promise = ApproxDP(epsilon, min(1.0, max(excess)))
    best = np.maximum(inside, outside).sum() / 2  # say "in" exactly where that is more likely
    assert best <= best_guess_rate(promise) + 1e-9


def test_randomised_response_attains_both() -> None:
    """One bit told truthfully with probability e^ε/(1 + e^ε), and lost outright with probability δ."""
    promise = ApproxDP("0.7", "0.01")
    factor, delta = math.exp(0.7), 0.01
    truth = (1 - delta) * factor / (1 + factor)
    inside = np.array([delta, truth, 1 - delta - truth, 0])
    outside = inside[::-1]
    assert np.maximum(inside, outside).sum() / 2 == pytest.approx(best_guess_rate(promise))
    after = inside[1] / (inside[1] + outside[1])
    assert after == pytest.approx(belief_bounds(promise, (0.5,))[0].high)


def test_extreme_promises_do_not_overflow() -> None:
    assert posterior(0.5, 5000.0) == 1.0
    assert posterior(0.5, -5000.0) == 0.0
    assert posterior(0.01, 0.0) == pytest.approx(0.01)
    assert best_guess_rate(PureDP(5000)) == 1.0
    assert best_guess_rate(PureDP(0)) == 0.5


def test_every_promise_has_an_epsilon_and_a_delta() -> None:
    assert as_approximate_dp(BoundedRange("0.5")) == (BoundedRange("0.5").epsilon, 0)
    epsilon, delta = as_approximate_dp(ZCDP("0.1", "1e-9"))
    assert float(delta) == pytest.approx(2e-9)
    assert 2 < float(epsilon) < 4
