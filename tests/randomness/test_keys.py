"""Margins and ends of keys: wide enough for what was rounded, and no wider than it may cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys, _add_error_margin, build_keys, noiseless_keys
from crestline.randomness.laws import LAWS
from crestline.randomness.laws.gumbel import GUMBEL
from crestline.randomness.scores import LinearScores


@pytest.mark.parametrize("count", [10, 2**40, 2**60])
def test_the_margin_covers_the_last_place_of_large_scores(count: int) -> None:
    made = build_keys(LinearScores(np.array([count, 0]), Fraction(1)), GUMBEL, replay("large").uniforms(3, 2))
    assert made.error >= count * 2.0**-52
    assert made.error < 1e-6 + count * 2.0**-40


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(-3), Fraction(1, 7)])
@pytest.mark.parametrize("name", sorted(LAWS))
def test_ends_contain_the_key_and_are_narrow(name: str, scale: Fraction) -> None:
    """Held against balls of 300 bits: the ends lie outside, and within 2^-30 of each other."""
    made = build_keys(
        LinearScores(np.array([5, 1, 0]), Fraction(1, 3)), LAWS[name], replay("ends").uniforms(40, 3), scale=scale
    )
    for row in range(40):
        low, high = made.key_bounds(row, [0, 1, 2])
        assert (high - low < 2.0**-30).all()
        for column in range(3):
            exact = made.ball(row, column, 300)
            assert float(low[column]) < exact < float(high[column])
            assert abs(float(exact.mid()) - made.rough_values[row, column]) <= made.error


class Given:
    """Scores that are what they are said to be, with an error of their own."""

    def __init__(self, approx: list[float] | list[list[float]], error: float = 0.0) -> None:
        self.approx, self.error = np.array(approx), error

    def ball(self, row: int, column: int) -> arb:
        return arb(float(self.approx[column] if self.approx.ndim == 1 else self.approx[row, column]))


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(-5), Fraction(1000)])
@pytest.mark.parametrize(("largest", "error"), [(0.0, 0.0), (0.0, 1.0), (-(2.0**55), 0.0), (2.0**55, 3.0)])
@pytest.mark.parametrize("copies", [None, Given([1.0, 2.0], 0.25)])
def test_a_margin_is_the_sum_of_what_may_be_off(
    scale: Fraction, largest: float, error: float, copies: Given | None
) -> None:
    """Rough noise is good to 2^-26 (unit_points.py), times the scale; then the scores, and the rounding of the sum."""
    draws = OnePerKey(replay("margin").uniforms(1, 2), copies)
    made = Keys(Given([0.0, largest], error), GUMBEL, draws, scale)
    least = (2.0**-26 + draws.error) * abs(scale) + error + abs(largest) * 2.0**-53
    most = (2.0**-20 + draws.error) * abs(scale) + error + abs(largest) * 2.0**-47
    assert least <= made.error <= most


def test_without_noise_and_scores_nothing_is_off() -> None:
    for scores in ([0.0, 0.0], []):
        uniforms = replay("nothing").uniforms(1, len(scores))
        assert Keys(Given(scores), GUMBEL, OnePerKey(uniforms), Fraction(0)).error == 0.0


def test_a_fixed_threshold_is_off_by_little() -> None:
    assert 0 <= noiseless_keys(Given([0.0, 3.0]), 2).error < 1e-6
    assert noiseless_keys(Given([0.0, 3.0]), 2).rough_values.tolist() == [[0.0, 3.0], [0.0, 3.0]]


@pytest.mark.parametrize("score", [0.0, 3.0, -1000.0])
@pytest.mark.parametrize("noise", [0.0, 7.0, -20.0])
@pytest.mark.parametrize("error", [0.0, 1e-9])
def test_ends_are_padded_as_p11_2_asks(score: float, noise: float, error: float) -> None:
    pad = 2.0**-40 * (1 + abs(score) + abs(noise)) + error  # P11.2: 4096 units in the last place
    for sign in (-1, 1):
        off = float(_add_error_margin(np.array([score]), np.array([noise]), sign, error)[0]) - (score + noise)
        assert off == pytest.approx(sign * pad, rel=1e-2, abs=1e-13)


@pytest.mark.parametrize("scale", [Fraction(-1, 2), Fraction(1, 2), Fraction(3)])
def test_scores_that_differ_from_row_to_row_have_ends_of_their_own(scale: Fraction) -> None:
    scores = Given([[0.0, 50.0, 7.0], [100.0, 3.0, 20.0]], 1e-7)
    made = Keys(scores, LAWS["laplace"], OnePerKey(replay("rows").uniforms(2, 3)), scale)
    for row in range(2):
        low, high = made.key_bounds(row, [2, 0])
        for place, column in enumerate((2, 0)):
            exact = made.ball(row, column, 300)
            pad = 2.0**-40 * (1 + abs(scores.approx[row, column]))
            assert float(low[place]) <= exact - 0.9e-7 - 0.9 * pad
            assert float(high[place]) >= exact + 0.9e-7 + 0.9 * pad
            assert high[place] - low[place] < 3e-7


def test_noise_is_as_large_as_its_scale() -> None:
    """The same uniforms at several scales: `key - score` grows in proportion."""
    uniforms = replay("scale").uniforms(3, 2)
    plain = build_keys(Given([5.0, 1.0]), GUMBEL, uniforms).rough_values - np.array([5.0, 1.0])
    for scale in (Fraction(2), Fraction(-1), Fraction(1, 4)):
        made = build_keys(Given([5.0, 1.0]), GUMBEL, uniforms, scale=scale)
        assert made.rough_values - np.array([5.0, 1.0]) == pytest.approx(plain * float(scale))
    assert build_keys(Given([5.0, 1.0]), GUMBEL, uniforms, scale=Fraction(0)).rough_values.tolist() == [[5.0, 1.0]] * 3


def test_fewer_first_bits_leave_everything_open_and_64_nearly_nothing() -> None:
    for bits, share in ((63, 1.0), (64, 0.0)):
        made = build_keys(Given([0.0] * 50), GUMBEL, replay("open", first_bits=bits).uniforms(50, 50))
        assert made.unreliable.mean() == share
