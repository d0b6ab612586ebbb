"""Each law's quantile in doubles agrees with its quantile in balls, and both with its distribution function."""

from __future__ import annotations

import numpy as np
import pytest
from flint import arb, ctx

from crestline.randomness.draws import OnePerKey
from crestline.randomness.entropy import replay
from crestline.randomness.keys import Keys, build_keys
from crestline.randomness.laws import LAWS, Law
from crestline.randomness.scores import EqualScores, LogScores
from crestline.randomness.uniforms import Uniforms
from crestline.randomness.unit_points import GumbelPoints, Points, RoughPoints

PAD = 2.0**-40  # P11.2


@pytest.fixture(params=LAWS, ids=str)
def law(request: pytest.FixtureRequest) -> Law:
    return LAWS[request.param]


def ball_quantile(law: Law, u: float) -> float:
    """The quantile at the exact double `u`, from the ball."""
    with ctx.workprec(300):
        return float(law.ball(-arb(u).log()).mid())


def test_doubles_agree_with_balls_from_end_to_end(law: Law) -> None:
    places = np.concatenate([2.0 ** -np.arange(1.5, 60), 1 - 2.0 ** -np.arange(1.5, 50), np.linspace(0.01, 0.99, 57)])
    exact = np.array([ball_quantile(law, u) for u in places])
    assert np.all(np.abs(law.quantile(Points(places, 1 - places)) - exact) <= PAD / 16 * (1 + np.abs(exact)))


def test_a_ball_on_both_sides_of_the_median_contains_it(law: Law) -> None:
    with ctx.workprec(128):
        half = arb(0.5, 1e-9)
        ball, middle = law.ball(-half.log()), law.ball(arb(2).log())
        assert ball.contains(middle)
        assert ball.rad() < 1e-8
        assert float(middle.mid()) == pytest.approx(float(law.quantile(Points(np.array([0.5]), np.array([0.5])))[0]))


def test_rough_points_keep_their_promise_inside_the_edges(law: Law) -> None:
    words = np.array([2**40, 2**41 + 12345, 2**55, 2**62, 2**63, 2**64 - 2**50, 2**64 - 2**40 - 1], dtype=np.uint64)
    u = np.multiply(words, 2.0**-64, dtype=np.float64)
    exact = []
    for word in words:
        with ctx.workprec(300):
            exact.append(float(law.ball(-(arb(2 * int(word) + 1) / arb(2) ** 65).log()).mid()))
    assert np.all(np.abs(law.quantile(RoughPoints(u)) - np.array(exact)) < 2.0**-23)


def test_gumbel_coordinates_give_the_same_quantile(law: Law) -> None:
    places = np.linspace(0.001, 0.999, 101)
    points = Points(places, 1 - places)
    assert np.allclose(law.quantile(GumbelPoints(points.gumbel)), law.quantile(points), rtol=1e-12, atol=1e-12)


def test_the_maximum_of_astronomically_many_copies_is_finite(law: Law) -> None:
    with ctx.workprec(5000):
        arrival = arb(0.7) / arb(10) ** 800
        exact = float(law.ball(arrival).mid())
    found = law.quantile(GumbelPoints(np.array([-np.log(0.7) + 800 * np.log(10)])))[0]
    assert found == pytest.approx(exact, rel=1e-12)


def test_the_distribution_function_undoes_the_quantile(law: Law) -> None:
    places = np.linspace(0.001, 0.999, 333)
    at = law.quantile(Points(places, 1 - places))
    assert np.allclose(law.cdf(at), places, atol=1e-12)
    assert np.allclose(law.survival(at), 1 - places, atol=1e-12)


def test_the_density_is_the_slope_of_the_distribution_function(law: Law) -> None:
    at = law.quantile(Points(np.linspace(0.02, 0.98, 49), 1 - np.linspace(0.02, 0.98, 49)))
    step = 1e-5
    slope = (law.cdf(at + step) - law.cdf(at - step)) / (2 * step)
    smooth = np.abs(at) > 10 * step  # Laplace has a kink, exponential a jump, at zero
    assert np.allclose(law.density(at)[smooth], slope[smooth], atol=1e-8)


def test_tails_below_the_support(law: Law) -> None:
    below = np.array([-3.0])
    if law.name in ("exponential", "half-logistic"):
        assert law.cdf(below)[0] == 0.0
        assert law.survival(below)[0] == 1.0
        assert law.density(below)[0] == 0.0
    else:
        assert 0 < law.cdf(below)[0] < 0.06


def test_where_the_support_begins(law: Law) -> None:
    """Nothing lies below it, and the density begins with the slope of the distribution function from above."""
    at = np.array([-0.5, -1e-9, 0.0, 0.5])
    if law.name in ("exponential", "half-logistic"):
        assert law.cdf(at)[:3].tolist() == [0.0, 0.0, 0.0]
        assert law.survival(at)[:3].tolist() == [1.0, 1.0, 1.0]
        assert law.density(at)[:2].tolist() == [0.0, 0.0]
        assert law.density(at)[2] == pytest.approx((law.cdf(np.array([1e-6]))[0]) / 1e-6, rel=1e-5)
    assert np.allclose(law.cdf(at) + law.survival(at), 1.0)


def test_far_out_nothing_overflows(law: Law) -> None:
    """Warnings are errors here. Probabilities tend to nought and one, and both tails stay in [0, 1]."""
    far = np.array([-600.0, -40.0, 40.0, 600.0, 5000.0])
    for values in (law.cdf(far), law.survival(far)):
        assert ((values >= 0) & (values <= 1)).all()
    assert law.cdf(far)[:2].max() < 1e-17
    assert law.survival(far)[2:].max() < 1e-16
    assert 0 <= law.density(far).min() <= law.density(far).max() < 1e-15


def test_the_density_has_mass_one(law: Law) -> None:
    """By the trapezoidal rule; a density 1% too large or too small would fail."""
    x = np.concatenate([-np.linspace(0, 60, 60_001)[:0:-1], np.linspace(0, 60, 60_001)])
    mass = np.trapezoid(law.density(x), x)
    assert mass == pytest.approx(1, abs=1e-3)


def test_careful_ends_contain_the_key(law: Law) -> None:
    for bits in (1, 5, 64):
        table = build_keys(EqualScores(6), law, replay("ends", first_bits=bits).uniforms(3, 6))
        for row in range(3):
            low, high = table.key_bounds(row, range(6))
            for column in range(6):
                truth = float(table.ball(row, column, 256).mid())
                assert low[column] <= truth <= high[column]


def test_a_uniform_that_touches_an_end_is_unresolved(law: Law) -> None:
    table = Uniforms(np.array([[0, 2**64 - 1]], dtype=np.uint64), 64, lambda index, bits: 0)
    low, high = build_keys(EqualScores(2), law, table).key_bounds(0, [0, 1])
    assert high[1] == np.inf
    assert low[0] == -np.inf or law.name in ("exponential", "half-logistic")


@pytest.mark.long
def test_many_copies_follow_the_distribution_of_the_maximum(law: Law) -> None:
    """A Kolmogorov–Smirnov test of the maximum of 5 noises, significance 1e-9; 10% off in scale is rejected."""
    from scipy.stats import kstest

    trials = 200_000
    draws = OnePerKey(replay(f"copies {law.name}").uniforms(trials, 1), LogScores((5,)))
    drawn = Keys(EqualScores(1), law, draws).rough_values[:, 0]
    assert kstest(drawn, lambda x: law.cdf(x) ** 5).pvalue > 1e-9
    assert kstest(1.1 * drawn, lambda x: law.cdf(x) ** 5).pvalue < 1e-9
