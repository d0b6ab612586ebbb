"""Tails and thresholds against the scalars of section TV, against numerical integration, and against themselves."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.mechanisms.conformance import VECTORS

from crestline.errors import ParameterError
from crestline.guarantees.rounding import ball, precision
from crestline.mechanisms.numerics import tails
from crestline.mechanisms.numerics.thresholds import (
    GRID,
    _certify_upwards,
    _least_threshold,
    failure_threshold,
    gaussian_threshold,
    gaussian_union_threshold,
    laplace_threshold,
    laplace_union_threshold,
    success_threshold,
    two_rate_threshold,
)
from crestline.randomness.laws import GAUSSIAN, LAPLACE, Law

SCALARS = VECTORS["TV-S"]["values"]
A, B = Fraction(63, 200), Fraction(37, 100)  # TS at p1 = 0.37: ε2/2 and ε1
EACH = Fraction(1, 50 * 10**6)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("t_exact(delta=0.001)", lambda: laplace_threshold("1e-3")),
        ("t_exact(delta=1e-06)", lambda: laplace_threshold("1e-6")),
        ("t_exact(delta=1e-09)", lambda: laplace_threshold("1e-9")),
        ("TS T(p1=.37,eps=1,delta=1e-6,kbar=50) exact", lambda: two_rate_threshold(A, B, EACH)),
        ("TS T(p1=.37,eps=1,delta=1e-6,kbar=50) exp", lambda: success_threshold(A, B, EACH)),
        ("union T Laplace rate1 m=1 delta=1e-6", lambda: laplace_union_threshold(1, "1e-6")),
        ("union T Laplace rate1 m=8 delta=1e-6", lambda: laplace_union_threshold(8, "1e-6")),
        ("union T Laplace rate1 m=50 delta=1e-6", lambda: laplace_union_threshold(50, "1e-6")),
        ("union T Gauss sigma1 m=1 delta=1e-6", lambda: gaussian_union_threshold(1, "1e-6")),
        ("union T Gauss sigma1 m=8 delta=1e-6", lambda: gaussian_union_threshold(8, "1e-6")),
        ("union T Gauss sigma1 m=50 delta=1e-6", lambda: gaussian_union_threshold(50, "1e-6")),
    ],
)
def test_thresholds_are_the_scalars(name: str, found: Callable[[], Fraction]) -> None:
    assert float(found()) == pytest.approx(SCALARS[name], abs=1e-9)


def test_the_threshold_of_the_vectors_of_tests() -> None:
    assert float(failure_threshold("0.7", "0.3", "0.05")) == pytest.approx(VECTORS["TV-5.3"]["params"]["T"], abs=1e-11)
    assert float(2 * laplace_union_threshold(2, "0.1")) == pytest.approx(VECTORS["TV-4.2"]["params"]["T"], abs=1e-10)
    assert float(2 * laplace_threshold("0.05")) == pytest.approx(VECTORS["TV-5.1"]["params"]["T"], abs=1e-11)


def test_the_laplace_tail_is_the_scalar() -> None:
    found = [float(tails.two_laplace(Fraction(t))) for t in (1, 5, 13)]
    assert found == pytest.approx(SCALARS["lap_tail: Pr[Lap(1)>t+Lap(1)] t=1,5,13"], rel=1e-12)


def integrated(tested: Law, shared: Law, a: float, b: float, threshold: float, m: int = 1) -> float:
    """`E[1 - F(a (T + ρ/b))^m]` by adaptive quadrature: a method of its own."""

    def inside(rho: float) -> float:
        tail = float(tested.survival(np.array(a * (threshold + rho / b))))
        return (1 - (1 - tail) ** m) * float(shared.density(np.array(rho)))

    kink = -threshold * b
    pieces = [(-60.0, kink), (kink, 0.0), (0.0, 60.0)]
    return float(sum(quad(inside, low, high, epsabs=1e-13, epsrel=1e-12, limit=400)[0] for low, high in pieces))


@pytest.mark.parametrize("threshold", [Fraction(1, 2), Fraction(3), Fraction(9)])
@pytest.mark.parametrize(("a", "b"), [(1, 1), (2, 1), (Fraction(1, 2), Fraction(5, 2))])
def test_two_rates_by_integration(a: Fraction | int, b: Fraction | int, threshold: Fraction) -> None:
    with precision():
        found = float(tails.two_rates(Fraction(a), Fraction(b), threshold))
    assert found == pytest.approx(integrated(LAPLACE, LAPLACE, float(a), float(b), float(threshold)), abs=1e-10)


@pytest.mark.parametrize("m", [1, 3, 40])
@pytest.mark.parametrize("t", [Fraction(0), Fraction(2), Fraction(7)])
def test_unions_by_integration(m: int, t: Fraction) -> None:
    with precision():
        laplace, gaussian = float(tails.laplace_union(m, t)), float(tails.gaussian_union(m, t))
    assert laplace == pytest.approx(integrated(LAPLACE, LAPLACE, 1, 1, float(t), m), abs=1e-10)
    assert gaussian == pytest.approx(integrated(GAUSSIAN, GAUSSIAN, 1, 1, float(t), m), abs=1e-10)


@pytest.mark.parametrize("m", [1, 8])
@pytest.mark.parametrize("shared", [Fraction(1, 4), Fraction(3, 2)])
def test_a_common_gaussian_of_another_size_by_integration(m: int, shared: Fraction) -> None:
    with precision():
        union, two = (
            float(tails.gaussian_union(m, Fraction(2), shared)),
            float(tails.two_gaussians(Fraction(2), shared)),
        )
    assert union == pytest.approx(integrated(GAUSSIAN, GAUSSIAN, 1, float(1 / shared), 2.0, m), abs=1e-10)
    if m == 1:
        assert union == pytest.approx(two, abs=1e-12)


def test_one_sided_tails_by_simulation() -> None:
    """10^6 draws, five standard errors: a false alarm in 2 million; the factor of two between the tails shows power."""
    entropy = np.random.default_rng(7)
    zero, one = entropy.exponential(size=(2, 10**6))
    a, b, t = 0.7, 0.3, 1.5
    failure = np.mean(-one / b > t - zero / a)
    success = np.mean(one / a > t + zero / b)
    error = 5 * 0.5e-3
    assert float(tails.one_sided_failure(Fraction("0.7"), Fraction("0.3"), Fraction("1.5"))) == pytest.approx(
        failure, abs=error
    )
    assert float(tails.one_sided_success(Fraction("0.7"), Fraction("0.3"), Fraction("1.5"))) == pytest.approx(
        success, abs=error
    )


_30, _40 = Fraction(3, 10), Fraction(2, 5)
TAILS: dict[str, tuple[Callable[[Fraction], Fraction], Callable[[Fraction], arb]]] = {
    "laplace": (laplace_threshold, tails.two_laplace),
    "gaussian": (gaussian_threshold, tails.two_gaussians),
    "two rates": (lambda d: two_rate_threshold("0.3", "0.4", d), lambda t: tails.two_rates(_30, _40, t)),
    "failure": (lambda d: failure_threshold("0.3", "0.4", d), lambda t: tails.one_sided_failure(_30, _40, t)),
    "success": (lambda d: success_threshold("0.3", "0.4", d), lambda t: tails.one_sided_success(_30, _40, t)),
    "laplace union": (lambda d: laplace_union_threshold(5, d), lambda t: tails.laplace_union(5, t)),
    "gaussian union": (lambda d: gaussian_union_threshold(5, d), lambda t: tails.gaussian_union(5, t)),
    "quiet gaussian": (lambda d: gaussian_threshold(d, "0.4"), lambda t: tails.two_gaussians(t, _40)),
    "quiet union": (lambda d: gaussian_union_threshold(5, d, "0.4"), lambda t: tails.gaussian_union(5, t, _40)),
}


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize("delta", ["0.2", "1e-3", "1e-9", "1e-40"])
def test_a_threshold_is_certified_and_least(name: str, delta: str) -> None:
    """The tail is at most δ at T, and above δ a few grid steps before T."""
    threshold, tail = TAILS[name]
    wanted = Fraction(delta)
    found = threshold(wanted)
    with precision(400):
        assert tail(found) <= float(wanted) * (1 + 1e-15)
        assert tail(found - 100 * GRID) > float(wanted)


@pytest.mark.long
@pytest.mark.parametrize("name", TAILS)
@settings(deadline=None, max_examples=8)
@given(
    st.fractions(Fraction(1, 10**8), Fraction(9, 10), max_denominator=10**8),
    st.fractions(Fraction(1, 10**8), Fraction(9, 10), max_denominator=10**8),
)
def test_a_smaller_delta_needs_a_larger_threshold(name: str, first: Fraction, second: Fraction) -> None:
    threshold = TAILS[name][0]
    assert threshold(min(first, second)) >= threshold(max(first, second)) >= 0


def test_a_large_delta_needs_none() -> None:
    assert laplace_threshold("0.5") == 0
    assert gaussian_threshold("0.7") == 0
    assert failure_threshold("0.7", "0.3", "0.31") == 0
    assert laplace_union_threshold(3, "0.76") == 0


def test_close_rates_meet_equal_rates() -> None:
    near = two_rate_threshold("0.1", Fraction("0.1") + Fraction(1, 10**14), "1e-9")
    assert float(near) == pytest.approx(float(two_rate_threshold("0.1", "0.1", "1e-9")), rel=1e-11)


def test_the_union_is_sharper_than_the_union_bound() -> None:
    assert laplace_union_threshold(50, "1e-6") < laplace_threshold(Fraction(1, 50 * 10**6))
    assert gaussian_union_threshold(50, "1e-6") < gaussian_threshold(Fraction(1, 50 * 10**6))


def test_a_start_that_is_too_small_is_left_behind() -> None:
    """What is returned was certified itself: the solver's answer is only where the search starts."""
    delta = Fraction(1, 1000)
    with precision():
        found = _certify_upwards(tails.two_laplace, delta, laplace_threshold(delta) - Fraction(1, 10**6))
        assert tails.two_laplace(found) <= float(delta)
    assert laplace_threshold(delta) <= found < laplace_threshold(delta) + Fraction(1, 10**5)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(ParameterError, match="delta must be larger than zero"):
        laplace_threshold(0)
    with pytest.raises(ParameterError, match="m must be at least 1"):
        laplace_union_threshold(0, "0.1")
    with pytest.raises(ParameterError, match="tested must be larger than zero"):
        two_rate_threshold(-1, 1, "0.1")


class Rational:
    """A tail that is known exactly, `1/(1 + t)`, and what a search has asked of it."""

    def __init__(self) -> None:
        self.asked = list[Fraction]()

    def __call__(self, t: Fraction) -> arb:
        self.asked.append(t)
        return ball(1 / (1 + t))


def test_a_tail_that_meets_delta_is_small_enough() -> None:
    """Where both are equal no larger threshold is looked at, and at nought nothing else is."""
    tail = Rational()
    assert _least_threshold(tail, Fraction(1, 4), Fraction(3)) == 3 == max(tail.asked)
    tail = Rational()
    assert _least_threshold(tail, Fraction(1), Fraction(3)) == 0
    assert tail.asked == [0]


@pytest.mark.parametrize("root", [3, 6, 9, 11, 40])
def test_the_root_is_enclosed_before_it_is_closed_in_on(root: int) -> None:
    """A number clearly above it is asked for, and none that is far above."""
    tail = Rational()
    found = _least_threshold(tail, Fraction(1, 1 + root), Fraction(1))
    assert root <= found <= root + 2 * GRID
    assert Fraction(102, 100) * root < max(tail.asked) <= Fraction(3, 2) * root
    assert len(tail.asked) <= 25


@pytest.mark.parametrize("short", range(1, 40))
def test_a_start_below_the_root_is_left_in_doubling_steps(short: int) -> None:
    """So the answer is beyond the root by at most as much as the start was short of it."""
    tail, root = Rational(), Fraction(3)
    with precision():
        found = _certify_upwards(tail, Fraction(1, 4), root - short * GRID)
    assert root <= found <= root + short * GRID
    assert len(tail.asked) == 1 + short.bit_length()


@pytest.mark.parametrize("name", ["laplace", "gaussian", "two rates", "failure", "success"])
@pytest.mark.parametrize("delta", ["0.2", "1e-3", "1e-9"])
def test_a_threshold_has_twelve_decimals_and_one_less_in_the_last_is_too_small(name: str, delta: str) -> None:
    threshold, tail = TAILS[name]
    found = threshold(Fraction(delta))
    assert found == round(found, 12)
    with precision(400):
        assert tail(found - Fraction(1, 10**12)) > ball(Fraction(delta))


@pytest.mark.parametrize("end", [1, 3, 9])
def test_what_lies_beyond_is_from_nothing_to_both_tails(end: int) -> None:
    with precision():
        beyond = tails._gaussian_remainder(end)
        both = 2 * norm.sf(end)
        assert -1e-7 * both < float(beyond.lower()) <= 0
        assert float(beyond.upper()) == pytest.approx(both, rel=1e-7)
